/* The published table of OneDecode. */
#include "base/rng.h"
#include "lab/published/onedecode.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

Test(published_onedecode, equals_the_formula)
{
    enum { V = 300, D = 9 };
    geodec_err err = {0};
    static float e[V * D];
    geodec_onedecode_published t, flat;
    int64_t same = 0;
    for (int i = 0; i < V * D; i++) e[i] = (float)(geodec_rng_uniform_at(2, 2, (uint64_t)i) - 0.5);
    test_ok(geodec_onedecode_published_bake(V, D, e, false, NULL, &t, &err), &err);
    test_ok(geodec_onedecode_published_bake(V, D, e, true, NULL, &flat, &err), &err);
    cr_assert_eq(t.n, V);
    cr_assert_eq(t.k, D);
    for (int64_t i = 0; i < V; i++) {
        cr_assert_eq(t.id[i], i);
        double best = -INFINITY, p2 = 0, q2 = 0, dot = 0;
        int64_t token = -1;
        for (int64_t c = 0; c < D; c++) { /* the flat endpoint lies radially outward */
            const double p = (double)flat.source[i * D + c], q = (double)flat.endpoint[i * D + c];
            p2 += p * p;
            q2 += q * q;
            dot += p * q;
        }
        cr_assert_gt(q2, p2);
        cr_assert_float_eq(dot, sqrt(p2 * q2), 1e-5);
        for (int64_t u = 0; u < V; u++) {
            double x = 0;
            for (int64_t c = 0; c < D; c++) x += (double)t.endpoint[i * D + c] * (double)t.source[u * D + c];
            if (x > best) {
                best = x;
                token = u;
            }
        }
        cr_assert_eq(t.token[i], token);
        same += t.token[i] == flat.token[i];
        /* A lookup of a token after itself uses its own direction. */
        const int32_t said = geodec_onedecode_published_after(&flat, (int32_t)i, (int32_t)i);
        cr_assert_eq(said, flat.token[i]);
    }
    cr_assert_gt(same, V / 2, "curvature is a correction");
    cr_assert_eq(geodec_onedecode_published_after(&t, 0, V), -1);
    cr_assert_eq(geodec_onedecode_published_after(&t, -1, 0), -1);
    geodec_onedecode_published_clear(&t);
    geodec_onedecode_published_clear(&flat);
    cr_assert_eq(geodec_onedecode_published_bake(20, D, e, false, NULL, &t, &err), GEODEC_SCARCE);
}
