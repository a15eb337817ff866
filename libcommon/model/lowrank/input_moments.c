#include "lowrank/input_moments.h"

#include "base/mem.h"
#include "linalg/blas.h"
#include "linalg/eig.h"
#include "lowrank/projection_internal.h"

#include <math.h>
#include <string.h>

enum { ROWS = 64 /* rows of a pass */ };

typedef struct gathering {
    geodec_input_moments *m;
    double *row; /* [ROWS][widest] */
} gathering;

static void gather(void *ctx, int32_t layer, geodec_side side, int64_t n, int64_t width, const float *const *row)
{
    const gathering *g = ctx;
    if (!g->m->c[side]) return;
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < width; i++) g->row[r * width + i] = row[r][i];
    geodec_blas_syrk(n, width, 1, g->row, width, 1, g->m->c[side] + layer * width * width, width);
}

static geodec_status new_moments(const geodec_model_config *c, unsigned slots, geodec_input_moments *m, int64_t *widest,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    m->n_layer = c->n_layer;
    *widest = 1;
    for (int k = 0; k < GEODEC_SLOTS; k++) {
        const geodec_side side = geodec_factors_side_of((geodec_slot)k);
        int64_t rows, cols;
        if (!(slots >> k & 1) || m->c[side]) continue;
        if (!geodec_factors_slot_single(c, (geodec_slot)k))
            GEODEC_THROW(GEODEC_UNSUPPORTED, "slot '%s' holds a matrix of each expert, which is not projected",
                         geodec_factors_slot_name((geodec_slot)k));
        geodec_factors_slot_shape(c, (geodec_slot)k, &rows, &cols);
        m->width[side] = cols;
        GEODEC_NEW(m->c[side], c->n_layer * cols * cols);
        if (cols > *widest) *widest = cols;
    }
done:
    return st;
}

static geodec_status finish(geodec_input_moments *m, geodec_err *err)
{
    for (int side = 0; side < GEODEC_SIDES; side++) {
        const int64_t n = m->c[side] ? m->n_layer * m->width[side] * m->width[side] : 0;
        for (int64_t i = 0; i < n; i++) {
            m->c[side][i] /= (double)m->tokens;
            if (!isfinite(m->c[side][i])) GEODEC_FAIL(GEODEC_NUMERIC, "activations are not finite");
        }
    }
    return GEODEC_OK;
}

geodec_status geodec_input_moments_run(const geodec_model *m, unsigned slots, int64_t n, const int32_t *token,
                                       int32_t window, geodec_pool *pool, const geodec_hooks *hooks,
                                       geodec_input_moments *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    const int32_t bos = geodec_tokenizer_start(geodec_model_tokenizer(m));
    const int32_t lead = bos >= 0 ? 1 : 0;
    geodec_session *s = NULL;
    geodec_input_moments made = {0};
    gathering g = {.m = &made};
    int32_t *ids = NULL;
    int64_t widest;
    if (n < 1) GEODEC_THROW(GEODEC_FORMAT, "no tokens to run");
    if (window < 2 || window > c->n_ctx)
        GEODEC_THROW(GEODEC_RANGE, "a window of %d tokens is outside 2 to %d", window, c->n_ctx);
    GEODEC_TRY(new_moments(c, slots, &made, &widest, err));
    GEODEC_NEW(g.row, ROWS * widest);
    GEODEC_NEW(ids, window);
    GEODEC_TRY(
        geodec_session_create(m, &(geodec_session_options){.n_ctx = window, .max_batch = ROWS, .pool = pool}, &s, err));
    geodec_session_watch(s, gather, &g);
    for (int64_t at = 0; at < n;) {
        const int32_t count = (int32_t)(n - at < window - lead ? n - at : window - lead);
        if (lead) ids[0] = bos;
        memcpy(ids + lead, token + at, (size_t)count * sizeof *ids);
        geodec_session_truncate(s, 0);
        GEODEC_TRY(geodec_forward_prefill(s, ids, count + lead, NULL, err));
        made.tokens += count + lead;
        at += count;
        GEODEC_TRY(geodec_hooks_progress(hooks, "reading", at, n, err));
    }
    GEODEC_TRY(finish(&made, err));
    GEODEC_MOVE(*out, made);
done:
    geodec_session_destroy(s);
    geodec_input_moments_clear(&made);
    GEODEC_FREE(g.row, ids);
    return st;
}

void geodec_input_moments_clear(geodec_input_moments *m)
{
    for (int side = 0; side < GEODEC_SIDES; side++) geodec_mem_free(m->c[side]);
    *m = (geodec_input_moments){0};
}

geodec_status geodec__input_moments_roots(const geodec_input_moments *m, geodec_side side, int32_t layer, double ridge,
                                          double *root, double *unroot, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = m->width[side];
    double trace = 0, *c = NULL, *vector = NULL, *value = NULL;
    GEODEC_NEW_EACH(d * d, c, vector);
    GEODEC_NEW(value, d);
    memcpy(c, m->c[side] + layer * d * d, (size_t)(d * d) * sizeof *c);
    for (int64_t i = 0; i < d; i++) trace += c[i * d + i];
    for (int64_t i = 0; i < d; i++) c[i * d + i] += ridge * trace / (double)d;
    GEODEC_TRY(geodec_eig_sym(d, c, value, vector, err));
    const double least = 1e-14 * value[d - 1];
    if (!(value[d - 1] > 0)) GEODEC_THROW(GEODEC_NUMERIC, "the activations of layer %d are all zero", layer);
    for (int64_t i = 0; i < d; i++) value[i] = sqrt(value[i] > least ? value[i] : least);
    geodec_eig_compose(d, value, vector, root);
    for (int64_t i = 0; i < d; i++) value[i] = 1 / value[i];
    geodec_eig_compose(d, value, vector, unroot);
done:
    GEODEC_FREE(c, vector, value);
    return st;
}
