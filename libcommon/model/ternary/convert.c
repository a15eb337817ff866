#include "ternary/convert.h"

#include "base/f16.h"
#include "base/mem.h"
#include "gguf/gguf.h"
#include "gguf/trits_internal.h"

#include <math.h>

enum { QK = GEODEC__TRITS, Q4 = 32 };

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

/* Weights of a block as trits; false for a code beyond -1, 0, 1. */
typedef bool (*load_fn)(const uint8_t *p, int8_t *t);
typedef void (*store_fn)(const int8_t *t, uint8_t *p);

static bool load_tq1(const uint8_t *p, int8_t *t)
{
    for (int r = 0; r < 3; r++)
        for (int j = 0; j < geodec__trits_runs[r].bytes; j++) {
            int8_t *first = t + geodec__trits_runs[r].first + j;
            unsigned q = p[geodec__trits_runs[r].at + j];
            for (int k = 0; k < geodec__trits_runs[r].trits; k++, q = 3 * q & 255)
                first[k * geodec__trits_runs[r].bytes] = (int8_t)((int)(3 * q >> 8) - 1);
        }
    return true;
}

static bool load_tq2(const uint8_t *p, int8_t *t)
{
    int most = 0;
    for (int i = 0; i < QK; i++) {
        const int c = p[32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32) & 3;
        most = c > most ? c : most;
        t[i] = (int8_t)(c - 1);
    }
    return most < 3;
}

static bool load_q4(const uint8_t *p, int8_t *t)
{
    bool ternary = true;
    for (int i = 0; i < Q4; i++) {
        const int c = p[i % 16] >> 4 * (i / 16) & 15;
        ternary = ternary && c >= 7 && c <= 9;
        t[i] = (int8_t)(c - 8);
    }
    return ternary;
}

static void store_q4(const int8_t *t, uint8_t *p)
{
    for (int j = 0; j < Q4 / 2; j++) p[j] = (uint8_t)((t[j] + 8) | (t[j + 16] + 8) << 4);
}

typedef struct format {
    int type, block, bytes;
    int d, codes; /* offsets in a block */
    load_fn load;
    store_fn store;
} format;

static const format formats[] = {{GEODEC_GGML_TQ1_0, QK, GEODEC_GGML_BYTES_TQ1_0, 52, 0, load_tq1, geodec__trits_tq1_0},
                                 {GEODEC_GGML_TQ2_0, QK, GEODEC_GGML_BYTES_TQ2_0, 64, 0, load_tq2, geodec__trits_tq2_0},
                                 {GEODEC_GGML_Q4_0, Q4, GEODEC_GGML_BYTES_Q4_0, 0, 2, load_q4, store_q4}};

static geodec_status find_format(int type, int64_t cols, const format **out, geodec_err *err)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (formats[i].type != type) continue;
        if (cols % formats[i].block)
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "rows of %lld columns are not whole blocks of %d (%s)", (long long)cols,
                        formats[i].block, geodec_ggml_type_name(type));
        *out = &formats[i];
        return GEODEC_OK;
    }
    GEODEC_FAIL(GEODEC_UNSUPPORTED, "the type %s has no ternary weights", geodec_ggml_type_name(type));
}

/* ---- from and to rows ------------------------------------------------------------------------------------------- */

typedef struct scale_so_far {
    float d;
    bool known, weighs; /* a block was seen; one with weights */
} scale_so_far;

