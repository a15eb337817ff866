/* The published decode substitution on the goldens' clouds and splits: the two-stage lookup finds no farther point than
 * the coverage's Euclid-nearest, and all else follows from the distances. */
#include "base/mem.h"
#include "lab/published/substitution.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

static void substitution(const char *path)
{
    geodec_err err = {0};
    int64_t shape[8];
    double *point = test_h5(path, "/cloud/points", shape, NULL);
    const int64_t points = shape[0], n = shape[1];
    double *stored = test_h5(path, "/coverage/permutations", shape, NULL),
           *size = test_h5(path, "/coverage/cache_size", NULL, NULL),
           *mean = test_h5(path, "/coverage/mean_gdist_smooth2", NULL, NULL);
    const int64_t shares = shape[0], repeats = shape[1];
    int64_t *permutation = geodec_mem_new(points, sizeof *permutation);
    const geodec_harness_options o = geodec_harness_defaults();
    geodec_harness_manifold m = {0};
    geodec_substitution_published s;
    test_ok(geodec_harness_manifold_fit(points, n, point, &o, NULL, NULL, &m, &err), &err);
    for (int64_t f = 0; f < shares; f++) {
        double distance = 0;
        for (int64_t r = 0; r < repeats; r++) {
            for (int64_t i = 0; i < points; i++) permutation[i] = (int64_t)stored[(f * repeats + r) * points + i];
            test_ok(geodec_substitution_published_run(&m, (int64_t)size[f], permutation, 3, 0.4, &s, &err), &err);
            distance += s.distance / (double)repeats;
            cr_assert(s.correctable <= s.hit && s.steps == points - (int64_t)size[f]);
            cr_assert_float_eq(s.projected * (0.5 * (s.hit - s.correctable) + 1 - s.hit), 1, 1e-12);
            cr_assert_eq(s.correctable, 0); /* sqrt(k - 1) is far above 0.4 */
        }
        cr_assert(distance <= mean[f] * (1 + 1e-9) && distance > 0.5 * mean[f], "%g against %g", distance, mean[f]);
    }
    test_ok(geodec_substitution_published_run(&m, points / 4, permutation, 1e9, 1e9, &s, &err), &err);
    cr_assert(s.hit == 1 && s.correctable == 1);
    cr_assert_eq(geodec_substitution_published_run(&m, points, permutation, 3, 0.4, &s, NULL), GEODEC_RANGE);
    geodec_harness_manifold_clear(&m);
    geodec_mem_free(point);
    geodec_mem_free(stored);
    geodec_mem_free(size);
    geodec_mem_free(mean);
    geodec_mem_free(permutation);
}

Test(published_substitution, goldens) { goldens_each(substitution); }
