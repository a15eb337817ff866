/* Payloads of a .trit file and reading. */
#include "ternary/trit.h"

#include "base/crc32c.h"
#include "base/finite.h"
#include "base/mem.h"
#include "ternary/header_internal.h"

#include <math.h>

/* ---- payloads --------------------------------------------------------------------------------------------------- */

/* Rows and columns of gate, up and down. */
static int64_t rows_of(const geodec_trit_shape *s, int k) { return k < 2 ? s->f : s->d; }
static int64_t cols_of(const geodec_trit_shape *s, int k) { return k < 2 ? s->d : s->f; }

static int64_t matrix_bytes(const geodec_trit_shape *s, int k)
{
    return rows_of(s, k) * geodec_ternary_row_bytes(s->encoding, cols_of(s, k));
}

int64_t geodec_trit_payload_bytes(const geodec_trit_shape *s)
{
    int64_t n = GEODEC_TRIT_PREFIX;
    for (int k = 0; k < GEODEC_TRIT_MATRICES; k++)
        n += matrix_bytes(s, k) + (s->by_row ? rows_of(s, k) * (int64_t)sizeof(float) : 0);
    return n;
}

int64_t geodec_trit_stride(const geodec_trit_shape *s) { return geodec__header_pages(geodec_trit_payload_bytes(s)); }

geodec_status geodec_trit_shape_check(const geodec_trit_shape *s, geodec_err *err)
{
    if (s->layers < 1 || s->layers > GEODEC_TRIT_LAYERS)
        GEODEC_FAIL(GEODEC_LIMIT, "%d layers are outside 1 to %d", s->layers, GEODEC_TRIT_LAYERS);
    GEODEC_PASS(geodec_ternary_shape(s->encoding, s->f, s->d, err));
    GEODEC_PASS(geodec_ternary_shape(s->encoding, s->d, s->f, err));
    if ((int64_t)s->d * s->f > UINT32_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "matrices of %d x %d have 2^32 weights or more", s->f, s->d);
    return GEODEC_OK;
}

bool geodec_trit_same_shape(const geodec_trit_shape *a, const geodec_trit_shape *b)
{
    return a->layers == b->layers && a->d == b->d && a->f == b->f && a->encoding == b->encoding &&
           a->by_row == b->by_row && a->model == b->model;
}

void geodec_trit_matrices(const geodec_trit_shape *s, const uint8_t *payload,
                          geodec_ternary_matrix m[GEODEC_TRIT_MATRICES])
{
    const uint8_t *at = payload + GEODEC_TRIT_PREFIX;
    for (int k = 0; k < GEODEC_TRIT_MATRICES; k++, at += matrix_bytes(s, k - 1)) {
        m[k] =
            (geodec_ternary_matrix){.encoding = s->encoding, .rows = rows_of(s, k), .cols = cols_of(s, k), .data = at};
        memcpy(&m[k].scale, payload + GEODEC__PREFIX_SCALE + 4 * k, sizeof m[k].scale);
    }
    /* rows are multiples of 64 bytes, so that a float is aligned if the payload is */
    for (int k = 0; k < GEODEC_TRIT_MATRICES && s->by_row; k++, at += rows_of(s, k - 1) * (int64_t)sizeof(float))
        m[k].row_scale = (const float *)(const void *)at;
}

int32_t geodec_trit_payload_layer(const uint8_t *payload) { return geodec__header_u16(payload + GEODEC__PREFIX_LAYER); }
int32_t geodec_trit_payload_expert(const uint8_t *payload)
{
    return geodec__header_u16(payload + GEODEC__PREFIX_EXPERT);
}

static geodec_status put_matrix(const geodec_trit_shape *s, const geodec_ternary_matrix *m, int k, uint8_t *payload,
                                int64_t *at, geodec_err *err)
{
    int64_t nonzeros;
    if (m->encoding != s->encoding || m->rows != rows_of(s, k) || m->cols != cols_of(s, k) ||
        (s->by_row && !m->row_scale))
        GEODEC_FAIL(GEODEC_INVAL, "matrix %d is not that of the plan", k);
    GEODEC_PASS_MSG(geodec_ternary_check(m, &nonzeros, err), "matrix %d", k);
    const uint32_t count = (uint32_t)nonzeros;
    const float scale = s->by_row ? 0 : m->scale;
    if (!isfinite(scale) || (s->by_row && geodec_finite_first_not_f32(m->row_scale, m->rows) >= 0))
        GEODEC_FAIL(GEODEC_NUMERIC, "matrix %d has a scale that is not finite", k);
    memcpy(payload + *at, m->data, (size_t)matrix_bytes(s, k));
    *at += matrix_bytes(s, k);
    geodec__header_put(payload + GEODEC__PREFIX_SCALE + 4 * k, &scale, 4);
    geodec__header_put(payload + GEODEC__PREFIX_NONZEROS + 4 * k, &count, 4);
    return GEODEC_OK;
}

