#include "lab/integer/codes/block_h63.h"

#include "base/f16.h"
#include "base/mem.h"
#include "lab/integer/codes/bits_internal.h"
#include "lab/integer/codes/mobius.h"
#include "lab/integer/codes/vht2.h"
#include "linalg/chol.h"

#include <math.h>

enum { DIM = 128, PAD = 154, SKELETON = 14, PAD_MAX = 320, LEVELS = 7, HALF_LEVELS = 4, HEADER = 16, VERSION = 1 };

geodec_status geodec_block_h63_create(int64_t dim, geodec_block_h63_reading reading, geodec_block_h63 *out,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_block_h63 h = {.dim = (int32_t)dim, .reading = reading};
    if (dim < 8 || dim > GEODEC_BLOCK_H63_DIM_MAX || (unsigned)reading >= GEODEC_BLOCK_H63_READINGS)
        GEODEC_THROW(GEODEC_RANGE, "H63 blocks of %lld values, reading %d", (long long)dim, (int)reading);
    h.pad = (int32_t)geodec_vht2_length((PAD * dim + DIM - 1) / DIM);
    h.n_skeleton = (int32_t)((SKELETON * dim + DIM / 2) / DIM);
    GEODEC_NEW_EACH(h.pad, h.skeleton, h.residual);
    for (int32_t i = 0, k = 0; i < h.pad; i++) {
        if (geodec_mobius((uint64_t)i + 1) == 0)
            h.residual[h.n_residual++] = i;
        else if (k < h.n_skeleton)
            h.skeleton[k++] = i;
    }
    GEODEC_NEW(h.w, (int64_t)h.n_residual * h.n_skeleton);
    GEODEC_MOVE(*out, h);
done:
    geodec_block_h63_clear(&h);
    return st;
}

void geodec_block_h63_clear(geodec_block_h63 *h)
{
    GEODEC_FREE(h->skeleton, h->residual, h->w);
    memset(h, 0, sizeof *h);
}

/* ---- calibration ------------------------------------------------------------------------------------------------ */

/* The squarefree indices with the largest mean squares, ascending; the lower one of equals. */
static void choose(geodec_block_h63 *h, const double *square)
{
    bool kept[PAD_MAX] = {false};
    for (int32_t k = 0; k < h->n_skeleton; k++) {
        int32_t best = -1;
        for (int32_t i = 0; i < h->pad; i++)
            if (!kept[i] && geodec_mobius((uint64_t)i + 1) != 0 && (best < 0 || square[i] > square[best])) best = i;
        kept[best] = true;
    }
    for (int32_t i = 0, k = 0; i < h->pad; i++)
        if (kept[i]) h->skeleton[k++] = i;
}

