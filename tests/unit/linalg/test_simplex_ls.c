/* Against the conditions of Karush, Kuhn and Tucker and against all faces, tried one by one. */
#include "linalg/chol.h"
#include "linalg/simplex_ls.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { K_MAX = 6, D_MAX = 5 };

/* The best over every face: the affine minimiser of each subset whose weights are not negative. */
static double by_faces(int k, int d, const double *rows, const double *target)
{
    double best = INFINITY;
    for (int mask = 1; mask < 1 << k; mask++) {
        int set[K_MAX], m = 0;
        double g[K_MAX * K_MAX], a[K_MAX], sum = 0, r = 0, size = 0;
        for (int i = 0; i < k; i++)
            if (mask >> i & 1) set[m++] = i;
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++) {
                g[i * m + j] = 0;
                for (int q = 0; q < d; q++)
                    g[i * m + j] += (rows[set[i] * d + q] - target[q]) * (rows[set[j] * d + q] - target[q]);
                size = fmax(size, fabs(g[i * m + j]));
            }
        for (int i = 0; i < m * m; i++) g[i] += size;
        for (int i = 0; i < m; i++) {
            g[i * m + i] += 1e-13 * size;
            a[i] = 1;
        }
        if (geodec_chol_factor(m, g, NULL) != GEODEC_OK) continue;
        geodec_chol_solve(m, g, 1, a);
        for (int i = 0; i < m; i++) sum += a[i];
        int bad = 0;
        for (int i = 0; i < m; i++) bad += a[i] / sum < -1e-12;
        if (bad) continue;
        for (int q = 0; q < d; q++) {
            double s = 0;
            for (int i = 0; i < m; i++) s += a[i] / sum * (rows[set[i] * d + q] - target[q]);
            r += s * s;
        }
        best = fmin(best, sqrt(r));
    }
    return best;
}

Test(simplex_ls, minimum_over_all_faces)
{
    uint64_t state = 1;
    for (int trial = 0; trial < 400; trial++) {
        geodec_err err = {0};
        double rows[K_MAX * D_MAX], target[D_MAX], w[K_MAX], residual, kkt, sum = 0;
        const int k = 1 + trial % K_MAX, d = 1 + trial / K_MAX % D_MAX;
        for (int i = 0; i < k * d + d; i++) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            *(i < k * d ? &rows[i] : &target[i - k * d]) = (double)(state >> 33) / 1073741824.0 - 1;
        }
        if (trial % 3 == 0) /* a target inside the hull: the residual is zero */
            for (int q = 0; q < d; q++) {
                target[q] = 0;
                for (int i = 0; i < k; i++) target[q] += rows[i * d + q] / k;
            }
        test_ok(geodec_simplex_ls(k, d, rows, target, w, &residual, &kkt, &err), &err);
        for (int i = 0; i < k; i++) {
            cr_assert_geq(w[i], 0);
            sum += w[i];
        }
        cr_assert_float_eq(sum, 1, 1e-12);
        cr_assert_leq(kkt, 1e-10);
        cr_assert_leq(residual, by_faces(k, d, rows, target) + 1e-6, "trial %d: %.3e, faces %.3e", trial, residual,
                      by_faces(k, d, rows, target));
    }
}

Test(simplex_ls, corners_and_repeats)
{
    geodec_err err = {0};
    const double rows[8] = {0, 0, 1, 0, 0, 1, 1, 0}, out[2] = {3, -1}, in[2] = {0.25, 0.5};
    double w[4], residual, kkt;
    test_ok(geodec_simplex_ls(4, 2, rows, out, w, &residual, &kkt, &err), &err);
    cr_assert_float_eq(w[1] + w[3], 1, 1e-12); /* the same point twice: any division of its weight */
    cr_assert_float_eq(residual, sqrt(5), 1e-12);
    test_ok(geodec_simplex_ls(3, 2, rows, in, w, &residual, &kkt, &err), &err);
    cr_assert_float_eq(w[0], 0.25, 1e-9);
    cr_assert_float_eq(w[1], 0.25, 1e-9);
    cr_assert_float_eq(w[2], 0.5, 1e-9);
    cr_assert_lt(residual, 1e-9);
    const double hole[2] = {NAN, 0};
    cr_assert_eq(geodec_simplex_ls(1, 2, hole, in, w, NULL, NULL, &err), GEODEC_NUMERIC);
    cr_assert_eq(geodec_simplex_ls(0, 2, rows, in, w, NULL, NULL, &err), GEODEC_RANGE);
    const double same[6] = {1, 1, 1, 1, 1, 1}, at[2] = {1, 1};
    test_ok(geodec_simplex_ls(3, 2, same, at, w, &residual, &kkt, &err), &err);
    cr_assert_eq(residual, 0);
}