geodec_status geodec_trit_payload(const geodec_trit_shape *s, int32_t layer, int32_t expert,
                                  const geodec_ternary_matrix m[GEODEC_TRIT_MATRICES], uint8_t *payload,
                                  geodec_err *err)
{
    int64_t at = GEODEC_TRIT_PREFIX;
    if (layer < 0 || layer > GEODEC_TRIT_NUMBER || expert < 0 || expert > GEODEC_TRIT_NUMBER)
        GEODEC_FAIL(GEODEC_RANGE, "layer %d, expert %d: numbers are 0 to %d", layer, expert, GEODEC_TRIT_NUMBER);
    memset(payload, 0, GEODEC_TRIT_PREFIX);
    geodec__header_put(payload, "EXPB", 4);
    geodec__header_put(payload + GEODEC__PREFIX_LAYER, &layer, 2);
    geodec__header_put(payload + GEODEC__PREFIX_EXPERT, &expert, 2);
    for (int k = 0; k < GEODEC_TRIT_MATRICES; k++) GEODEC_PASS(put_matrix(s, &m[k], k, payload, &at, err));
    for (int k = 0; k < GEODEC_TRIT_MATRICES && s->by_row; k++) {
        memcpy(payload + at, m[k].row_scale, (size_t)m[k].rows * sizeof(float));
        at += m[k].rows * (int64_t)sizeof(float);
    }
    return GEODEC_OK;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* Blobs follow one another, so that none overlap. */
static geodec_status read_table(const geodec_regular *f, const geodec__header *h, const uint8_t *page, geodec_trit *t,
                                geodec_err *err)
{
    const uint8_t *p = page + GEODEC__HEADER_TABLE;
    if (h->file_bytes != h->header_bytes + h->shape.layers * h->stride)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: %d blobs of %lld bytes do not make a file of %lld", f->path, h->shape.layers,
                    (long long)h->stride, (long long)h->file_bytes);
    for (int32_t i = 0; i < h->shape.layers; i++, p += GEODEC__HEADER_TRIT) {
        const int64_t offset = geodec__header_i64(p), bytes = geodec__header_i64(p + 8);
        const uint32_t layer = geodec__header_u32(p + 16);
        if (offset != h->header_bytes + i * h->stride || bytes != t->payload_bytes)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: entry %d has %lld bytes at %lld", f->path, i, (long long)bytes,
                        (long long)offset);
        if (layer > GEODEC_TRIT_NUMBER || (i > 0 && (int32_t)layer <= t->entry[i - 1].layer))
            GEODEC_FAIL(GEODEC_FORMAT, "%s: entry %d: layers do not ascend", f->path, i);
        t->entry[i] = (geodec_trit_entry){offset, (int32_t)layer, geodec__header_u32(p + 20)};
    }
    return GEODEC_OK;
}

geodec_status geodec_trit_open(const char *path, geodec_trit *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_regular f = {.fd = -1};
    geodec__header h = {0};
    geodec_trit t = {.fd = -1};
    uint8_t *page = NULL;
    GEODEC_TRY(geodec_regular_open(path, &f, err));
    GEODEC_TRY(geodec__header_read(&f, &geodec__header_trit, &h, &page, err));
    t.shape = h.shape;
    t.expert = h.expert[0];
    t.payload_bytes = geodec_trit_payload_bytes(&h.shape);
    t.stride = h.stride;
    t.file_bytes = h.file_bytes;
    t.header_bytes = h.header_bytes;
    t.header_crc = geodec_crc32c(0, page, h.header_bytes);
    GEODEC_STRDUP(t.path, path);
    GEODEC_NEW(t.entry, h.shape.layers);
    GEODEC_TRY(read_table(&f, &h, page, &t, err));
    t.fd = f.fd;
    f.fd = -1;
    GEODEC_MOVE(*out, t);
    t.fd = -1;
done:
    geodec_mem_free(page);
    geodec_regular_close(&f);
    geodec_trit_close(&t);
    return st;
}

void geodec_trit_close(geodec_trit *t)
{
    geodec_regular f = {.fd = t->path ? t->fd : -1};
    geodec_regular_close(&f);
    GEODEC_FREE(t->path, t->entry);
    *t = (geodec_trit){.fd = -1};
}

