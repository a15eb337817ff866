/* The key and value cache: allocation, storing, reading, moving and dropping rows.
 *
 * Rows lie in blocks of GEODEC__KEYS; a block holds all layers and heads, so that memory is touched from the front to
 * the back as the context grows. A piece is one head of one layer in one block: keys [head_dim][64], values [64][dim],
 * in Q8_0 each followed by its scales. What a row holds is rounded when it is stored, and every element is read back as
 * one exact float32: attention over a cache of any type is attention over a float32 cache of those values.
 *   F16    round to nearest even; beyond 65504 the largest value
 *   Q8_0   groups of 32 dimensions (the last may be shorter): scale = largest / 127 rounded up to bfloat16, elements
 *          x / scale rounded to nearest even. Scale times element is exact. Groups below 1e-30 are zero. */
#include "base/f16.h"
#include "base/mem.h"
#include "model/internal.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static int64_t element_bytes(geodec_kv_type t) { return t == GEODEC_KV_F32 ? 4 : t == GEODEC_KV_F16 ? 2 : 1; }

/* One that can never fit is refused now, not by the kernel in the middle of a run. */
static geodec_status check_memory(int64_t n_ctx, double total, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (total > memory)
        GEODEC_THROW(GEODEC_LIMIT,
                     "a cache of %lld tokens takes %.1f GiB; this machine has %.1f (choose a shorter context)",
                     (long long)n_ctx, total / 0x1p30, memory / 0x1p30);
done:
    return st;
}

geodec_status geodec__cache_create(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    geodec__cache *a = &s->cache;
    const int64_t elements = GEODEC__KEYS * c->head_dim * element_bytes(s->kv);
    const int64_t scales = s->kv == GEODEC_KV_Q8_0 ? GEODEC__KEYS * geodec__kv_groups(c->head_dim) * 2 : 0;
    a->k_scale = elements;
    a->v = elements + scales;
    a->v_scale = a->v + elements;
    a->piece = (a->v_scale + scales + 63) / 64 * 64;
    const int64_t blocks = (s->n_ctx + GEODEC__KEYS - 1) / GEODEC__KEYS, block = a->piece * c->n_layer * c->n_kv_head;
    GEODEC_TRY(check_memory(s->n_ctx, (double)blocks * (double)block, err));
    /* the last vector of a value row may be read past the end */
    a->bytes = blocks * block + GEODEC__LANES * (int64_t)sizeof(float);
    a->data = geodec_mem_map(a->bytes);
    if (!a->data) GEODEC_THROW(GEODEC_NOMEM, "no memory for a cache of %lld bytes", (long long)a->bytes);
done:
    return st;
}

void geodec__cache_destroy(geodec_session *s) { geodec_mem_unmap(s->cache.data, s->cache.bytes); }

static uint8_t *piece_of(const geodec_session *s, int64_t layer, int64_t head, int64_t block)
{
    const geodec_model_config *c = &s->model->config;
    return s->cache.data + ((block * c->n_layer + layer) * c->n_kv_head + head) * s->cache.piece;
}

/* ---- storing ---------------------------------------------------------------------------------------------------- */

enum { PART = 64 };

/* At most PART values, elements `step` apart. */
static void put_halves(const float *x, int64_t n, uint16_t *h, int64_t step)
{
    float within[PART] = {0};
    uint16_t half[PART];
    for (int64_t i = 0; i < n; i++) within[i] = x[i] > 65504.0f ? 65504.0f : x[i] < -65504.0f ? -65504.0f : x[i];
    geodec_f32_to_f16_n(within, half, n);
    for (int64_t i = 0; i < n; i++) h[i * step] = half[i];
}

