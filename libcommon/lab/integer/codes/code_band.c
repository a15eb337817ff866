/* Bands of VHT2 coefficients, in the order mu1 or in that of calibrated variance. The transform has the least length
 * that fits; the rest is filled with the mean. */
#include "base/mem.h"
#include "lab/integer/codes/band.h"
#include "lab/integer/codes/codes_internal.h"
#include "lab/integer/codes/mobius.h"
#include "lab/integer/codes/vht2.h"

#include <stdlib.h>

enum { PAD_MAX = 320 };

typedef struct bands {
    geodec_band_layout layout;
    int32_t order[PAD_MAX]; /* coefficient of each place */
} bands;

static geodec_band_layout layout_of(int32_t digits, int64_t dim)
{
    geodec_band_layout l = {.n = geodec_vht2_length(dim)};
    for (int32_t rest = digits; rest > 0; rest /= 10) l.bands++;
    for (int i = l.bands - 1; i >= 0; i--, digits /= 10) l.bits[i] = (uint8_t)(digits % 10);
    return l;
}

static int64_t band_bytes(int32_t digits, int64_t dim)
{
    const geodec_band_layout l = layout_of(digits, dim);
    return l.n >= l.bands ? geodec_band_bytes(&l) : 0;
}

static void transform(int64_t dim, int64_t pad, const float *x, float *c)
{
    double mean = 0;
    for (int64_t i = 0; i < dim; i++) mean += (double)x[i];
    for (int64_t i = 0; i < pad; i++) c[i] = i < dim ? x[i] : (float)(mean / (double)dim);
    geodec_vht2(c, pad);
}

static geodec_status mobius_create(geodec_codes *c, const geodec_codes_sample *sample, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bands *b = NULL;
    (void)sample;
    GEODEC_NEW(b, 1);
    c->tables = b;
    b->layout = layout_of(c->kind->parameter, c->dim);
    GEODEC_TRY(geodec_band_check(&b->layout, err));
    GEODEC_TRY(geodec_mobius_order(GEODEC_MOBIUS_MU1, b->layout.n, b->order, NULL, err));
done:
    return st;
}

typedef struct variance {
    double square;
    int32_t index;
} variance;

static int descending(const void *a, const void *b)
{
    const variance *x = a, *y = b;
    return x->square > y->square ? -1 : x->square < y->square ? 1 : x->index - y->index;
}

static geodec_status variance_create(geodec_codes *c, const geodec_codes_sample *sample, geodec_err *err)
{
    variance v[PAD_MAX];
    float coefficient[PAD_MAX];
    GEODEC_PASS(mobius_create(c, sample, err));
    bands *b = c->tables;
    for (int32_t i = 0; i < b->layout.n; i++) v[i] = (variance){0, i};
    for (int64_t k = 0; k < sample->n; k++) {
        transform(c->dim, b->layout.n, sample->x + k * c->dim, coefficient);
        for (int64_t i = 0; i < b->layout.n; i++) v[i].square += (double)coefficient[i] * (double)coefficient[i];
    }
    qsort(v, (size_t)b->layout.n, sizeof *v, descending);
    for (int64_t i = 0; i < b->layout.n; i++) b->order[i] = v[i].index;
    c->shared = b->layout.n * 2;
    return GEODEC_OK;
}

static void band_encode(const geodec_codes *c, const float *x, uint8_t *bytes)
{
    const bands *b = c->tables;
    float coefficient[PAD_MAX], sorted[PAD_MAX];
    transform(c->dim, b->layout.n, x, coefficient);
    for (int64_t i = 0; i < b->layout.n; i++) sorted[i] = coefficient[b->order[i]];
    geodec_band_encode(&b->layout, sorted, bytes);
}

static geodec_status band_decode(const geodec_codes *c, const uint8_t *bytes, float *x, geodec_err *err)
{
    const bands *b = c->tables;
    float coefficient[PAD_MAX], sorted[PAD_MAX];
    (void)err;
    geodec_band_decode(&b->layout, bytes, sorted);
    for (int64_t i = 0; i < b->layout.n; i++) coefficient[b->order[i]] = sorted[i];
    geodec_vht2(coefficient, b->layout.n);
    memcpy(x, coefficient, (size_t)c->dim * sizeof *x);
    return GEODEC_OK;
}

const geodec_codes_method geodec__codes_band = {1,           band_bytes, mobius_create, geodec_mem_free,
                                                band_encode, band_decode};
const geodec_codes_method geodec__codes_varied = {1,           band_bytes, variance_create, geodec_mem_free,
                                                  band_encode, band_decode};