geodec_status geodec_trit_expect(const geodec_trit *t, const geodec_trit_shape *s, int32_t expert, geodec_err *err)
{
    if (t->expert != expert) GEODEC_FAIL(GEODEC_CHECKSUM, "%s: has expert %d, not %d", t->path, t->expert, expert);
    if (t->shape.model != s->model)
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s: expert %d is of model %016llx, not %016llx", t->path, expert,
                    (unsigned long long)t->shape.model, (unsigned long long)s->model);
    if (!geodec_trit_same_shape(&t->shape, s))
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s: expert %d has another shape or encoding", t->path, expert);
    return GEODEC_OK;
}

const geodec_trit_entry *geodec_trit_find(const geodec_trit *t, int32_t layer)
{
    for (int32_t i = 0; i < t->shape.layers; i++)
        if (t->entry[i].layer == layer) return &t->entry[i];
    return NULL;
}

geodec_status geodec_trit_check(const geodec_trit_shape *s, int32_t layer, int32_t expert, const uint8_t *blob,
                                geodec_err *err)
{
    const int64_t payload = geodec_trit_payload_bytes(s);
    GEODEC_PASS(geodec__header_prefix(blob, layer, expert, err));
    if (!geodec__header_zeros(blob + payload, geodec__header_pages(payload) - payload))
        GEODEC_FAIL(GEODEC_CHECKSUM, "the bytes after the payload are not zero");
    if (s->by_row) {
        geodec_ternary_matrix m[GEODEC_TRIT_MATRICES];
        geodec_trit_matrices(s, blob, m);
        for (int k = 0; k < GEODEC_TRIT_MATRICES; k++)
            if (geodec_finite_first_not_f32(m[k].row_scale, m[k].rows) >= 0)
                GEODEC_FAIL(GEODEC_FORMAT, "matrix %d has a scale that is not finite", k);
    }
    return GEODEC_OK;
}

geodec_status geodec_trit_read(const geodec_trit *t, int32_t layer, uint8_t *blob, geodec_err *err)
{
    const geodec_regular f = {.path = t->path, .fd = t->fd, .size = t->file_bytes};
    const geodec_trit_entry *e = geodec_trit_find(t, layer);
    if (!e) GEODEC_FAIL(GEODEC_NOTFOUND, "%s: layer %d, expert %d: no such layer", t->path, layer, t->expert);
    for (int tries = 0; tries < 2; tries++) {
        GEODEC_PASS_MSG(geodec_regular_read(&f, e->offset, blob, t->stride, err), "layer %d, expert %d", layer,
                        t->expert);
        if (geodec_crc32c(0, blob, t->payload_bytes) != e->crc) continue;
        GEODEC_PASS_MSG(geodec_trit_check(&t->shape, layer, t->expert, blob, err), "%s: layer %d, expert %d", t->path,
                        layer, t->expert);
        return GEODEC_OK;
    }
    GEODEC_FAIL(GEODEC_CHECKSUM, "%s: layer %d, expert %d: the blob does not match its CRC-32C", t->path, layer,
                t->expert);
}

static geodec_status verify_blob(const geodec_trit *t, int32_t layer, uint8_t *blob, geodec_err *err)
{
    geodec_ternary_matrix m[GEODEC_TRIT_MATRICES];
    GEODEC_PASS(geodec_trit_read(t, layer, blob, err));
    geodec_trit_matrices(&t->shape, blob, m);
    for (int k = 0; k < GEODEC_TRIT_MATRICES; k++) {
        int64_t n;
        GEODEC_PASS_MSG(geodec_ternary_check(&m[k], &n, err), "%s: layer %d, expert %d: matrix %d", t->path, layer,
                        t->expert, k);
        const uint32_t stored = geodec__header_u32(blob + GEODEC__PREFIX_NONZEROS + 4 * k);
        if (n != stored)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: layer %d, expert %d: matrix %d has %lld nonzeros, not %u", t->path, layer,
                        t->expert, k, (long long)n, stored);
    }
    return GEODEC_OK;
}

geodec_status geodec_trit_verify(const char *path, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trit t = {.fd = -1};
    uint8_t *blob = NULL;
    GEODEC_TRY(geodec_trit_open(path, &t, err));
    GEODEC_NEW(blob, t.stride);
    for (int32_t i = 0; i < t.shape.layers; i++) {
        GEODEC_TRY(geodec_hooks_progress(hooks, "layers", i, t.shape.layers, err));
        GEODEC_TRY(verify_blob(&t, t.entry[i].layer, blob, err));
    }
done:
    geodec_mem_free(blob);
    geodec_trit_close(&t);
    return st;
}
