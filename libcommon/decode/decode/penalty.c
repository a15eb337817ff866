#include "decode/penalty.h"

#include "base/mem.h"

#include <math.h>

struct geodec_penalty {
    geodec_penalty_options o;
    int32_t n_vocab;
    int32_t *count; /* [n_vocab] all 0 between calls */
};

static bool repeats(const geodec_penalty_options *o) { return o->repeat > 0 && o->repeat != 1; }
static bool counts(const geodec_penalty_options *o) { return repeats(o) || o->frequency != 0 || o->presence != 0; }

bool geodec_penalty_is(const geodec_penalty_options *o) { return counts(o) || o->n_bias > 0; }

geodec_status geodec_penalty_create(const geodec_penalty_options *o, int32_t n_vocab, geodec_penalty **out,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_penalty *p = NULL;
    *out = NULL;
    if (!geodec_penalty_is(o)) return GEODEC_OK;
    if (!(o->repeat >= 0) || !isfinite(o->repeat) || !isfinite(o->frequency) || !isfinite(o->presence) || o->window < 0)
        GEODEC_THROW(GEODEC_INVAL, "penalties out of range: repeat %g, frequency %g, presence %g", o->repeat,
                     o->frequency, o->presence);
    for (int32_t i = 0; i < o->n_bias; i++)
        if (o->bias[i].id < 0 || o->bias[i].id >= n_vocab || isnan(o->bias[i].add) || o->bias[i].add == INFINITY)
            GEODEC_THROW(GEODEC_INVAL, "a bias of %g of token %d; the vocabulary has %d tokens", o->bias[i].add,
                         o->bias[i].id, n_vocab);
    GEODEC_NEW(p, 1);
    p->o = *o;
    p->n_vocab = n_vocab;
    if (counts(o)) GEODEC_NEW(p->count, n_vocab);
    GEODEC_MOVE(*out, p);
done:
    geodec_penalty_destroy(p);
    return st;
}

void geodec_penalty_destroy(geodec_penalty *p)
{
    if (!p) return;
    GEODEC_FREE(p->count, p);
}

/* The logit of a token that occurred c times. */
static float penalised(const geodec_penalty_options *o, float logit, int32_t c)
{
    double x = (double)logit;
    if (repeats(o)) x = x > 0 ? x / o->repeat : x * o->repeat;
    return (float)(x - (double)c * o->frequency - o->presence);
}

void geodec_penalty_apply(geodec_penalty *p, const int32_t *text, int64_t n, const int32_t *more, int64_t n_more,
                          float *row)
{
    if (!p) return;
    for (int32_t i = 0; i < p->o.n_bias; i++)
        row[p->o.bias[i].id] = (float)((double)row[p->o.bias[i].id] + p->o.bias[i].add);
    if (!p->count) return;
    const int64_t all = n + n_more, first = p->o.window > 0 && p->o.window < all ? all - p->o.window : 0;
    for (int pass = 0; pass < 3; pass++) /* count, change each token once, clear */
        for (int64_t i = first; i < all; i++) {
            const int32_t id = i < n ? text[i] : more[i - n];
            if (id < 0 || id >= p->n_vocab) continue;
            if (pass == 0)
                p->count[id]++;
            else if (pass == 1 && p->count[id] > 0) {
                if (row[id] != -INFINITY) row[id] = penalised(&p->o, row[id], p->count[id]);
                p->count[id] = -p->count[id];
            } else if (pass == 2)
                p->count[id] = 0;
        }
}
