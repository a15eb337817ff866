#include "decode/verify_stochastic.h"

#include "base/rng.h"
#include "decode/drafter.h"
#include "session/model.h"

/* ---- one node --------------------------------------------------------------------------------------------------- */

double geodec_verify_acceptance(const double *p, const double *q, int32_t token)
{
    if (q[token] <= 0) return 0;
    return p[token] < q[token] ? p[token] / q[token] : 1;
}

static void scale(double *x, int32_t n, double sum)
{
    for (int32_t i = 0; i < n; i++) x[i] /= sum;
}

bool geodec_verify_remove(double *q, int32_t n, int32_t token)
{
    double sum = 0;
    q[token] = 0;
    for (int32_t i = 0; i < n; i++) sum += q[i];
    if (sum > 0) scale(q, n, sum);
    return sum > 0;
}

void geodec_verify_reject(double *p, double *q, int32_t n, int32_t token, bool replacement)
{
    double sum = 0;
    for (int32_t i = 0; i < n; i++)
        if (p[i] > q[i]) sum += p[i] - q[i];
    /* sum 0: p = q up to rounding, so only rounding can cause a rejection */
    for (int32_t i = 0; sum > 0 && i < n; i++) p[i] = p[i] > q[i] ? (p[i] - q[i]) / sum : 0;
    if (!replacement) (void)geodec_verify_remove(q, n, token);
}

int32_t geodec_verify_sample(const double *p, int32_t n, double u)
{
    double sum = 0;
    int32_t last = 0; /* last token of positive mass: rounding may leave u above the whole sum */
    for (int32_t i = 0; i < n; i++) {
        if (p[i] <= 0) continue;
        last = i;
        sum += p[i];
        if (sum > u) break;
    }
    return last;
}

/* ---- random numbers --------------------------------------------------------------------------------------------- */

double geodec_verify_draft_uniform(uint64_t seed, int64_t index, int32_t node)
{
    return geodec_rng_uniform_at(seed, geodec_rng_id("draft-token", (uint64_t)node), (uint64_t)index);
}

static double accept_uniform(uint64_t seed, int64_t index, int32_t node)
{
    return geodec_rng_uniform_at(seed, geodec_rng_id("draft-accept", (uint64_t)node), (uint64_t)index);
}

/* ---- the walk --------------------------------------------------------------------------------------------------- */

/* The next child of `at` after candidate `after`, -1 = none. */
static int32_t next_child(const geodec_verify_candidates *c, int32_t at, int32_t after)
{
    for (int32_t i = after + 1; i < c->n; i++)
        if ((c->parent ? c->parent[i] : i - 1) == at) return i;
    return -1;
}

geodec_status geodec_verify_stochastic(geodec_sampler *s, const geodec_guard *guard, int64_t index, float *logits,
                                       int32_t n_vocab, const geodec_verify_candidates *c, double *work,
                                       int32_t *argmax, int32_t *path, geodec_verdict *out, geodec_err *err)
{
    const uint64_t seed = geodec_sampler_options(s)->seed;
    geodec_verdict v = {0};
    double *p = work, *q = work + n_vocab;
    int32_t at = -1, said[GEODEC_DRAFT_MAX + 1];
    path[0] = 0;
    for (;;) {
        const int32_t place = at < 0 ? 0 : c->row[at];
        float *row = logits + (int64_t)place * n_vocab;
        const int64_t output = index + v.tokens++;
        int32_t child = next_child(c, at, at), taken = -1;
        geodec_guard_mask(guard, output, said, v.tokens - 1, row, n_vocab);
        if (argmax) argmax[place] = geodec_argmax(row, n_vocab);
        if (child < 0) {
            GEODEC_PASS_MSG(geodec_sampler_next(s, output, row, &v.next, err), "output token %lld", (long long)output);
            v.stopped = geodec_guard_is_stop(guard, v.next);
            break;
        }
        GEODEC_PASS_MSG(geodec_sampler_distribution(s, row, p, err), "output token %lld", (long long)output);
        GEODEC_PASS(c->distribution(c->ctx, at + 1, q, err));
        for (; child >= 0 && taken < 0; child = next_child(c, at, child)) {
            const int32_t x = c->token[child];
            if (x < 0 || x >= n_vocab || !(q[x] > 0))
                GEODEC_FAIL(GEODEC_INTERNAL, "draft %d has probability 0 in the distribution it was sampled from",
                            child);
            if (accept_uniform(seed, index, child) < geodec_verify_acceptance(p, q, x))
                taken = child;
            else
                geodec_verify_reject(p, q, n_vocab, x, c->replacement);
        }
        if (taken < 0)
            v.next = geodec_verify_sample(p, n_vocab, geodec_sampler_uniform(seed, output));
        else
            v.next = c->token[taken];
        said[v.tokens - 1] = v.next;
        v.stopped = geodec_guard_is_stop(guard, v.next);
        if (taken >= 0) path[++v.accepted] = c->row[taken] > 0 ? c->row[taken] : -1 - taken;
        if (taken < 0 || v.stopped || c->row[taken] <= 0) break;
        at = taken;
    }
    *out = v;
    return GEODEC_OK;
}
