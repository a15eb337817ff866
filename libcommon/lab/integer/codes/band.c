#include "lab/integer/codes/band.h"

#include "base/f16.h"
#include "lab/integer/codes/bits_internal.h"

#include <math.h>

geodec_status geodec_band_check(const geodec_band_layout *l, geodec_err *err)
{
    if (l->bands < 1 || l->bands > GEODEC_BAND_MAX || l->n < l->bands)
        GEODEC_FAIL(GEODEC_RANGE, "%d bands of %lld coefficients", l->bands, (long long)l->n);
    for (int i = 0; i < l->bands; i++)
        if (l->bits[i] < 2 || l->bits[i] > 8) GEODEC_FAIL(GEODEC_RANGE, "a band of %d bits", l->bits[i]);
    return GEODEC_OK;
}

static int64_t width(const geodec_band_layout *l, int band)
{
    const int64_t w = l->n / l->bands;
    return band == l->bands - 1 ? l->n - w * band : w;
}

static int64_t band_bytes(const geodec_band_layout *l, int band)
{
    return 2 + (width(l, band) * l->bits[band] + 7) / 8;
}

int64_t geodec_band_bytes(const geodec_band_layout *l)
{
    int64_t sum = 0;
    for (int i = 0; i < l->bands; i++) sum += band_bytes(l, i);
    return sum;
}

/* Nearest integer, halves away from zero, within -most .. most. */
static int nearest(double v, int most)
{
    const double size = v < 0 ? -v : v;
    const int q = size < (double)most ? (int)(size + 0.5) : most;
    return v < 0 ? -q : q;
}

void geodec_band_encode(const geodec_band_layout *l, const float *x, uint8_t *bytes)
{
    for (int i = 0; i < l->bands; i++) {
        const int64_t n = width(l, i);
        const int bits = l->bits[i], most = (1 << (bits - 1)) - 1;
        float top = 0;
        memset(bytes, 0, (size_t)band_bytes(l, i));
        for (int64_t k = 0; k < n; k++) top = fabsf(x[k]) > top ? fabsf(x[k]) : top;
        const float wanted = (float)((double)top / most);
        const uint16_t half = geodec_f32_to_f16(wanted < 65504.0f ? wanted : 65504.0f);
        const double scale = (double)geodec_f16_to_f32(half);
        geodec__bits_put16(bytes, half);
        for (int64_t k = 0; k < n; k++) {
            const int q = scale > 0 ? nearest((double)x[k] / scale, most) : 0;
            geodec__bits_put(bytes + 2, k * bits, bits, (uint32_t)(q + most));
        }
        bytes += band_bytes(l, i);
        x += n;
    }
}

void geodec_band_decode(const geodec_band_layout *l, const uint8_t *bytes, float *x)
{
    for (int i = 0; i < l->bands; i++) {
        const int64_t n = width(l, i);
        const int bits = l->bits[i], most = (1 << (bits - 1)) - 1;
        const float scale = geodec_f16_to_f32(geodec__bits_get16(bytes));
        for (int64_t k = 0; k < n; k++) x[k] = scale * (float)((int)geodec__bits_get(bytes + 2, k * bits, bits) - most);
        bytes += band_bytes(l, i);
        x += n;
    }
}
