#include "integer/engine/choose.h"

#include "base/mem.h"
#include "base/rng.h"
#include "integer/fixed/fixed.h"

#include <math.h>
#include <string.h>

struct geodec_choose {
    geodec_choose_settings s;
    int32_t n_vocab;
    int32_t *heap;    /* [n_vocab] ids, the best first */
    uint32_t *weight; /* [n_vocab] by id */
    int32_t *kept;    /* [n_vocab] ids in order */
};

geodec_choose_settings geodec_choose_settings_of(double temperature, int32_t top_k, double top_p, uint64_t seed)
{
    return (geodec_choose_settings){.inverse = geodec_network_factor_of(temperature > 0 ? 1 / temperature : 0),
                                    .top_k = top_k,
                                    .top_p = (uint32_t)ceil(top_p * GEODEC_FIXED_ONE),
                                    .seed = seed};
}

/* The largest, the lowest id on ties. */
static int32_t argmax(const int32_t *z, int32_t n)
{
    int32_t top = z[0], best = 0;
    for (int32_t i = 1; i < n; i++) top = z[i] > top ? z[i] : top;
    while (z[best] != top) best++;
    return best;
}

geodec_status geodec_choose_create(const geodec_choose_settings *s, int32_t n_vocab, geodec_choose **out,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_choose *c = NULL;
    if (n_vocab < 1) GEODEC_THROW(GEODEC_INVAL, "vocabulary of %d tokens", n_vocab);
    GEODEC_NEW(c, 1);
    c->s = *s;
    c->n_vocab = n_vocab;
    GEODEC_NEW_EACH(n_vocab, c->heap, c->weight, c->kept);
    GEODEC_MOVE(*out, c);
done:
    geodec_choose_destroy(c);
    return st;
}

void geodec_choose_destroy(geodec_choose *c)
{
    if (c) GEODEC_FREE(c->heap, c->weight, c->kept, c);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

static int before(const int32_t *z, int32_t a, int32_t b) { return z[a] > z[b] || (z[a] == z[b] && a < b); }

static void sift(const int32_t *z, int32_t *h, int64_t n, int64_t i)
{
    const int32_t x = h[i];
    for (int64_t k; (k = 2 * i + 1) < n; i = k) {
        if (k + 1 < n && before(z, h[k + 1], h[k])) k++;
        if (!before(z, h[k], x)) break;
        h[i] = h[k];
    }
    h[i] = x;
}

static int32_t pop(const int32_t *z, int32_t *h, int64_t *n)
{
    const int32_t top = h[0];
    h[0] = h[--*n];
    sift(z, h, *n, 0);
    return top;
}

/* Weights of all tokens; the heap has those that are not excluded. */
static int64_t load(geodec_choose *c, const int32_t *z, uint64_t *sum)
{
    const int32_t top = z[argmax(z, c->n_vocab)];
    const geodec_network_factor f = c->s.inverse;
    int64_t n = 0;
    *sum = 0;
    for (int32_t i = 0; i < c->n_vocab; i++) {
        c->weight[i] = 0;
        if (z[i] == INT32_MIN) continue;
        const geodec_wide d = geodec_wide_mul((int64_t)top - z[i], f.multiplier);
        const int64_t scaled = f.shift >= 0 ? geodec_wide_round(d, f.shift < 127 ? f.shift : 127)
                                            : geodec_wide_shift(geodec_wide_round(d, 0), f.shift);
        c->weight[i] = geodec_fixed_exp(scaled > UINT32_MAX ? UINT32_MAX : (uint32_t)scaled);
        *sum += c->weight[i];
        c->heap[n++] = i;
    }
    for (int64_t i = n / 2 - 1; i >= 0; i--) sift(z, c->heap, n, i);
    return n;
}

/* ceil(sum p / 2^30). */
static uint64_t part_of(uint64_t sum, uint32_t p)
{
    const geodec_wide w = geodec_wide_add(geodec_wide_mul((int64_t)sum, p), (geodec_wide){GEODEC_FIXED_ONE - 1, 0});
    return w.low >> 30 | (uint64_t)w.high << 34;
}

/* The tokens that can be sampled, in order: all of `kept` [*kept] and then those of the heap [*heap]; their mass. */
static uint64_t select_tokens(geodec_choose *c, const int32_t *z, int64_t *kept, int64_t *heap)
{
    uint64_t sum;
    int64_t n = load(c, z, &sum);
    *kept = 0;
    if (c->s.top_k > 0 && c->s.top_k < n) {
        sum = 0;
        while (*kept < c->s.top_k) {
            c->kept[*kept] = pop(z, c->heap, &n);
            sum += c->weight[c->kept[(*kept)++]];
        }
        n = 0;
    }
    if (c->s.top_p < GEODEC_FIXED_ONE) {
        const uint64_t wanted = part_of(sum, c->s.top_p);
        uint64_t mass = 0;
        int64_t k = 0;
        while (mass < wanted && (k < *kept || n > 0)) {
            if (k == *kept) c->kept[(*kept)++] = pop(z, c->heap, &n);
            mass += c->weight[c->kept[k++]];
        }
        *kept = k;
        sum = mass;
        n = 0;
    }
    *heap = n;
    return sum;
}

int32_t geodec_choose_next(geodec_choose *c, int64_t index, const int32_t *z)
{
    if (c->s.inverse.multiplier == 0) {
        const int32_t best = argmax(z, c->n_vocab);
        return z[best] == INT32_MIN ? -1 : best;
    }
    int64_t kept, heap;
    const uint64_t sum = select_tokens(c, z, &kept, &heap);
    if (sum == 0) return -1; /* the largest has the weight 1, so nothing is left */
    const uint64_t u = geodec_rng_at(c->s.seed, geodec_rng_id("sample-token", 0), (uint64_t)index);
    /* floor((u >> 1) sum / 2^63): the wide product is one of signed numbers */
    const geodec_wide high = geodec_wide_mul((int64_t)(u >> 1), (int64_t)sum);
    const uint64_t mark = (uint64_t)high.high << 1 | high.low >> 63;
    uint64_t mass = 0;
    int32_t last = -1;
    for (int64_t i = 0;; i++) {
        if (i == kept) {
            if (heap == 0) break;
            c->kept[kept++] = pop(z, c->heap, &heap);
        }
        last = c->kept[i];
        mass += c->weight[last];
        if (mass > mark) break;
    }
    return last;
}

uint64_t geodec_choose_weights(geodec_choose *c, const int32_t *z, uint32_t *w)
{
    int64_t kept, heap;
    if (c->s.inverse.multiplier == 0) {
        const int32_t best = geodec_choose_next(c, 0, z);
        memset(w, 0, (size_t)c->n_vocab * sizeof *w);
        if (best >= 0) w[best] = GEODEC_FIXED_ONE;
        return best >= 0 ? GEODEC_FIXED_ONE : 0;
    }
    const uint64_t sum = select_tokens(c, z, &kept, &heap);
    memset(w, 0, (size_t)c->n_vocab * sizeof *w);
    for (int64_t i = 0; i < kept; i++) w[c->kept[i]] = c->weight[c->kept[i]];
    for (int64_t i = 0; i < heap; i++) w[c->heap[i]] = c->weight[c->heap[i]];
    return sum;
}
