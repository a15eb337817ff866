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
        for (int64_t t = 0; t < n; t++) {
            int64_t acc[GEODEC__PRODUCT_ROWS] = {0};
            for (int64_t b = 0; b < 2 * w->pairs; b++) {
                const uint8_t *codes = geodec__product_codes(w, panel, b);
                const int16_t *m = geodec__product_multipliers(w, panel, b), *v = x[t]->block[b].v;
                for (int r = 0; r < GEODEC__PRODUCT_ROWS; r++) {
                    int32_t sum = 0;
                    for (int c = 0; c < GEODEC_CODED_BLOCK; c++)
                        sum += geodec__product_get(codes, w->bits, r, c) * v[c];
                    acc[r] += (int64_t)sum * (m[r] * (1 << x[t]->block[b].up));
                }
            }
            geodec__product_finish(w, panel, x[t], acc, y[t]);
        }
    }
}

const geodec__product_ops geodec__product_scalar = {GEODEC_ISA_SCALAR, multiply};