geodec_status geodec_block_h63_fit(geodec_block_h63 *h, int64_t n, const float *x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t s = h->n_skeleton, r = h->n_residual, pad = h->pad;
    float *c = NULL;
    double *square = NULL, *xx = NULL, *xy = NULL;
    if (n < 1) GEODEC_THROW(GEODEC_SCARCE, "no vectors to calibrate H63 blocks with");
    GEODEC_NEW(c, n * pad);
    GEODEC_NEW(square, pad);
    GEODEC_NEW(xx, s * s);
    GEODEC_NEW(xy, r * s);
    for (int64_t i = 0; i < n; i++) {
        geodec_block_h63_transform(h, x + i * h->dim, c + i * pad);
        for (int64_t k = 0; k < pad; k++) square[k] += (double)c[i * pad + k] * (double)c[i * pad + k];
    }
    choose(h, square);
    for (int64_t i = 0; i < n; i++)
        for (int64_t a = 0; a < s; a++) {
            const double v = (double)c[i * pad + h->skeleton[a]];
            for (int64_t b = 0; b < s; b++) xx[a * s + b] += v * (double)c[i * pad + h->skeleton[b]];
            for (int64_t b = 0; b < r; b++) xy[b * s + a] += v * (double)c[i * pad + h->residual[b]];
        }
    for (int64_t a = 0; a < s; a++) xx[a * s + a] += 1e-4 * (double)n;
    GEODEC_TRY_MSG(geodec_chol_factor(s, xx, err), "calibration of H63 blocks");
    geodec_chol_solve(s, xx, r, xy);
    for (int64_t i = 0; i < r * s; i++) h->w[i] = geodec_f32_to_f16((float)xy[i]);
done:
    GEODEC_FREE(c, square, xx, xy);
    return st;
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

static int64_t levels_at(const geodec_block_h63 *h) { return 2 * (int64_t)h->n_skeleton; }
static int64_t phases_at(const geodec_block_h63 *h) { return levels_at(h) + (3 * (int64_t)h->n_residual + 7) / 8; }
static int64_t amax_at(const geodec_block_h63 *h) { return phases_at(h) + (h->n_residual + 7) / 8; }
int64_t geodec_block_h63_bytes(const geodec_block_h63 *h) { return amax_at(h) + 4; }

void geodec_block_h63_transform(const geodec_block_h63 *h, const float *x, float *coefficient)
{
    double mean = 0;
    for (int32_t i = 0; i < h->dim; i++) mean += (double)x[i];
    memcpy(coefficient, x, (size_t)h->dim * sizeof *x);
    for (int32_t i = h->dim; i < h->pad; i++) coefficient[i] = (float)(mean / h->dim);
    geodec_vht2(coefficient, h->pad);
}

void geodec_block_h63_restore(const geodec_block_h63 *h, const float *coefficient, float *x)
{
    float c[PAD_MAX];
    memcpy(c, coefficient, (size_t)h->pad * sizeof *c);
    geodec_vht2(c, h->pad);
    memcpy(x, c, (size_t)h->dim * sizeof *c);
}

static void predict(const geodec_block_h63 *h, const uint8_t *block, double *prediction)
{
    double s[PAD_MAX];
    for (int32_t i = 0; i < h->n_skeleton; i++) s[i] = (double)geodec_f16_to_f32(geodec__bits_get16(block + 2 * i));
    for (int32_t r = 0; r < h->n_residual; r++) {
        const uint16_t *w = h->w + (int64_t)r * h->n_skeleton;
        prediction[r] = 0;
        for (int32_t i = 0; i < h->n_skeleton; i++) prediction[r] += (double)geodec_f16_to_f32(w[i]) * s[i];
    }
}

/* Level and phase of coefficient c. */
static int level_of(const geodec_block_h63 *h, double c, double prediction, double amax, bool *phase)
{
    if (h->reading == GEODEC_BLOCK_H63_MAGNITUDE) {
        const double d = c - prediction;
        const int level = amax > 0 ? (int)(fabs(d) / amax * LEVELS + 0.5) : 0;
        *phase = d < 0 && level > 0;
        return level < LEVELS ? level : LEVELS;
    }
    *phase = fabs(c + prediction) < fabs(c - prediction);
    const double d = c - (*phase ? -prediction : prediction), step = 6 * amax / (LEVELS + 1);
    const double at = step > 0 ? floor(d / step) + HALF_LEVELS : HALF_LEVELS;
    return at < 0 ? 0 : at > LEVELS ? LEVELS : (int)at;
}

void geodec_block_h63_encode(const geodec_block_h63 *h, const float *coefficient, uint8_t *block)
{
    double prediction[PAD_MAX], top = 0, sum = 0;
    memset(block, 0, (size_t)geodec_block_h63_bytes(h));
    for (int32_t i = 0; i < h->n_skeleton; i++) {
        const float c = coefficient[h->skeleton[i]];
        geodec__bits_put16(block + 2 * i, geodec_f32_to_f16(c > 65504.0f ? 65504.0f : c < -65504.0f ? -65504.0f : c));
    }
    predict(h, block, prediction);
    for (int32_t r = 0; r < h->n_residual; r++) {
        const double c = (double)coefficient[h->residual[r]], d = fabs(c - prediction[r]), e = fabs(c + prediction[r]);
        top = d > top ? d : top;
        sum += d < e ? d : e;
    }
    const float amax = (float)(h->reading == GEODEC_BLOCK_H63_MAGNITUDE ? top
                               : h->n_residual > 0                      ? sum / h->n_residual
                                                                        : 0);
    geodec__bits_put_f32(block + amax_at(h), amax);
    for (int32_t r = 0; r < h->n_residual; r++) {
        bool phase;
        const int level = level_of(h, (double)coefficient[h->residual[r]], prediction[r], (double)amax, &phase);
        geodec__bits_put(block + levels_at(h), 3 * (int64_t)r, 3, (uint32_t)level);
        geodec__bits_put(block + phases_at(h), r, 1, phase);
    }
}

void geodec_block_h63_decode(const geodec_block_h63 *h, const uint8_t *block, double *coefficient)
{
    double prediction[PAD_MAX];
    const double amax = (double)geodec__bits_get_f32(block + amax_at(h));
    predict(h, block, prediction);
    for (int32_t i = 0; i < h->pad; i++) coefficient[i] = 0;
    for (int32_t i = 0; i < h->n_skeleton; i++)
        coefficient[h->skeleton[i]] = (double)geodec_f16_to_f32(geodec__bits_get16(block + 2 * i));
    for (int32_t r = 0; r < h->n_residual; r++) {
        const double level = (double)geodec__bits_get(block + levels_at(h), 3 * (int64_t)r, 3);
        const bool phase = geodec__bits_get(block + phases_at(h), r, 1);
        if (h->reading == GEODEC_BLOCK_H63_MAGNITUDE)
            coefficient[h->residual[r]] = prediction[r] + (phase ? -1 : 1) * level * amax / LEVELS;
        else
            coefficient[h->residual[r]] =
                (phase ? -prediction[r] : prediction[r]) + (level - HALF_LEVELS + 0.5) * 6 * amax / (LEVELS + 1);
    }
}

/* ---- header ----------------------------------------------------------------------------------------------------- */

int64_t geodec_block_h63_header_bytes(const geodec_block_h63 *h)
{
    return HEADER + 2 * ((int64_t)h->n_skeleton + h->n_residual + (int64_t)h->n_residual * h->n_skeleton);
}

void geodec_block_h63_header_write(const geodec_block_h63 *h, uint8_t *to)
{
    const uint8_t head[8] = {'G', 'H', '6', '3', VERSION, (uint8_t)h->reading, GEODEC_MOBIUS_MU1, 0};
    memcpy(to, head, sizeof head);
    const int32_t size[] = {h->dim, h->pad, h->n_skeleton, h->n_residual};
    for (int i = 0; i < 4; i++) geodec__bits_put16(to + 8 + 2 * i, (uint16_t)size[i]);
    to += HEADER;
    for (int32_t i = 0; i < h->n_skeleton; i++, to += 2) geodec__bits_put16(to, (uint16_t)h->skeleton[i]);
    for (int32_t i = 0; i < h->n_residual; i++, to += 2) geodec__bits_put16(to, (uint16_t)h->residual[i]);
    for (int64_t i = 0; i < (int64_t)h->n_residual * h->n_skeleton; i++, to += 2) geodec__bits_put16(to, h->w[i]);
}

/* n ascending indices below pad. */
static geodec_status read_list(const uint8_t *from, int32_t n, int32_t pad, int32_t *to, geodec_err *err)
{
    for (int32_t i = 0; i < n; i++) {
        to[i] = geodec__bits_get16(from + 2 * i);
        if (to[i] >= pad || (i > 0 && to[i] <= to[i - 1]))
            GEODEC_FAIL(GEODEC_FORMAT, "header of H63 blocks: index %d of %d coefficients", to[i], pad);
    }
    return GEODEC_OK;
}

geodec_status geodec_block_h63_header_read(const uint8_t *from, int64_t n, geodec_block_h63 *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_block_h63 h = {0};
    if (n < HEADER || memcmp(from, "GH63", 4) != 0 || from[4] != VERSION || from[7] != 0)
        GEODEC_THROW(GEODEC_FORMAT, "not a header of H63 blocks of version %d", VERSION);
    if (from[5] >= GEODEC_BLOCK_H63_READINGS || from[6] != GEODEC_MOBIUS_MU1)
        GEODEC_THROW(GEODEC_FORMAT, "H63 blocks of reading %d and order %d", from[5], from[6]);
    GEODEC_TRY_MSG(geodec_block_h63_create(geodec__bits_get16(from + 8), (geodec_block_h63_reading)from[5], &h, err),
                   "header of H63 blocks");
    const int32_t size[] = {h.dim, h.pad, h.n_skeleton, h.n_residual};
    for (int i = 0; i < 4; i++)
        if (geodec__bits_get16(from + 8 + 2 * i) != size[i])
            GEODEC_THROW(GEODEC_FORMAT, "header of H63 blocks: sizes that do not belong to %d values", h.dim);
    if (n != geodec_block_h63_header_bytes(&h))
        GEODEC_THROW(GEODEC_FORMAT, "header of H63 blocks: %lld bytes, not %lld", (long long)n,
                     (long long)geodec_block_h63_header_bytes(&h));
    from += HEADER;
    GEODEC_TRY(read_list(from, h.n_skeleton, h.pad, h.skeleton, err));
    from += 2 * (int64_t)h.n_skeleton;
    GEODEC_TRY(read_list(from, h.n_residual, h.pad, h.residual, err));
    from += 2 * (int64_t)h.n_residual;
    for (int64_t i = 0; i < (int64_t)h.n_residual * h.n_skeleton; i++) {
        h.w[i] = geodec__bits_get16(from + 2 * i);
        if ((h.w[i] & 0x7c00) == 0x7c00) GEODEC_THROW(GEODEC_FORMAT, "header of H63 blocks: a weight is not finite");
    }
    GEODEC_MOVE(*out, h);
done:
    geodec_block_h63_clear(&h);
    return st;
}