/* A group of one row, elements `step` apart. */
static void put_group(const float *x, int64_t n, int8_t *q, int64_t step, uint16_t *scale)
{
    float largest = 0;
    for (int64_t i = 0; i < n; i++) {
        const float size = fabsf(x[i]);
        largest = size > largest ? size : largest;
    }
    *scale = 0;
    if (largest < 1e-30f) {
        for (int64_t i = 0; i < n; i++) q[i * step] = 0;
        return;
    }
    largest = largest < 1e38f ? largest : 1e38f;
    *scale = geodec_f32_to_bf16(largest / 127.0f);
    if (geodec_bf16_to_f32(*scale) * 127.0f < largest) (*scale)++;
    const float inverse = 1.0f / geodec_bf16_to_f32(*scale);
    for (int64_t i = 0; i < n; i++) {
        const float v = x[i] * inverse, above = v > -127.0f ? v : -127.0f, within = above < 127.0f ? above : 127.0f;
        q[i * step] = (int8_t)(within + 12582912.0f - 12582912.0f); /* 1.5 2^23: rounds to nearest even */
    }
}

void geodec__cache_put(geodec_session *s, int64_t layer, int64_t head, int64_t row, const float *k, const float *v)
{
    const int64_t dim = s->model->config.head_dim, lane = row % GEODEC__KEYS;
    uint8_t *piece = piece_of(s, layer, head, row / GEODEC__KEYS);
    void *keys = piece, *values = piece + s->cache.v;
    switch (s->kv) {
    case GEODEC_KV_F32:
        for (int64_t d = 0; d < dim; d++) ((float *)keys)[d * GEODEC__KEYS + lane] = k[d];
        memcpy((float *)values + lane * dim, v, (size_t)dim * sizeof *v);
        break;
    case GEODEC_KV_F16:
        for (int64_t d = 0; d < dim; d += PART) {
            const int64_t n = dim - d < PART ? dim - d : PART;
            put_halves(k + d, n, (uint16_t *)keys + d * GEODEC__KEYS + lane, GEODEC__KEYS);
            put_halves(v + d, n, (uint16_t *)values + lane * dim + d, 1);
        }
        break;
    case GEODEC_KV_Q8_0: {
        uint16_t *k_scale = (void *)(piece + s->cache.k_scale), *v_scale = (void *)(piece + s->cache.v_scale);
        const int64_t groups = geodec__kv_groups(dim);
        for (int64_t g = 0; g < groups; g++) {
            const int64_t d = g * GEODEC__KV_GROUP, n = dim - d < GEODEC__KV_GROUP ? dim - d : GEODEC__KV_GROUP;
            put_group(k + d, n, (int8_t *)keys + d * GEODEC__KEYS + lane, GEODEC__KEYS,
                      k_scale + g * GEODEC__KEYS + lane);
            put_group(v + d, n, (int8_t *)values + lane * dim + d, 1, v_scale + lane * groups + g);
        }
        break;
    }
    }
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

geodec__attend_keys geodec__cache_block(const geodec_session *s, int64_t layer, int64_t head, int64_t block)
{
    const geodec_model_config *c = &s->model->config;
    const uint8_t *piece = piece_of(s, layer, head, block);
    return (geodec__attend_keys){.type = s->kv,
                                 .k = piece,
                                 .v = piece + s->cache.v,
                                 .k_scale = (const void *)(piece + s->cache.k_scale),
                                 .v_scale = (const void *)(piece + s->cache.v_scale),
                                 .ahead = s->cache.piece * c->n_layer * c->n_kv_head};
}

void geodec__cache_decode(const geodec_session *s, const geodec__attend_keys *keys, int64_t rows, float *k, float *v)
{
    const int64_t dim = s->model->config.head_dim;
    switch (keys->type) {
    case GEODEC_KV_F32:
        memcpy(k, keys->k, (size_t)(GEODEC__KEYS * dim) * sizeof *k);
        memcpy(v, keys->v, (size_t)(rows * dim) * sizeof *v);
        break;
    case GEODEC_KV_F16:
        s->kernels->decode_f16(keys->k, GEODEC__KEYS * dim, k);
        s->kernels->decode_f16(keys->v, rows * dim, v);
        break;
    case GEODEC_KV_Q8_0:
        s->kernels->decode_q8_keys(keys->k, keys->k_scale, dim, k);
        s->kernels->decode_q8_values(keys->v, keys->v_scale, dim, rows, v);
        break;
    }
}

void geodec__cache_row(const geodec_session *s, int64_t layer, int64_t head, int64_t row, int64_t lane, float *k,
                       float *v)
{
    const int64_t dim = s->model->config.head_dim, from = row % GEODEC__KEYS;
    const uint8_t *piece = piece_of(s, layer, head, row / GEODEC__KEYS);
    const void *keys = piece, *values = piece + s->cache.v;
    switch (s->kv) {
    case GEODEC_KV_F32:
        for (int64_t d = 0; d < dim; d++) k[d * GEODEC__KEYS + lane] = ((const float *)keys)[d * GEODEC__KEYS + from];
        memcpy(v + lane * dim, (const float *)values + from * dim, (size_t)dim * sizeof *v);
        break;
    case GEODEC_KV_F16:
        for (int64_t d = 0; d < dim; d++)
            k[d * GEODEC__KEYS + lane] = geodec_f16_to_f32(((const uint16_t *)keys)[d * GEODEC__KEYS + from]);
        for (int64_t d = 0; d < dim; d++)
            v[lane * dim + d] = geodec_f16_to_f32(((const uint16_t *)values)[from * dim + d]);
        break;
    case GEODEC_KV_Q8_0: {
        const uint16_t *k_scale = (const void *)(piece + s->cache.k_scale),
                       *v_scale = (const void *)(piece + s->cache.v_scale);
        const int64_t groups = geodec__kv_groups(dim);
        for (int64_t d = 0; d < dim; d++) {
            const int64_t g = d / GEODEC__KV_GROUP;
            k[d * GEODEC__KEYS + lane] = geodec_bf16_to_f32(k_scale[g * GEODEC__KEYS + from]) *
                                         (float)((const int8_t *)keys)[d * GEODEC__KEYS + from];
            v[lane * dim + d] =
                geodec_bf16_to_f32(v_scale[from * groups + g]) * (float)((const int8_t *)values)[from * dim + d];
        }
        break;
    }
    }
}

/* ---- moving and dropping ---------------------------------------------------------------------------------------- */

void geodec_session_truncate(geodec_session *s, int32_t length)
{
    if (length >= 0 && length < s->length) s->length = length;
}

/* Lane `from` of [n][64] elements becomes lane `to` of another such array. */
static void move_lane(uint8_t *to_data, int64_t to, const uint8_t *from_data, int64_t from, int64_t n, int64_t bytes)
{
    to_data += to * bytes;
    from_data += from * bytes;
    for (int64_t i = 0; i < n; i++)
        for (int64_t b = 0; b < bytes; b++)
            to_data[i * GEODEC__KEYS * bytes + b] = from_data[i * GEODEC__KEYS * bytes + b];
}

/* Cache row `from` becomes row `to` in every layer and head. */
static void move_row(geodec_session *s, int64_t from, int64_t to)
{
    const geodec_model_config *c = &s->model->config;
    const geodec__cache *a = &s->cache;
    const int64_t dim = c->head_dim, groups = geodec__kv_groups(dim), bytes = element_bytes(s->kv);
    const int64_t source = from % GEODEC__KEYS, target = to % GEODEC__KEYS;
    for (int64_t layer = 0; layer < c->n_layer; layer++)
        for (int64_t head = 0; head < c->n_kv_head; head++) {
            uint8_t *p = piece_of(s, layer, head, to / GEODEC__KEYS);
            const uint8_t *q = piece_of(s, layer, head, from / GEODEC__KEYS);
            move_lane(p, target, q, source, dim, bytes);
            memmove(p + a->v + target * dim * bytes, q + a->v + source * dim * bytes, (size_t)(dim * bytes));
            if (s->kv != GEODEC_KV_Q8_0) continue;
            move_lane(p + a->k_scale, target, q + a->k_scale, source, groups, 2);
            memmove(p + a->v_scale + target * groups * 2, q + a->v_scale + source * groups * 2, (size_t)(groups * 2));
        }
}

void geodec_session_compact(geodec_session *s, int32_t base, const int32_t *row, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (row[i] != i) move_row(s, (int64_t)base + row[i], (int64_t)base + i);
    s->length = base + n;
}
