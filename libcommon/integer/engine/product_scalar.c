/* The reference: one product after the other. */
#include "integer/engine/product_internal.h"

static void multiply(const geodec_panels16 *w, int64_t begin, int64_t end, const geodec_rounded *const *x, int64_t n,
                     int64_t *const *y)
{
    if (w->bits == 16) {
        geodec__product_wide(w, begin, end, x, n, y);
        return;
    }
    for (int64_t panel = begin; panel < end; panel++) {
        const int16_t *m = w->multiplier + panel * w->blocks * GEODEC__PRODUCT_ROWS;
        for (int64_t t = 0; t < n; t++) {
            int64_t acc[GEODEC__PRODUCT_ROWS] = {0};
            for (int64_t b = 0; b < w->blocks; b++) {
                const uint8_t *record = w->code + (panel * w->blocks + b) * w->record;
                const int16_t *v = x[t]->v + b * GEODEC_CODED_BLOCK;
                for (int r = 0; r < GEODEC__PRODUCT_ROWS; r++) {
                    int32_t sum = 0;
                    for (int c = 0; c < GEODEC_CODED_BLOCK; c++)
                        sum += geodec__product_get(record, w->bits, r, c) * v[c];
                    acc[r] += (int64_t)sum * (m[b * GEODEC__PRODUCT_ROWS + r] * (1 << x[t]->up[b]));
                }
            }
            geodec__product_finish(w, panel, x[t], acc, y[t]);
        }
    }
}

const geodec__product_ops geodec__product_scalar = {GEODEC_ISA_SCALAR, multiply};
