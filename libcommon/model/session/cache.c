/* The key and value cache: allocation, storing, reading, moving and dropping rows.
 *
 * Rows are in blocks of GEODEC__KEYS; a block holds all layers with attention and their heads, so that memory is
 * touched from front to back as the context grows. Block b of the text is at place b modulo their number: a session
 * that forgets (model_internal.h) has fewer than its context needs, and new blocks replace those that no window sees.
 *
 * A piece is one head of one layer in one block: keys [head_dim][64], values [64][dim], in Q8_0 each followed by its
 * scales. Layers of latent vectors (latent.c) have keys alone, whose first numbers are the values. Elements are rounded
 * when stored, and read back as exact float32: attention over a cache of any type is attention over a float32 cache of
 * those values. F16    round to nearest even; beyond 65504 the largest value Q8_0   groups of 32 dimensions (the last
 * may be shorter): scale = largest / 127 rounded up to bfloat16, elements x / scale rounded to nearest even. Scale
 * times element is exact. Groups below 1e-30 are zero. Q4_0   the same groups: scale = the element of largest size / -8
 * rounded to bfloat16, elements x / scale + 8 rounded to nearest even and kept within 0 .. 15, two dimensions to a
 * byte, the first low. A control for the cost of few bytes: blocks are decoded before use. */
#include "base/extremes_internal.h"
#include "base/f16.h"
#include "base/mem.h"
#include "base/memory_limit.h"
#include "base/names_internal.h"
#include "session/integer_session_internal.h"
#include "session/recurrence_states_internal.h"
#include "session/streamed_internal.h"

#include <math.h>
#include <string.h>

GEODEC__NAME(geodec_cache_kv_name, geodec_kv_type, GEODEC_KV_TYPES(GEODEC__NAMES_TEXT))

/* Bytes of n contiguous numbers. */
static int64_t packed(geodec_kv_type t, int64_t n)
{
    return t == GEODEC_KV_F32 ? 4 * n : t == GEODEC_KV_F16 ? 2 * n : t == GEODEC_KV_Q8_0 ? n : (n + 1) / 2;
}

/* Bytes of an element of the keys' [.][64] array, and its number of rows. */
static int64_t lane_bytes(geodec_kv_type t) { return t == GEODEC_KV_F32 ? 4 : t == GEODEC_KV_F16 ? 2 : 1; }
static int64_t lane_rows(geodec_kv_type t, int64_t dim) { return t == GEODEC_KV_Q4_0 ? (dim + 1) / 2 : dim; }

static bool scaled(geodec_kv_type t) { return t == GEODEC_KV_Q8_0 || t == GEODEC_KV_Q4_0; }

/* A cache that can never fit is refused here, not by the kernel during a run. */
static geodec_status check_memory(int64_t n_ctx, double total, geodec_err *err)
{
    const double memory = (double)geodec_memory_limit_whole();
    if (total > memory)
        GEODEC_FAIL(GEODEC_LIMIT,
                    "a cache of %lld tokens takes %.1f GiB; %.1f can be used here (choose a shorter context)",
                    (long long)n_ctx, total / 0x1p30, memory / 0x1p30);
    return GEODEC_OK;
}

static int64_t scale_bytes(geodec_kv_type t, int64_t dim)
{
    return scaled(t) ? GEODEC__KEYS * geodec__kv_groups(dim) * 2 : 0;
}

