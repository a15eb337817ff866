#include "decode/sampler.h"

#include "base/mem.h"
#include "base/rng.h"
#include "integer/engine/choose.h"
#include "session/model.h"

#include <math.h>

typedef struct candidate {
    float logit;
    int32_t id;
} candidate;

struct geodec_sampler {
    geodec_sampling opt;
    int32_t n_vocab;
    candidate *heap;       /* [n_vocab] */
    candidate *kept;       /* [n_vocab] candidates in order */
    double *mass;          /* [n_vocab] unnormalised, of kept */
    geodec_choose *choose; /* in integers: then none of these */
    int32_t *z;            /* [n_vocab] */
    uint32_t *weight;      /* [n_vocab] */
};

geodec_sampling geodec_sampler_default(void)
{
    return (geodec_sampling){.temperature = 0, .top_k = 0, .top_p = 1, .seed = 1};
}

geodec_status geodec_sampler_create(const geodec_sampling *options, int32_t n_vocab, geodec_sampler **out,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_sampler *s = NULL;
    if (n_vocab < 1) GEODEC_THROW(GEODEC_INVAL, "vocabulary of %d tokens", n_vocab);
    if (!(options->temperature >= 0 && isfinite(options->temperature)))
        GEODEC_THROW(GEODEC_INVAL, "temperature %g is negative or not finite", options->temperature);
    if (options->top_k < 0) GEODEC_THROW(GEODEC_INVAL, "top-k %d is negative", options->top_k);
    if (!(options->top_p > 0 && options->top_p <= 1))
        GEODEC_THROW(GEODEC_INVAL, "top-p %g is outside (0,1]", options->top_p);
    if (!(options->min_p >= 0 && options->min_p <= 1))
        GEODEC_THROW(GEODEC_INVAL, "min-p %g is outside [0,1]", options->min_p);
    if (options->min_p > 0 && options->integers) GEODEC_THROW(GEODEC_UNSUPPORTED, "min-p is not computed in integers");
    GEODEC_NEW(s, 1);
    s->opt = *options;
    s->n_vocab = n_vocab;
    if (options->integers) {
        const geodec_choose_settings how =
            geodec_choose_settings_of(options->temperature, options->top_k, options->top_p, options->seed);
        GEODEC_TRY(geodec_choose_create(&how, n_vocab, &s->choose, err));
        GEODEC_NEW_EACH(n_vocab, s->z, s->weight);
    } else if (options->temperature > 0) {
        GEODEC_NEW_EACH(n_vocab, s->heap, s->kept, s->mass);
    }
    GEODEC_MOVE(*out, s);
done:
    geodec_sampler_destroy(s);
    return st;
}

void geodec_sampler_destroy(geodec_sampler *s)
{
    if (!s) return;
    geodec_choose_destroy(s->choose);
    GEODEC_FREE(s->heap, s->kept, s->mass, s->z, s->weight, s);
}

const geodec_sampling *geodec_sampler_options(const geodec_sampler *s) { return &s->opt; }

double geodec_sampler_uniform(uint64_t seed, int64_t index)
{
    return geodec_rng_uniform_at(seed, geodec_rng_id("sample-token", 0), (uint64_t)index);
}

static bool before(candidate a, candidate b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id); /* ties are broken by id, so that the order is
                                                                        total */
}

static void sift(candidate *h, int64_t n, int64_t i)
{
    candidate x = h[i];
    for (int64_t c; (c = 2 * i + 1) < n; i = c) {
        if (c + 1 < n && before(h[c + 1], h[c])) c++;
        if (!before(h[c], x)) break;
        h[i] = h[c];
    }
    h[i] = x;
}

static candidate pop(candidate *h, int64_t *n)
{
    candidate top = h[0];
    h[0] = h[--*n];
    sift(h, *n, 0);
    return top;
}

/* Fills the heap with the *count tokens that are not masked. A heap is used instead of a sort because sampling needs
 * few candidates. */
static geodec_status load(geodec_sampler *s, const float *row, int64_t *count, geodec_err *err)
{
    int64_t n = 0;
    for (int32_t i = 0; i < s->n_vocab; i++) {
        if (isnan(row[i]) || row[i] == INFINITY) GEODEC_FAIL(GEODEC_NUMERIC, "the logit of token %d is not finite", i);
        if (row[i] != -INFINITY) s->heap[n++] = (candidate){row[i], i};
    }
    if (n == 0) GEODEC_FAIL(GEODEC_NUMERIC, "no token can be sampled: every logit is masked");
    for (int64_t i = n / 2 - 1; i >= 0; i--) sift(s->heap, n, i);
    *count = n;
    return GEODEC_OK;
}

/* Moves the next candidate in order from the heap to kept; false when there is none. */
static bool extend(geodec_sampler *s, int64_t *heap, int64_t *kept, float top)
{
    if (*heap == 0) return false;
    candidate c = pop(s->heap, heap);
    s->kept[*kept] = c;
    s->mass[*kept] = exp(((double)c.logit - (double)top) / s->opt.temperature);
    ++*kept;
    return true;
}

/* Orders as few candidates as the options need. On return kept[0..*n) are ordered, the heap holds the candidates that
 * may follow, and *total is the mass that corresponds to a uniform number of 1. */
