/* Rotary position embedding (Su et al. 2021). */
#include "base/mem.h"
#include "reference/ops_internal.h"

#include <math.h>

geodec_status geodec__reference_angles_create(const geodec_model_config *c, int table, const float *divisor, int64_t n,
                                              geodec__ref_angles *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__ref_angles a = {.n = n, .pairs = c->rope_dim / 2};
    const double base = table == 1 ? c->rope_base_local : c->rope_base;
    const double scale = table == 0 && c->rope_scale != 0 ? c->rope_scale : 1;
    const double magnitude = c->rope_magnitude != 0 ? (double)c->rope_magnitude : 1;
    GEODEC_NEW(a.cosine, n * a.pairs);
    GEODEC_NEW(a.sine, n * a.pairs);
    for (int64_t i = 0; i < a.pairs; i++) {
        double step = scale * pow(base, -2.0 * (double)i / (double)c->rope_dim);
        if (divisor) step /= (double)divisor[i];
        for (int64_t p = 0; p < n; p++) {
            a.cosine[p * a.pairs + i] = magnitude * cos((double)p * step);
            a.sine[p * a.pairs + i] = magnitude * sin((double)p * step);
        }
    }
    *out = a;
    a = (geodec__ref_angles){0};
done:
    geodec__reference_angles_destroy(&a);
    return st;
}

void geodec__reference_angles_destroy(geodec__ref_angles *a)
{
    geodec_mem_free(a->cosine);
    geodec_mem_free(a->sine);
    *a = (geodec__ref_angles){0};
}

void geodec__reference_rotate(const geodec_model_config *c, const geodec__ref_angles *a, int64_t first, int64_t k,
                              int64_t heads, bool transpose, double *x)
{
    const bool halves = c->rope_pairs == GEODEC_ROPE_HALVES;
    const double sign = transpose ? -1 : 1;
    for (int64_t row = 0; row < k * (a->n - first); row++) {
        const int64_t position = first + row % (a->n - first);
        const double *cosine = a->cosine + position * a->pairs, *sine = a->sine + position * a->pairs;
        for (int64_t h = 0; h < heads; h++, x += c->head_dim)
            for (int64_t i = 0; i < a->pairs; i++) {
                double *one = x + (halves ? i : 2 * i), *two = x + (halves ? i + a->pairs : 2 * i + 1);
                const double u = *one, v = *two, s = sign * sine[i];
                *one = u * cosine[i] - v * s;
                *two = u * s + v * cosine[i];
            }
    }
}
