#include "integer/engine/product_internal.h"

#include "integer/fixed/wide.h"
#include "kernels/isa_internal.h"

const geodec__product_ops *geodec__product_for(geodec_isa isa)
{
    if (!geodec_kernels_isa_available(isa)) return NULL;
#if defined(__x86_64__)
    const unsigned has = geodec__isa_cpu(isa);
    if (has & GEODEC__CPU_VNNI) return &geodec__product_vnni;
    if (has & GEODEC__CPU_AVX2) return &geodec__product_avx2;
#endif
    return &geodec__product_scalar;
}

void geodec__product_finish(const geodec_panels16 *w, int64_t panel, const geodec_rounded *x,
                            const int64_t acc[GEODEC__PRODUCT_ROWS], int64_t *y)
{
    const int64_t first = panel * GEODEC__PRODUCT_ROWS, left = w->rows - first;
    const int64_t count = left < GEODEC__PRODUCT_ROWS ? left : GEODEC__PRODUCT_ROWS;
    const int base = x->exponent + GEODEC_ROUNDED_SHIFT - GEODEC__PRODUCT_UNIT;
    for (int64_t i = 0; i < count; i++) y[first + i] = geodec_wide_shift(acc[i], base + w->shift[first + i]);
}

void geodec__product_sums(const geodec__product_ops *ops, const geodec_panels16 *w, int64_t begin, int64_t end,
                          const geodec_rounded *const *x, int64_t n, int64_t *const *acc)
{
    enum { TILE = 16 };
    int32_t none[GEODEC__PRODUCT_ROWS] = {0};
    for (int64_t panel = begin; panel < end; panel++) {
        const int64_t first = panel * GEODEC__PRODUCT_ROWS, left = w->rows - first;
        geodec_panels16 one = *w;
        one.rows = left < GEODEC__PRODUCT_ROWS ? left : GEODEC__PRODUCT_ROWS;
        one.data += panel * w->pairs * w->record;
        one.shift = none;
        for (int64_t t = 0; t < n; t += TILE) {
            const int64_t count = n - t < TILE ? n - t : TILE;
            geodec_rounded in[TILE];
            const geodec_rounded *list[TILE];
            int64_t *y[TILE];
            for (int64_t i = 0; i < count; i++) {
                in[i] = *x[t + i];
                in[i].exponent = GEODEC__PRODUCT_UNIT - GEODEC_ROUNDED_SHIFT; /* so that s = 0 */
                list[i] = &in[i];
                y[i] = acc[t + i] + first;
            }
            ops->multiply(&one, 0, 1, list, count, y);
        }
    }
}

void geodec__product_wide(const geodec_panels16 *w, int64_t begin, int64_t end, const geodec_rounded *const *x,
                          int64_t n, int64_t *const *y)
{
    for (int64_t panel = begin; panel < end; panel++) {
        for (int64_t t = 0; t < n; t++) {
            int64_t acc[GEODEC__PRODUCT_ROWS] = {0};
            for (int64_t b = 0; b < 2 * w->pairs; b++) {
                const int16_t *code = (const int16_t *)(const void *)geodec__product_codes(w, panel, b);
                const int16_t *m = geodec__product_multipliers(w, panel, b), *v = x[t]->block[b].v;
                for (int r = 0; r < GEODEC__PRODUCT_ROWS; r++) {
                    const int16_t *c = code + r * GEODEC_CODED_BLOCK;
                    int64_t sum = 0;
                    for (int i = 0; i < GEODEC_CODED_BLOCK; i++) sum += (int64_t)((int32_t)c[i] * v[i]);
                    acc[r] += sum * (m[r] * (1 << x[t]->block[b].up));
                }
            }
            geodec__product_finish(w, panel, x[t], acc, y[t]);
        }
    }
}
