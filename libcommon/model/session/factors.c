#include "session/factors.h"
#include "session/arch_internal.h"

#include "base/f16.h"
#include "base/mem.h"
#include "base/names_internal.h"
#include "session/model_internal.h"

#include <math.h>
#include <string.h>

GEODEC__NAME(geodec_factors_slot_name, geodec_slot, "q", "k", "v", "o", "gate", "up", "down")

geodec_side geodec_factors_side_of(geodec_slot slot)
{
    return slot <= GEODEC_SLOT_V    ? GEODEC_SIDE_STREAM
           : slot == GEODEC_SLOT_O  ? GEODEC_SIDE_HEADS
           : slot <= GEODEC_SLOT_UP ? GEODEC_SIDE_FEED
                                    : GEODEC_SIDE_HIDDEN;
}

void geodec_factors_slot_shape(const geodec_model_config *c, geodec_slot slot, int64_t *rows, int64_t *cols)
{
    const int64_t d = c->d_model, q = (int64_t)c->n_head * c->head_dim, kv = (int64_t)c->n_kv_head * c->head_dim;
    const int64_t shape[GEODEC_SLOTS][2] = {{q, d}, {kv, d}, {kv, d}, {d, q}, {c->d_ff, d}, {c->d_ff, d}, {d, c->d_ff}};
    *rows = shape[slot][0];
    *cols = shape[slot][1];
}

bool geodec_factors_slot_single(const geodec_model_config *c, geodec_slot slot)
{
    return c->n_expert == 0 || slot < GEODEC_SLOT_GATE;
}

static geodec__matrix *matrix_of(geodec__layer *l, geodec_slot slot)
{
    geodec__matrix *const all[GEODEC_SLOTS] = {&l->q, &l->k, &l->v, &l->o, &l->gate, &l->up, &l->down};
    return all[slot];
}

static geodec_status check_slot(const geodec_model *m, int32_t layer, geodec_slot slot, geodec_err *err)
{
    if (layer < 0 || layer >= m->config.n_layer || (int)slot < 0 || (int)slot >= GEODEC_SLOTS)
        GEODEC_FAIL(GEODEC_RANGE, "layer %d has no slot %d: the model has %d layers of %d slots", layer, (int)slot,
                    m->config.n_layer, GEODEC_SLOTS);
    if (m->config.recur_period > 0)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "architecture '%s' is not factored", m->config.arch);
    const char *part = geodec__model_recurs(m) ? "recurrent layers" : geodec__model_part_beyond(m);
    if (part) GEODEC_FAIL(GEODEC_UNSUPPORTED, "a model with %s is not factored", part);
    if (!geodec_factors_slot_single(&m->config, slot))
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "slot '%s' holds a matrix of each expert, which is not factored",
                    geodec_factors_slot_name(slot));
    return GEODEC_OK;
}

/* ---- owned matrices --------------------------------------------------------------------------------------------- */

int64_t geodec__factors_room(int64_t rows, int64_t cols, bool half)
{
    return (rows * cols * (half ? 2 : 4) + 63) / 64 * 64;
}

geodec_status geodec__factors_put(const float *x, int64_t rows, int64_t cols, bool half, uint8_t **at,
                                  geodec__matrix *out, geodec_err *err)
{
    for (int64_t i = 0; i < rows * cols; i++)
        if (!isfinite(x[i]) || (half && fabsf(x[i]) >= 65520.0f))
            GEODEC_FAIL(GEODEC_NUMERIC, "a factor holds %g", (double)x[i]);
    *out = (geodec__matrix){.data = *at,
                            .rows = rows,
                            .cols = cols,
                            .row_bytes = cols * (half ? 2 : 4),
                            .type = half ? GEODEC_GGML_F16 : GEODEC_GGML_F32,
                            .owned = true};
    if (half)
        geodec_f32_to_f16_n(x, (uint16_t *)(void *)*at, rows * cols);
    else
        memcpy(*at, x, (size_t)(rows * cols) * sizeof *x);
    *at += geodec__factors_room(rows, cols, half);
    return GEODEC_OK;
}