static geodec_status load_row(const format *f, const uint8_t *p, int64_t cols, int64_t o, int8_t *t, scale_so_far *s,
                              geodec_err *err)
{
    for (int64_t b = 0; b < cols / f->block; b++, p += f->bytes, t += f->block) {
        const float d = geodec_f16_to_f32((uint16_t)(p[f->d] | p[f->d + 1] << 8));
        bool weighs = false;
        if (!isfinite(d))
            GEODEC_FAIL(GEODEC_NUMERIC, "row %lld, block %lld: the scale is not finite", (long long)o, (long long)b);
        if (!f->load(p + f->codes, t))
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "row %lld, block %lld: a weight is not -1, 0 or 1 times the scale",
                        (long long)o, (long long)b);
        for (int i = 0; i < f->block; i++) {
            if (d == 0) t[i] = 0;
            weighs = weighs || t[i] != 0;
        }
        if (weighs && s->weighs && d != s->d)
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "row %lld, block %lld: the scale is %g, that of blocks before %g",
                        (long long)o, (long long)b, (double)d, (double)s->d);
        if (!s->known || (weighs && !s->weighs)) s->d = d;
        s->known = true;
        s->weighs = s->weighs || weighs;
    }
    return GEODEC_OK;
}

geodec_status geodec_ternary_from_gguf(int type, const void *src, int64_t rows, int64_t cols, int encoding, bool by_row,
                                       uint8_t *data, float *scale, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const format *f = NULL;
    const uint8_t *p = src;
    int8_t *t = NULL;
    scale_so_far s = {0};
    GEODEC_TRY(geodec_ternary_shape(encoding, rows, cols, err));
    GEODEC_TRY(find_format(type, cols, &f, err));
    GEODEC_NEW(t, cols);
    for (int64_t o = 0; o < rows; o++, p += cols / f->block * f->bytes) {
        if (by_row) s = (scale_so_far){0};
        GEODEC_TRY(load_row(f, p, cols, o, t, &s, err));
        geodec_ternary_pack(encoding, t, cols, data + o * geodec_ternary_row_bytes(encoding, cols));
        scale[by_row ? o : 0] = s.d;
    }
done:
    geodec_mem_free(t);
    return st;
}

geodec_status geodec_ternary_to_gguf(const geodec_ternary_matrix *m, int type, void *dst, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const format *f = NULL;
    const int64_t row = geodec_ternary_row_bytes(m->encoding, m->cols);
    uint8_t *p = dst;
    int8_t *t = NULL;
    GEODEC_TRY(geodec_ternary_shape(m->encoding, m->rows, m->cols, err));
    GEODEC_TRY(find_format(type, m->cols, &f, err));
    GEODEC_NEW(t, m->cols);
    for (int64_t o = 0; o < m->rows; o++) {
        const float s = m->row_scale ? m->row_scale[o] : m->scale;
        const uint16_t half = geodec_f32_to_f16(s);
        if (!isfinite(s) || geodec_f16_to_f32(half) != s)
            GEODEC_THROW(GEODEC_RANGE, "row %lld: the scale %g is no binary16 value", (long long)o, (double)s);
        geodec_ternary_unpack(m->encoding, m->data + o * row, m->cols, t);
        for (int64_t b = 0; b < m->cols / f->block; b++, p += f->bytes) {
            f->store(t + b * f->block, p + f->codes);
            p[f->d] = (uint8_t)(half & 255);
            p[f->d + 1] = (uint8_t)(half >> 8);
        }
    }
done:
    geodec_mem_free(t);
    return st;
}

geodec_status geodec_ternary_from_digits(const uint8_t *src, int64_t rows, int64_t cols, int encoding, uint8_t *data,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int8_t *t = NULL;
    const int64_t bytes = (cols + 4) / 5;
    GEODEC_TRY(geodec_ternary_shape(encoding, rows, cols, err));
    GEODEC_NEW(t, cols);
    for (int64_t o = 0; o < rows; o++, src += bytes) {
        for (int64_t i = 0; i < bytes; i++) {
            int v = src[i];
            if (v > 242)
                GEODEC_THROW(GEODEC_FORMAT, "row %lld: byte %lld (%d) is no five digits", (long long)o, (long long)i,
                             v);
            for (int64_t c = 5 * i; c < 5 * i + 5 && c < cols; c++, v /= 3) t[c] = (int8_t)(v % 3 - 1);
        }
        geodec_ternary_pack(encoding, t, cols, data + o * geodec_ternary_row_bytes(encoding, cols));
    }
done:
    geodec_mem_free(t);
    return st;
}
