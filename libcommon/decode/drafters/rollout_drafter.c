#include "drafters/rollout.h"

#include "base/mem.h"
#include "decode/tree.h"
#include "session/model.h"

#include <math.h>
#include <string.h>

enum {
    NODES = GEODEC_DRAFT_MAX + 1,
    DIMS = GEODEC_STEP_DIMS_MAX,
    RESERVE = 32 /* reserve for candidates that the guard
                    forbids */
};

typedef struct rollout_drafter {
    geodec_drafter base;
    geodec_drafter_ops ops; /* with its own name */
    const geodec_rollout *r;
    geodec_rollout_velocity velocity;
    geodec_rollout_connection connection;
    geodec_rollout_trust trust;
    int64_t known; /* observed states, of which the last two are kept */
    float before[DIMS], last[DIMS];
    int64_t steps, broken;
    bool valid[NODES]; /* tree nodes whose state is computed */
    float z[NODES][DIMS];
    float *logit; /* [words] */
} rollout_drafter;

static geodec_status rollout_begin(geodec_drafter *base, geodec_err *err)
{
    (void)err;
    ((rollout_drafter *)base)->known = 0;
    return GEODEC_OK;
}

static geodec_status rollout_observe(geodec_drafter *base, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)err;
    rollout_drafter *d = (rollout_drafter *)base;
    for (int64_t i = rows->n > 2 ? rows->n - 2 : 0; i < rows->n; i++) {
        memcpy(d->before, d->last, sizeof d->before);
        geodec_step_state(&d->r->step, rows->state + i * d->r->step.d, d->last);
    }
    d->known += rows->n;
    return GEODEC_OK;
}

static bool step(rollout_drafter *d, const float *before, const float *z, int32_t token, float *after)
{
    const int how = geodec_rollout_next(d->r, d->velocity, d->connection, before, z, token, after);
    d->steps += how > 0;
    d->broken += how == 2;
    return how > 0;
}

static geodec_status rollout_root(geodec_drafter *base, const geodec_draft_request *request, geodec_err *err)
{
    (void)err;
    rollout_drafter *d = (rollout_drafter *)base;
    d->valid[0] = d->known > 0 &&
                  step(d, d->known > 1 ? d->before : NULL, d->last, request->context[request->n_context - 1], d->z[0]);
    return GEODEC_OK;
}

static geodec_status rollout_adopt(geodec_drafter *base, int32_t parent, int32_t token, geodec_err *err)
{
    (void)err;
    rollout_drafter *d = (rollout_drafter *)base;
    const int32_t n = base->nodes - 1, above = base->parent[parent];
    d->valid[n] = d->valid[parent] && step(d, above < 0 ? d->last : d->z[above], d->z[parent], token, d->z[n]);
    return GEODEC_OK;
}

static geodec_status rollout_children(geodec_drafter *base, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                                      geodec_err *err)
{
    (void)err;
    const rollout_drafter *d = (const rollout_drafter *)base;
    int32_t place[GEODEC_TREE_CHILDREN + RESERVE], taken = 0;
    float value[GEODEC_TREE_CHILDREN + RESERVE];
    *n = 0;
    if (!d->valid[node]) return GEODEC_OK;
    const int32_t depth = base->depth[node] < GEODEC_ROLLOUT_DEPTHS ? base->depth[node] : GEODEC_ROLLOUT_DEPTHS - 1;
    const double beta = (double)d->trust.beta[depth];
    geodec_rollout_logits(d->r, d->z[node], d->logit);
    const int32_t found = geodec_largest(d->logit, (int32_t)d->r->words, most + RESERVE, place, value);
    double total = 0;
    for (int64_t w = 0; w < d->r->words; w++) total += exp(beta * ((double)d->logit[w] - (double)value[0]));
    for (int32_t i = 0; i < found && taken < most; i++) {
        const int32_t token = d->r->word[place[i]];
        const double probability =
            (double)d->trust.shrink[depth] * exp(beta * ((double)value[i] - (double)value[0])) / total;
        if (geodec_drafter_forbids(base, node, token)) continue;
        /* Logits of a state far outside the chart may not be finite. */
        out[taken++] =
            (geodec_draft){.token = token, .source = depth, .confidence = probability >= 0 ? fmin(probability, 1) : 0};
    }
    *n = taken;
    return GEODEC_OK;
}

static void rollout_destroy(geodec_drafter *base)
{
    rollout_drafter *d = (rollout_drafter *)base;
    GEODEC_FREE(d->logit, d);
}

geodec_status geodec_rollout_drafter_create(const geodec_rollout *r, const char *name, geodec_rollout_velocity v,
                                            geodec_rollout_connection c, const geodec_rollout_trust *trust,
                                            geodec_drafter **out, geodec_err *err)
{
    static const char *const sources[GEODEC_ROLLOUT_DEPTHS] = {"1", "2", "3", "4+"};
    static const geodec_drafter_ops ops = {.wants_state = true,
                                           .n_sources = GEODEC_ROLLOUT_DEPTHS,
                                           .source_name = sources,
                                           .begin = rollout_begin,
                                           .observe = rollout_observe,
                                           .destroy = rollout_destroy,
                                           .root = rollout_root,
                                           .children = rollout_children,
                                           .adopt = rollout_adopt};
    geodec_status st = GEODEC_OK;
    rollout_drafter *d = NULL;
    if (v == GEODEC_ROLLOUT_BLIND && !r->blind.map)
        GEODEC_THROW(GEODEC_INVAL, "the blind regression is not in the file");
    GEODEC_NEW(d, 1);
    d->ops = ops;
    d->ops.name = name;
    d->base.ops = &d->ops;
    d->r = r;
    d->velocity = v;
    d->connection = c;
    d->trust = *trust;
    GEODEC_NEW(d->logit, r->words);
    *out = &d->base;
    d = NULL;
done:
    if (d) rollout_destroy(&d->base);
    return st;
}

void geodec_rollout_drafter_steps(const geodec_drafter *base, int64_t *steps, int64_t *broken)
{
    const rollout_drafter *d = (const rollout_drafter *)base;
    *steps = d->steps;
    *broken = d->broken;
}