static int64_t whole(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/* Layers that attend, and how far back they see. */
static geodec_status look_at_layers(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model *m = s->model;
    geodec__cache *a = &s->cache;
    GEODEC_NEW(a->place, m->config.n_layer);
    for (int32_t i = 0; i < m->config.n_layer; i++) {
        const bool attends = geodec__layer_attends(&m->layer[i]);
        const int64_t seen = m->layer[i].window > 0 ? m->layer[i].window : INT64_MAX;
        a->place[i] = attends && m->layer[i].kv_layer == i ? a->layers++ : -1;
        if (attends && seen > a->seen) a->seen = seen;
    }
done:
    return st;
}

/* Recurrent models alone drop rows: any other session is saved whole (session_state.h), and rows far behind can be
 * rewritten in it. */
static int64_t blocks_of(const geodec_session *s)
{
    const int64_t all = (s->n_ctx + GEODEC__KEYS - 1) / GEODEC__KEYS;
    if (!geodec__session_forgets(s)) return all;
    /* After rows before e were written, a pass at e - back sees rows from e - back - seen + 1 on. One more is kept, as
     * in a file of the session. They may begin and end within a block. */
    const int64_t most = (s->back + s->cache.seen - 1 + GEODEC__KEYS - 1) / GEODEC__KEYS + 1;
    return most < all ? most : all;
}

bool geodec__session_forgets(const geodec_session *s)
{
    return geodec__model_recurs(s->model) && s->cache.seen < INT64_MAX && s->back < s->n_ctx;
}

int64_t geodec__cache_floor(const geodec_session *s, int64_t end)
{
    const int64_t first = (end + GEODEC__KEYS - 1) / GEODEC__KEYS - s->cache.blocks; /* the oldest block */
    return first > 0 && s->cache.layers > 0 ? first * GEODEC__KEYS + s->cache.seen : 0;
}

/* The layout of a layer, at the end of the block so far. */
static void shape_layer(geodec_session *s, int32_t layer)
{
    geodec__cache *all = &s->cache;
    geodec__cache_shape *a = &all->shape[layer];
    geodec__lowkv_shape(s->model, layer, a);
    a->offset = all->block;
    a->k_scale = GEODEC__KEYS * packed(s->kv, a->k_dim);
    a->v_scale = GEODEC__KEYS * packed(s->kv, a->v_dim);
    const int64_t k = a->k_scale + scale_bytes(s->kv, a->k_dim), v = a->v_scale + scale_bytes(s->kv, a->v_dim);
    if (s->model->low) {
        a->k_step = whole(k);
        a->v_step = whole(v);
        a->v = a->k_heads * a->k_step;
        a->bytes = a->v + a->v_heads * a->v_step;
    } else if (a->v_heads == 0) { /* values are numbers of the keys */
        a->k_step = a->bytes = whole(k);
    } else { /* a head's values after its keys */
        a->k_step = a->v_step = whole(k + v);
        a->v = k;
        a->bytes = a->k_heads * a->k_step;
    }
    all->block += a->bytes;
    all->k_width = geodec__max(all->k_width, a->k_heads * a->k_dim);
    all->v_width = geodec__max(all->v_width, a->v_heads * a->v_dim);
    all->widest = geodec__max(all->widest, geodec__max(a->k_dim, a->v_dim));
}

geodec_status geodec__cache_create(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__cache *a = &s->cache;
    const geodec_model *m = s->model;
    GEODEC_TRY(look_at_layers(s, err));
    GEODEC_NEW(a->shape, m->config.n_layer);
    for (int32_t i = 0; i < m->config.n_layer; i++)
        if (a->place[i] >= 0) shape_layer(s, i);
    for (int32_t i = 0; i < m->config.n_layer; i++)
        if (a->place[i] < 0 && m->layer[i].kv_layer != i) a->shape[i] = a->shape[m->layer[i].kv_layer];
    if (a->layers > 0) a->block = (a->block + a->layers - 1) / a->layers * a->layers;
    a->blocks = blocks_of(s);
    GEODEC_TRY(check_memory(s->n_ctx, (double)a->blocks * (double)a->block, err));
    /* the last vector of a value row may be read past the end */
    a->bytes = a->blocks * a->block + GEODEC__LANES * (int64_t)sizeof(float);
    a->data = geodec_mem_map(a->bytes);
    if (!a->data) GEODEC_THROW(GEODEC_NOMEM, "no memory for a cache of %lld bytes", (long long)a->bytes);
done:
    return st;
}

void geodec__cache_destroy(geodec_session *s)
{
    geodec_mem_unmap(s->cache.data, s->cache.bytes);
    GEODEC_FREE(s->cache.place, s->cache.shape);
}

int64_t geodec_session_cache_bytes(const geodec_session *s)
{
    return s->engine ? geodec__integer_session_kv_bytes(s) * s->n_ctx : s->cache.bytes;
}
int64_t geodec_session_kv_bytes(const geodec_session *s)
{
    return s->engine ? geodec__integer_session_kv_bytes(s) : (s->cache.block + GEODEC__KEYS - 1) / GEODEC__KEYS;
}

static uint8_t *layer_of(const geodec_session *s, int64_t layer, int64_t block)
{
    return s->cache.data + block % s->cache.blocks * s->cache.block + s->cache.shape[layer].offset;
}

static uint8_t *keys_of(const geodec_session *s, int64_t layer, int64_t head, int64_t block)
{
    return layer_of(s, layer, block) + head * s->cache.shape[layer].k_step;
}

static uint8_t *values_of(const geodec_session *s, int64_t layer, int64_t head, int64_t block)
{
    return layer_of(s, layer, block) + s->cache.shape[layer].v + head * s->cache.shape[layer].v_step;
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

/* A group in four bits: byte i of [.. / 2] bytes `step` apart has elements 2i and 2i + 1. */
static void put_nibbles(const float *x, int64_t n, uint8_t *q, int64_t step, uint16_t *scale)
{
    float top = 0;
    for (int64_t i = 0; i < n; i++)
        if (fabsf(x[i]) > fabsf(top)) top = x[i];
    top = top > 1e38f ? 1e38f : top < -1e38f ? -1e38f : top;
    const bool zero = fabsf(top) < 1e-30f;
    *scale = zero ? 0 : geodec_f32_to_bf16(top / -8.0f);
    const float inverse = zero ? 0 : 1.0f / geodec_bf16_to_f32(*scale);
    for (int64_t i = 0; i < n; i++) {
        const float v = x[i] * inverse + 8.0f, above = v > 0.0f ? v : 0.0f, within = above < 15.0f ? above : 15.0f;
        const uint8_t bits = (uint8_t)(within + 12582912.0f - 12582912.0f);
        uint8_t *byte = q + i / 2 * step;
        *byte = (uint8_t)(i % 2 ? *byte | bits << 4 : bits);
    }
}

static float nibble(const uint8_t *q, int64_t i, int64_t step)
{
    return (float)(q[i / 2 * step] >> (i % 2 ? 4 : 0) & 15) - 8.0f;
}

/* x [dim] into elements `step` apart (Q4_0: pairs of them), scales `scale_step` apart. */
static void put(geodec_kv_type type, const float *x, int64_t dim, void *to, int64_t step, uint16_t *scale,
                int64_t scale_step)
{
    const int64_t part = type == GEODEC_KV_F16 ? PART : GEODEC__KV_GROUP;
    if (type == GEODEC_KV_F32) {
        for (int64_t d = 0; d < dim; d++) ((float *)to)[d * step] = x[d];
        return;
    }
    for (int64_t d = 0; d < dim; d += part) {
        const int64_t n = dim - d < part ? dim - d : part;
        if (type == GEODEC_KV_F16)
            put_halves(x + d, n, (uint16_t *)to + d * step, step);
        else if (type == GEODEC_KV_Q8_0)
            put_group(x + d, n, (int8_t *)to + d * step, step, scale + d / part * scale_step);
        else
            put_nibbles(x + d, n, (uint8_t *)to + d / 2 * step, step, scale + d / part * scale_step);
    }
}

/* What put stored, back to x [dim], whose places are x_step apart. */
static void get(geodec_kv_type type, const void *from, int64_t step, const uint16_t *scale, int64_t scale_step,
                int64_t dim, float *x, int64_t x_step)
{
    switch (type) {
    case GEODEC_KV_F32:
        for (int64_t d = 0; d < dim; d++) x[d * x_step] = ((const float *)from)[d * step];
        break;
    case GEODEC_KV_F16:
        for (int64_t d = 0; d < dim; d++) x[d * x_step] = geodec_f16_to_f32(((const uint16_t *)from)[d * step]);
        break;
    case GEODEC_KV_Q8_0:
        for (int64_t d = 0; d < dim; d++)
            x[d * x_step] =
                geodec_bf16_to_f32(scale[d / GEODEC__KV_GROUP * scale_step]) * (float)((const int8_t *)from)[d * step];
        break;
    case GEODEC_KV_Q4_0:
        for (int64_t d = 0; d < dim; d++)
            x[d * x_step] = geodec_bf16_to_f32(scale[d / GEODEC__KV_GROUP * scale_step]) * nibble(from, d, step);
        break;
    }
}

void geodec__cache_put_key(geodec_session *s, int64_t layer, int64_t head, int64_t row, const float *k)
{
    const int64_t lane = row % GEODEC__KEYS;
    uint8_t *piece = keys_of(s, layer, head, row / GEODEC__KEYS);
    put(s->kv, k, s->cache.shape[layer].k_dim, piece + lane * lane_bytes(s->kv), GEODEC__KEYS,
        (uint16_t *)(void *)(piece + s->cache.shape[layer].k_scale) + lane, GEODEC__KEYS);
}

void geodec__cache_put_value(geodec_session *s, int64_t layer, int64_t head, int64_t row, const float *v)
{
    const int64_t lane = row % GEODEC__KEYS, dim = s->cache.shape[layer].v_dim;
    uint8_t *piece = values_of(s, layer, head, row / GEODEC__KEYS);
    put(s->kv, v, dim, piece + lane * packed(s->kv, dim), 1,
        (uint16_t *)(void *)(piece + s->cache.shape[layer].v_scale) + lane * geodec__kv_groups(dim), 1);
}

void geodec__cache_put(geodec_session *s, int64_t layer, int64_t head, int64_t row, const float *k, const float *v)
{
    geodec__cache_put_key(s, layer, head, row, k);
    if (s->cache.shape[layer].v_heads > 0) geodec__cache_put_value(s, layer, head, row, v);
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

geodec__attend_keys geodec__cache_pieces(const geodec_session *s, int64_t layer, int64_t k_head, int64_t v_head,
                                         int64_t block)
{
    const bool apart = s->cache.shape[layer].v_heads > 0;
    const uint8_t *k = keys_of(s, layer, k_head, block), *v = apart ? values_of(s, layer, v_head, block) : NULL;
    return (geodec__attend_keys){.type = s->kv,
                                 .k = k,
                                 .v = v,
                                 .k_scale = (const void *)(k + s->cache.shape[layer].k_scale),
                                 .v_scale = apart ? (const void *)(v + s->cache.shape[layer].v_scale) : NULL,
                                 .k_dim = s->cache.shape[layer].k_dim,
                                 .v_dim = s->cache.shape[layer].v_dim,
                                 .ahead = s->cache.block};
}

void geodec__cache_decode_keys(const geodec_session *s, const geodec__attend_keys *keys, float *k)
{
    const int64_t dim = keys->k_dim;
    switch (keys->type) {
    case GEODEC_KV_F32:
        memcpy(k, keys->k, (size_t)(GEODEC__KEYS * dim) * sizeof *k);
        break;
    case GEODEC_KV_F16:
        s->kernels->decode_f16(keys->k, GEODEC__KEYS * dim, k);
        break;
    case GEODEC_KV_Q8_0:
        s->kernels->decode_q8_keys(keys->k, keys->k_scale, dim, k);
        break;
    case GEODEC_KV_Q4_0:
        for (int64_t lane = 0; lane < GEODEC__KEYS; lane++)
            get(keys->type, (const uint8_t *)keys->k + lane, GEODEC__KEYS, keys->k_scale + lane, GEODEC__KEYS, dim,
                k + lane, GEODEC__KEYS);
        break;
    }
}

void geodec__cache_decode_values(const geodec_session *s, const geodec__attend_keys *keys, int64_t rows, float *v)
{
    const int64_t dim = keys->v_dim, groups = geodec__kv_groups(dim);
    switch (keys->type) {
    case GEODEC_KV_F32:
        memcpy(v, keys->v, (size_t)(rows * dim) * sizeof *v);
        break;
    case GEODEC_KV_F16:
        s->kernels->decode_f16(keys->v, rows * dim, v);
        break;
    case GEODEC_KV_Q8_0:
        s->kernels->decode_q8_values(keys->v, keys->v_scale, dim, rows, v);
        break;
    case GEODEC_KV_Q4_0:
        for (int64_t r = 0; r < rows; r++)
            get(keys->type, (const uint8_t *)keys->v + r * packed(keys->type, dim), 1, keys->v_scale + r * groups, 1,
                dim, v + r * dim, 1);
        break;
    }
}

void geodec__cache_values_of_keys(const float *k, int64_t dim, int64_t rows, float *v)
{
    enum { SOME = 16 };
    for (int64_t r = 0; r < rows; r += SOME)
        for (int64_t d = 0; d < dim; d++)
            for (int64_t i = r; i < rows && i < r + SOME; i++) v[i * dim + d] = k[d * GEODEC__KEYS + i];
}

void geodec__cache_decode(const geodec_session *s, const geodec__attend_keys *keys, int64_t rows, float *k, float *v)
{
    geodec__cache_decode_keys(s, keys, k);
    if (keys->v)
        geodec__cache_decode_values(s, keys, rows, v);
    else
        geodec__cache_values_of_keys(k, keys->v_dim, rows, v);
}

void geodec__cache_key(const geodec_session *s, int64_t layer, int64_t head, int64_t row, float *k, int64_t step)
{
    const int64_t lane = row % GEODEC__KEYS;
    const uint8_t *piece = keys_of(s, layer, head, row / GEODEC__KEYS);
    get(s->kv, piece + lane * lane_bytes(s->kv), GEODEC__KEYS,
        (const uint16_t *)(const void *)(piece + s->cache.shape[layer].k_scale) + lane, GEODEC__KEYS,
        s->cache.shape[layer].k_dim, k, step);
}

void geodec__cache_value(const geodec_session *s, int64_t layer, int64_t head, int64_t row, float *v)
{
    const int64_t lane = row % GEODEC__KEYS, dim = s->cache.shape[layer].v_dim;
    if (s->cache.shape[layer].v_heads == 0) {
        const uint8_t *keys = keys_of(s, layer, head, row / GEODEC__KEYS);
        get(s->kv, keys + lane * lane_bytes(s->kv), GEODEC__KEYS,
            (const uint16_t *)(const void *)(keys + s->cache.shape[layer].k_scale) + lane, GEODEC__KEYS, dim, v, 1);
        return;
    }
    const uint8_t *piece = values_of(s, layer, head, row / GEODEC__KEYS);
    get(s->kv, piece + lane * packed(s->kv, dim), 1,
        (const uint16_t *)(const void *)(piece + s->cache.shape[layer].v_scale) + lane * geodec__kv_groups(dim), 1, dim,
        v, 1);
}

void geodec__cache_row(const geodec_session *s, int64_t layer, int64_t head, int64_t row, int64_t lane, float *k,
                       float *v)
{
    geodec__cache_key(s, layer, head, row, k + lane, GEODEC__KEYS);
    geodec__cache_value(s, layer, head, row, v + lane * s->cache.shape[layer].v_dim);
}

/* ---- moving and dropping ---------------------------------------------------------------------------------------- */

void geodec_session_truncate(geodec_session *s, int32_t length)
{
    if (length < 0 || length >= s->length) return;
    s->length = length;
    if (s->recur) geodec__recurrence_truncate(s, length, NULL, 0);
    if (s->engine) geodec_engine_truncate(s->engine, length);
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
    const int64_t source = from % GEODEC__KEYS, target = to % GEODEC__KEYS;
    for (int64_t layer = 0; layer < s->model->config.n_layer; layer++) {
        const geodec__cache_shape *a = &s->cache.shape[layer];
        if (s->cache.place[layer] < 0) continue;
        const int64_t size = packed(s->kv, a->v_dim), groups = 2 * geodec__kv_groups(a->v_dim);
        for (int64_t head = 0; head < a->k_heads; head++) {
            uint8_t *p = keys_of(s, layer, head, to / GEODEC__KEYS);
            const uint8_t *q = keys_of(s, layer, head, from / GEODEC__KEYS);
            move_lane(p, target, q, source, lane_rows(s->kv, a->k_dim), lane_bytes(s->kv));
            if (scaled(s->kv))
                move_lane(p + a->k_scale, target, q + a->k_scale, source, geodec__kv_groups(a->k_dim), 2);
        }
        for (int64_t head = 0; head < a->v_heads; head++) {
            uint8_t *p = values_of(s, layer, head, to / GEODEC__KEYS);
            const uint8_t *q = values_of(s, layer, head, from / GEODEC__KEYS);
            memmove(p + target * size, q + source * size, (size_t)size);
            if (scaled(s->kv))
                memmove(p + a->v_scale + target * groups, q + a->v_scale + source * groups, (size_t)groups);
        }
    }
}

/* Lane `lane` of [n][64] elements becomes zero. */
static void blank_lane(uint8_t *data, int64_t lane, int64_t n, int64_t bytes)
{
    for (int64_t i = 0; i < n; i++) memset(data + (i * GEODEC__KEYS + lane) * bytes, 0, (size_t)bytes);
}

static void blank_row(geodec_session *s, int64_t row)
{
    const int64_t lane = row % GEODEC__KEYS, block = row / GEODEC__KEYS;
    for (int64_t layer = 0; layer < s->model->config.n_layer; layer++) {
        const geodec__cache_shape *a = &s->cache.shape[layer];
        if (s->cache.place[layer] < 0) continue;
        const int64_t size = packed(s->kv, a->v_dim), groups = 2 * geodec__kv_groups(a->v_dim);
        for (int64_t head = 0; head < a->k_heads; head++) {
            uint8_t *p = keys_of(s, layer, head, block);
            blank_lane(p, lane, lane_rows(s->kv, a->k_dim), lane_bytes(s->kv));
            if (scaled(s->kv)) blank_lane(p + a->k_scale, lane, geodec__kv_groups(a->k_dim), 2);
        }
        for (int64_t head = 0; head < a->v_heads; head++) {
            uint8_t *p = values_of(s, layer, head, block);
            memset(p + lane * size, 0, (size_t)size);
            if (scaled(s->kv)) memset(p + a->v_scale + lane * groups, 0, (size_t)groups);
        }
    }
}

void geodec__cache_blank(geodec_session *s)
{
    for (int64_t row = s->length; row % GEODEC__KEYS != 0; row++) blank_row(s, row);
}

uint8_t *geodec__cache_layer(const geodec_session *s, int64_t layer, int64_t block)
{
    return layer_of(s, layer, block);
}

void geodec_session_compact(geodec_session *s, int32_t base, const int32_t *row, int32_t n)
{
    if (s->engine) geodec_engine_compact(s->engine, base, row, n);
    for (int32_t i = 0; i < n && !s->engine; i++)
        if (row[i] != i) move_row(s, (int64_t)base + row[i], (int64_t)base + i);
    if (s->recur) geodec__recurrence_truncate(s, base, row, n);
    s->length = base + n;
    if (s->foreseen) geodec__streamed_compacted(s, base, row, n);
    if (s->priced) geodec__streamed_price_compacted(s, base, row, n);
}