/* ---- factoring -------------------------------------------------------------------------------------------------- */

static bool shares(const geodec_factor *f, int64_t i)
{
    return i > 0 && f[i].in == f[i - 1].in && f[i].layer == f[i - 1].layer && f[i].k == f[i - 1].k &&
           geodec_factors_side_of(f[i].slot) == geodec_factors_side_of(f[i - 1].slot);
}

static geodec_status check_factors(const geodec_model *m, int64_t n, const geodec_factor *f, bool *seen,
                                   geodec_err *err)
{
    if (m->factors) GEODEC_FAIL(GEODEC_INVAL, "this model is factored already");
    if (m->low) GEODEC_FAIL(GEODEC_INVAL, "this model's cache is of low rank already");
    if (n < 1) GEODEC_FAIL(GEODEC_RANGE, "%lld factors", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        int64_t rows, cols;
        GEODEC_PASS(check_slot(m, f[i].layer, f[i].slot, err));
        geodec_factors_slot_shape(&m->config, f[i].slot, &rows, &cols);
        if (f[i].k < 1 || f[i].k > cols)
            GEODEC_FAIL(GEODEC_RANGE, "layer %d, slot '%s': rank %lld is outside 1 to %lld", f[i].layer,
                        geodec_factors_slot_name(f[i].slot), (long long)f[i].k, (long long)cols);
        bool *s = &seen[(int64_t)f[i].layer * GEODEC_SLOTS + f[i].slot];
        if (*s)
            GEODEC_FAIL(GEODEC_RANGE, "layer %d, slot '%s' is factored twice", f[i].layer,
                        geodec_factors_slot_name(f[i].slot));
        *s = true;
    }
    return GEODEC_OK;
}

geodec_status geodec_model_factor(geodec_model *m, int64_t n, const geodec_factor *f, bool half, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bool *seen = NULL;
    uint8_t *data = NULL;
    geodec__matrix *made = NULL; /* [n][basis, own] */
    int64_t bytes = 0, widest = 0, rows, cols;
    GEODEC_NEW(seen, (int64_t)m->config.n_layer * GEODEC_SLOTS);
    GEODEC_TRY(check_factors(m, n, f, seen, err));
    for (int64_t i = 0; i < n; i++) {
        geodec_factors_slot_shape(&m->config, f[i].slot, &rows, &cols);
        bytes +=
            geodec__factors_room(rows, f[i].k, half) + (shares(f, i) ? 0 : geodec__factors_room(f[i].k, cols, half));
        if (f[i].k > widest) widest = f[i].k;
    }
    GEODEC_NEW(made, 2 * n);
    GEODEC_NEW(data, bytes);
    uint8_t *at = data;
    for (int64_t i = 0; i < n; i++) {
        geodec_factors_slot_shape(&m->config, f[i].slot, &rows, &cols);
        if (shares(f, i))
            made[2 * i] = made[2 * (i - 1)];
        else
            GEODEC_TRY_MSG(geodec__factors_put(f[i].in, f[i].k, cols, half, &at, &made[2 * i], err),
                           "layer %d, slot '%s'", f[i].layer, geodec_factors_slot_name(f[i].slot));
        GEODEC_TRY_MSG(geodec__factors_put(f[i].out, rows, f[i].k, half, &at, &made[2 * i + 1], err),
                       "layer %d, slot '%s'", f[i].layer, geodec_factors_slot_name(f[i].slot));
    }
    for (int64_t i = 0; i < n; i++) {
        geodec__layer *l = &m->layer[f[i].layer];
        l->basis[f[i].slot] = made[2 * i];
        *matrix_of(l, f[i].slot) = made[2 * i + 1];
    }
    m->factors = data;
    m->factor_rank = widest;
    data = NULL;
done:
    GEODEC_FREE(seen, made, data);
    return st;
}