static void prepare(geodec_sampler *s, const float *row, int64_t *heap, int64_t *n, double *total, float *top)
{
    *n = 0;
    *total = 0;
    *top = s->heap[0].logit;
    if (s->opt.top_k > 0 && s->opt.top_k < *heap) {
        while (*n < s->opt.top_k && extend(s, heap, n, *top)) *total += s->mass[*n - 1];
        *heap = 0; /* the rest is excluded */
    } else {
        for (int32_t i = 0; i < s->n_vocab; i++) /* summed in id order, which does not depend on the number of ordered
                                                    candidates */
            if (row[i] != -INFINITY) *total += exp(((double)row[i] - (double)*top) / s->opt.temperature);
    }
    if (s->opt.top_p < 1) {
        const double wanted = s->opt.top_p * *total;
        double sum = 0;
        int64_t k = 0;
        while (sum < wanted && (k < *n || extend(s, heap, n, *top))) sum += s->mass[k++];
        *n = k;
        *total = sum;
        *heap = 0;
    }
    if (s->opt.min_p > 0) { /* the first candidate has mass 1 */
        double sum = 0;
        int64_t k = 0;
        while ((k < *n || extend(s, heap, n, *top)) && s->mass[k] >= s->opt.min_p) sum += s->mass[k++];
        *n = k;
        *total = sum;
        *heap = 0;
    }
}

/* The integers of a row; those of other values are the nearest. */
static geodec_status integers_of(geodec_sampler *s, const float *row, geodec_err *err)
{
    for (int32_t i = 0; i < s->n_vocab; i++) {
        if (isnan(row[i]) || row[i] == INFINITY) GEODEC_FAIL(GEODEC_NUMERIC, "the logit of token %d is not finite", i);
        const float z = row[i] * 65536.0f;
        s->z[i] = row[i] == -INFINITY ? INT32_MIN
                  : z > 1e9f          ? 1000000000
                  : z < -1e9f         ? -1000000000
                                      : (int32_t)lrintf(z);
    }
    return GEODEC_OK;
}

geodec_status geodec_sampler_next(geodec_sampler *s, int64_t index, const float *row, int32_t *id, geodec_err *err)
{
    int64_t heap = 0, n = 0;
    double total = 0, sum = 0;
    float top = 0;
    if (s->choose) {
        GEODEC_PASS(integers_of(s, row, err));
        *id = geodec_choose_next(s->choose, index, s->z);
        if (*id < 0) GEODEC_FAIL(GEODEC_NUMERIC, "no token can be sampled: every logit is masked");
        return GEODEC_OK;
    }
    if (s->opt.temperature <= 0) {
        int32_t best = geodec_argmax(row, s->n_vocab);
        if (!isfinite(row[best]))
            GEODEC_FAIL(GEODEC_NUMERIC, "no token can be sampled: the largest logit is %g", (double)row[best]);
        *id = best;
        return GEODEC_OK;
    }
    GEODEC_PASS(load(s, row, &heap, err));
    prepare(s, row, &heap, &n, &total, &top);
    const double mark = geodec_sampler_uniform(s->opt.seed, index) * total;
    int64_t last = 0; /* last token of positive mass: with rounding, no cumulative mass may exceed the threshold */
    for (int64_t i = 0;; i++) {
        if (i == n && !extend(s, &heap, &n, top)) break;
        if (s->mass[i] > 0) last = i;
        sum += s->mass[i];
        if (sum > mark) break;
        if (s->mass[i] <= 0) break; /* all later ones are zero as well */
    }
    *id = s->kept[last].id;
    return GEODEC_OK;
}

geodec_status geodec_sampler_distribution(geodec_sampler *s, const float *row, double *p, geodec_err *err)
{
    int64_t heap = 0, n = 0;
    double total = 0;
    float top = 0;
    if (s->choose) {
        GEODEC_PASS(integers_of(s, row, err));
        const uint64_t sum = geodec_choose_weights(s->choose, s->z, s->weight);
        if (sum == 0) GEODEC_FAIL(GEODEC_NUMERIC, "no token can be sampled: every logit is masked");
        for (int32_t i = 0; i < s->n_vocab; i++) p[i] = (double)s->weight[i] / (double)sum;
        return GEODEC_OK;
    }
    if (s->opt.temperature <= 0) {
        int32_t best = 0;
        GEODEC_PASS(geodec_sampler_next(s, 0, row, &best, err));
        for (int32_t i = 0; i < s->n_vocab; i++) p[i] = i == best;
        return GEODEC_OK;
    }
    GEODEC_PASS(load(s, row, &heap, err));
    prepare(s, row, &heap, &n, &total, &top);
    if (n == 0) { /* every token is kept, so no order is needed */
        for (int32_t i = 0; i < s->n_vocab; i++)
            p[i] = row[i] == -INFINITY ? 0 : exp(((double)row[i] - (double)top) / s->opt.temperature) / total;
        return GEODEC_OK;
    }
    while (extend(s, &heap, &n, top)) {
    }
    for (int32_t i = 0; i < s->n_vocab; i++) p[i] = 0;
    for (int64_t i = 0; i < n; i++) p[s->kept[i].id] = s->mass[i] / total;
    return GEODEC_OK;
}