int64_t geodec_model_factored(const geodec_model *m)
{
    int64_t n = 0;
    for (int32_t i = 0; i < m->config.n_layer; i++)
        for (int k = 0; k < GEODEC_SLOTS; k++) n += m->layer[i].basis[k].data != NULL;
    return n;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

geodec_status geodec_model_weights(const geodec_model *m, int32_t layer, geodec_slot slot, float *w, geodec_err *err)
{
    GEODEC_PASS(check_slot(m, layer, slot, err));
    if (m->layer[layer].basis[slot].data)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "layer %d, slot '%s' is factored", layer, geodec_factors_slot_name(slot));
    const geodec__matrix *a = matrix_of(&m->layer[layer], slot);
    const geodec_ggml_traits *t = geodec_ggml_traits_of(a->type);
    for (int64_t r = 0; r < a->rows; r++) t->decode(a->data + r * a->row_bytes, w + r * a->cols, a->cols);
    return GEODEC_OK;
}

static int64_t bytes_of(const geodec__matrix *w) { return w->data ? w->rows * w->row_bytes : 0; }

int64_t geodec_model_slot_bytes(const geodec_model *m, int32_t layer, geodec_slot slot)
{
    geodec__layer *l = &m->layer[layer];
    const geodec__matrix *b = &l->basis[slot];
    const bool first = slot == 0 || b->data != b[-1].data;
    const bool single = geodec_factors_slot_single(&m->config, slot) || !l->router.data;
    const int64_t chosen = single ? 1 : m->config.n_expert_used;
    return chosen * bytes_of(matrix_of(l, slot)) + (first ? bytes_of(b) : 0);
}

int64_t geodec_model_pass_bytes(const geodec_model *m)
{
    int64_t sum = bytes_of(&m->head);
    for (int32_t i = 0; i < m->config.n_layer; i++) {
        const geodec__layer *l = &m->layer[i];
        sum += bytes_of(&l->router) + bytes_of(&l->shared_gate) + bytes_of(&l->shared_up) + bytes_of(&l->shared_down) +
               bytes_of(&l->shared_factor);
        sum += m->config.n_expert_used *
               (bytes_of(&l->adjugate_gate) + bytes_of(&l->adjugate_up) + bytes_of(&l->adjugate_down));
        for (int k = 0; k < GEODEC_SLOTS; k++) sum += geodec_model_slot_bytes(m, i, (geodec_slot)k);
    }
    return sum;
}

geodec_status geodec_factors_slots(const char *slots, const geodec_model_config *c, unsigned *out, geodec_err *err)
{
    *out = 0;
    if (strcmp(slots, "all") == 0) {
        for (int k = 0; k < GEODEC_SLOTS; k++)
            if (geodec_factors_slot_single(c, (geodec_slot)k)) *out |= 1u << k;
        return GEODEC_OK;
    }
    for (const char *at = slots; *at;) {
        const size_t n = strcspn(at, ",");
        int k = 0;
        while (k < GEODEC_SLOTS && (strlen(geodec_factors_slot_name((geodec_slot)k)) != n ||
                                    strncmp(at, geodec_factors_slot_name((geodec_slot)k), n) != 0))
            k++;
        if (k == GEODEC_SLOTS) GEODEC_FAIL(GEODEC_INVAL, "--slots: '%.*s' is no slot", (int)(n < 40 ? n : 40), at);
        *out |= 1u << k;
        at += n + (at[n] == ',');
    }
    return GEODEC_OK;
}

bool geodec_factors_half(const geodec_model *m, unsigned set)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    for (int k = 0; k < GEODEC_SLOTS; k++) {
        int64_t rows, cols;
        if (!(set >> k & 1)) continue;
        geodec_factors_slot_shape(c, (geodec_slot)k, &rows, &cols);
        for (int32_t l = 0; l < c->n_layer; l++)
            if (geodec_model_slot_bytes(m, l, (geodec_slot)k) < 4 * rows * cols) return true;
    }
    return false;
}
