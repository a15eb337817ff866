#include "base/cpu_internal.h"
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/eig.h"
#include "linalg/expm.h"
#include "records/lookup_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* The stored queries of the reference (in its own metric at the query): index exact, distance 1e-8. */
Test(lookup, golden_queries)
{
    const char *file = test_shared("golden/ott/smollm2-135m_n8.h5");
    int64_t shape[8];
    double *points = test_h5(file, "/cloud/points", NULL, NULL), *q = test_h5(file, "/lookup/queries", shape, NULL),
           *g = test_h5(file, "/lookup/g_query", NULL, NULL), *index = test_h5(file, "/lookup/index", NULL, NULL),
           *distance = test_h5(file, "/lookup/gdist", NULL, NULL);
    geodec_lookup *l;
    geodec_err err = {0};
    test_ok(geodec_lookup_create(8, 8, points, NULL, &l, &err), &err);
    for (int64_t i = 0; i < shape[0]; i++) {
        geodec_lookup_hit hit;
        test_ok(geodec_lookup_nearest(l, q + i * 8, g + i * 64, &hit, &err), &err);
        cr_assert_eq(hit.index, (int64_t)index[i], "query %lld", (long long)i);
        cr_assert_float_eq(hit.distance, distance[i], 1e-8 * distance[i]);
    }
    geodec_lookup_destroy(l);
    geodec_mem_free(points);
    geodec_mem_free(q);
    geodec_mem_free(g);
    geodec_mem_free(index);
    geodec_mem_free(distance);
}

/* A random metric with condition number exp(2 spread). */
static void random_metric(int64_t n, double spread, geodec_rng *r, double *g)
{
    double a[64], top = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) a[i * n + j] = a[j * n + i] = geodec_rng_normal(r);
    for (int64_t i = 0; i < n * n; i++) top = fmax(top, fabs(a[i]));
    for (int64_t i = 0; i < n * n; i++) a[i] *= spread / top / (double)n;
    geodec_err err = {0};
    test_ok(geodec_expm_sym(n, a, g, &err), &err);
}

/* Two stages equal exhaustive search bit for bit: in the query's metric and in the records' own, for well and badly
 * conditioned metrics, near and far from the origin, with ties and duplicates; the plain screen does not. */
Test(lookup, two_stages_are_exact)
{
    enum { R = 400, N = 6, PACKED = N * (N + 1) / 2 };
    static double q[R * N];
    static float g[R * PACKED];
    int64_t missed = 0, evaluations = 0, searches = 0;
    for (int world = 0; world < 6; world++) {
        geodec_rng r = geodec_rng_stream(9, geodec_rng_id("lookup", (uint64_t)world));
        const double spread = world % 3 == 0 ? 0.5 : world % 3 == 1 ? 6 : 20, offset = world < 3 ? 0 : 3e4;
        for (int i = 0; i < R * N; i++) q[i] = offset + geodec_rng_normal(&r);
        for (int i = 0; i < 40 * N; i++) q[(R - 40) * N + i] = q[i]; /* duplicates: the lower index must win */
        for (int i = 0; i < R; i++) {
            double m[N * N], packed[PACKED];
            random_metric(N, spread, &r, m);
            geodec_sym_pack(N, m, packed);
            for (int k = 0; k < PACKED; k++) g[i * PACKED + k] = (float)packed[k];
        }
        memcpy(g + (R - 40) * PACKED, g, 40 * PACKED * sizeof *g);
        geodec_lookup *l;
        geodec_err err = {0};
        test_ok(geodec_lookup_create(R, N, q, g, &l, &err), &err);
        for (int t = 0; t < 300; t++) {
            double x[N], m[N * N];
            const double jitter = t % 3 == 0 ? 0 : t % 3 == 1 ? 0.3 : 5;
            for (int i = 0; i < N; i++) x[i] = q[(t * 7 % R) * N + i] + jitter * geodec_rng_normal(&r);
            random_metric(N, spread, &r, m);
            for (int own = 0; own < 2; own++) {
                geodec_lookup_hit two, all, screen;
                test_ok(geodec_lookup_nearest(l, x, own ? NULL : m, &two, &err), &err);
                test_ok(geodec_lookup_exhaustive(l, x, own ? NULL : m, &all, &err), &err);
                cr_assert_eq(two.index, all.index, "world %d query %d: %lld, exhaustive %lld", world, t,
                             (long long)two.index, (long long)all.index);
                cr_assert_eq(two.distance, all.distance);
                cr_assert_lt(two.index, R - 40);
                cr_assert_eq(all.evaluations, R);
                test_ok(geodec_lookup_screened(l, x, own ? NULL : m, 8, &screen, &err), &err);
                missed += screen.index != all.index;
                if (world % 3 == 0) evaluations += two.evaluations, searches++;
            }
        }
        geodec_lookup_destroy(l);
    }
    cr_assert_gt(missed, 0);                                       /* so the comparison can fail */
    cr_assert_lt((double)evaluations, 0.5 * R * (double)searches); /* and the bound does prune */
}

/* Every instruction set finds the same, one by one and in batches, with few records (float64 alone) and many, and
 * counts the same distances. */
Test(lookup, instruction_sets_agree)
{
    enum { R = 1000, QUERIES = 19 };
    const geodec__lookup_kernels *set[3] = {&geodec__lookup_scalar, NULL, geodec__lookup_best()};
#if defined(__x86_64__)
    if (geodec__cpu() & GEODEC__CPU_AVX2) set[1] = &geodec__lookup_avx2;
#endif
    for (int64_t n = 1; n <= 9; n++)
        for (int size = 0; size < 3; size++) {
            const int64_t records = size == 0 ? 1 : size == 1 ? 29 : R;
            static double q[R * 9], x[QUERIES * 9], g[QUERIES * 81];
            geodec_rng r = geodec_rng_stream(3, geodec_rng_id("lookup sets", (uint64_t)(n * 3 + size)));
            for (int64_t i = 0; i < records * n; i++) q[i] = geodec_rng_normal(&r);
            for (int64_t i = 0; i < QUERIES * n; i++) x[i] = geodec_rng_normal(&r);
            for (int64_t i = 0; i < QUERIES; i++) {
                double *m = g + i * n * n;
                for (int64_t k = 0; k < n * n; k++) m[k] = k % (n + 1) == 0 ? 2.0 * (double)n : 0;
                for (int64_t a = 0; a < n; a++)
                    for (int64_t b = 0; b < a; b++) m[a * n + b] = m[b * n + a] = geodec_rng_normal(&r);
            }
            geodec_lookup *l;
            geodec_err err = {0};
            test_ok(geodec_lookup_create(records, n, q, NULL, &l, &err), &err);
            geodec_lookup_hit want[QUERIES], got[QUERIES], all;
            for (int k = 0; k < 3; k++) {
                if (!set[k]) continue;
                l->kernels = set[k];
                test_ok(geodec_lookup_many(l, QUERIES, x, g, got, &err), &err);
                for (int64_t i = 0; i < QUERIES; i++) {
                    geodec_lookup_hit one;
                    test_ok(geodec_lookup_nearest(l, x + i * n, g + i * n * n, &one, &err), &err);
                    test_ok(geodec_lookup_exhaustive(l, x + i * n, g + i * n * n, &all, &err), &err);
                    if (k == 0) want[i] = one;
                    cr_assert(one.index == all.index && one.distance == all.distance, "%s n %lld", set[k]->name,
                              (long long)n);
                    cr_assert(got[i].index == one.index && got[i].distance == one.distance);
                    cr_assert(one.index == want[i].index && one.distance == want[i].distance &&
                              one.evaluations == want[i].evaluations);
                }
            }
            geodec_lookup_destroy(l);
        }
}

Test(lookup, refusals)
{
    const double q[4] = {0, 0, 1, 1}, bad_q[4] = {0, NAN, 1, 1};
    const float g[6] = {1, 0, 1, 1, 0, 1}, bad_g[6] = {1, 2, 1, 1, 0, 1};
    const double eye[4] = {1, 0, 0, 1}, indefinite[4] = {1, 2, 2, 1};
    geodec_lookup *l;
    geodec_lookup_hit hit;
    cr_assert_eq(geodec_lookup_create(2, 2, bad_q, g, &l, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_lookup_create(2, 2, q, bad_g, &l, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_lookup_create(0, 2, q, g, &l, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_lookup_create(2, 2, q, NULL, &l, NULL), GEODEC_OK);
    cr_assert_eq(geodec_lookup_nearest(l, q, NULL, &hit, NULL), GEODEC_INVAL);
    cr_assert_eq(geodec_lookup_nearest(l, q, indefinite, &hit, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_lookup_nearest(l, bad_q, eye, &hit, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_lookup_nearest(l, q + 2, eye, &hit, NULL), GEODEC_OK);
    cr_assert(hit.index == 1 && hit.distance == 0);
    geodec_lookup_destroy(l);
}

/* Many records and bad conditions (about 1e2, 1e4 and 1e6), where the rows of the factor bound the boxes: exact on
 * every instruction set, and all of them count the same distances. */
Test(lookup, badly_conditioned_metrics_are_searched_exactly)
{
    enum { R = 20000, QUERIES = 24 };
    static const double spreads[] = {1, 2, 3.5};
    const geodec__lookup_kernels *set[3] = {&geodec__lookup_scalar, NULL, geodec__lookup_best()};
#if defined(__x86_64__)
    if (geodec__cpu() & GEODEC__CPU_AVX2) set[1] = &geodec__lookup_avx2;
#endif
    double *q = geodec_mem_new(R * 8, sizeof *q);
    int64_t evaluations = 0;
    for (int64_t n = 7; n <= 8; n++)
        for (int s = 0; s < 3; s++) {
            const double offset = s == 1 ? 50 : 0;
            geodec_rng r = geodec_rng_stream(5, geodec_rng_id("lookup skewed", (uint64_t)(n * 3 + s)));
            for (int64_t i = 0; i < R * n; i++) q[i] = offset + geodec_rng_normal(&r);
            for (int64_t i = 0; i < 100 * n; i++) q[(R - 100) * n + i] = q[i]; /* the lower index must win */
            geodec_lookup *l;
            geodec_err err = {0};
            test_ok(geodec_lookup_create(R, n, q, NULL, &l, &err), &err);
            for (int t = 0; t < QUERIES; t++) {
                double x[8], m[64];
                const double jitter = t % 3 == 0 ? 0 : t % 3 == 1 ? 0.05 : 1.5;
                for (int64_t i = 0; i < n; i++) x[i] = q[t * 7 * n + i] + jitter * geodec_rng_normal(&r);
                random_metric(n, spreads[s] * (double)n, &r, m);
                geodec_lookup_hit all, got;
                test_ok(geodec_lookup_exhaustive(l, x, m, &all, &err), &err);
                int64_t counted = -1;
                for (int k = 0; k < 3; k++) {
                    if (!set[k]) continue;
                    l->kernels = set[k];
                    test_ok(geodec_lookup_nearest(l, x, m, &got, &err), &err);
                    cr_assert(got.index == all.index && got.distance == all.distance, "%s n %lld spread %g query %d",
                              set[k]->name, (long long)n, spreads[s], t);
                    cr_assert(counted < 0 || counted == got.evaluations);
                    counted = got.evaluations;
                }
                if (s < 2) evaluations += counted;
            }
            geodec_lookup_destroy(l);
        }
    geodec_mem_free(q);
    cr_assert_lt((double)evaluations / (4 * QUERIES), 100); /* and the bounds exclude most */
}

/* A metric of a given condition: random axes, eigenvalues spread evenly in the logarithm. */
static void conditioned_metric(int64_t n, double condition, geodec_rng *r, double *g)
{
    double a[64] = {0}, w[8], v[64];
    geodec_err err = {0};
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) a[i * n + j] = a[j * n + i] = geodec_rng_normal(r);
    test_ok(geodec_eig_sym(n, a, w, v, &err), &err);
    for (int64_t i = 0; i < n; i++) w[i] = pow(condition, (double)i / (double)(n - 1));
    geodec_eig_compose(n, w, v, g);
}

/* At conditions of 1 to 1e4, in the query's metric and in the records' own: the record of a plain loop over all, in
 * long double, which shares no code with the search. Euclid's nearest record is another one more and more often. */
Test(lookup, the_nearest_record_at_every_condition)
{
    enum { R = 3000, N = 8, PACKED = N * (N + 1) / 2, QUERIES = 40, CONDITIONS = 4 };
    static const double condition[CONDITIONS] = {1, 1e2, 1e3, 1e4};
    double *q = geodec_mem_new(R * N, sizeof *q);
    float *own = geodec_mem_new(R * PACKED, sizeof *own);
    int64_t euclid[CONDITIONS] = {0};
    for (int c = 0; c < CONDITIONS; c++) {
        geodec_rng r = geodec_rng_stream(17, geodec_rng_id("lookup condition", (uint64_t)c));
        geodec_lookup *l;
        geodec_err err = {0};
        double m[N * N], packed[PACKED], eye[N * N] = {0};
        for (int i = 0; i < N; i++) eye[i * N + i] = 1;
        for (int i = 0; i < R * N; i++) q[i] = geodec_rng_normal(&r);
        for (int i = 0; i < R; i++) {
            conditioned_metric(N, condition[c], &r, m);
            geodec_sym_pack(N, m, packed);
            for (int k = 0; k < PACKED; k++) own[i * PACKED + k] = (float)packed[k];
        }
        test_ok(geodec_lookup_create(R, N, q, own, &l, &err), &err);
        for (int t = 0; t < 2 * QUERIES; t++) {
            double x[N];
            geodec_lookup_hit hit, near;
            for (int i = 0; i < N; i++) x[i] = geodec_rng_normal(&r);
            conditioned_metric(N, condition[c], &r, m);
            long double best = INFINITY;
            int64_t nearest = -1;
            for (int i = 0; i < R; i++) {
                long double d2 = 0;
                for (int a = 0; a < N; a++)
                    for (int b = 0; b < N; b++) {
                        const int low = a < b ? a : b, high = a < b ? b : a;
                        const double g =
                            t % 2 ? (double)own[i * PACKED + low * (2 * N - low - 1) / 2 + high] : m[low * N + high];
                        d2 += (long double)(x[a] - q[i * N + a]) * g * (x[b] - q[i * N + b]);
                    }
                if (d2 < best) best = d2, nearest = i;
            }
            test_ok(geodec_lookup_nearest(l, x, t % 2 ? NULL : m, &hit, &err), &err);
            cr_assert_eq(hit.index, nearest, "condition %g query %d", condition[c], t);
            cr_assert_float_eq(hit.distance, sqrt((double)best), 1e-12 * condition[c] * hit.distance);
            test_ok(geodec_lookup_nearest(l, x, eye, &near, &err), &err);
            euclid[c] += near.index == nearest;
        }
        geodec_lookup_destroy(l);
    }
    cr_assert_eq(euclid[0], 2 * QUERIES); /* the identity */
    cr_assert(euclid[1] < QUERIES && euclid[3] < euclid[1], "%d %d", (int)euclid[1], (int)euclid[3]);
    geodec_mem_free(q);
    geodec_mem_free(own);
}

/* Queries are points where no path begins, in their order; all of them where as many are asked for. */
Test(lookup, trial_queries_are_no_anchors)
{
    enum { POINTS = 30, PATHS = 7 };
    geodec_err err = {0};
    double point[POINTS * 2], *x = NULL;
    int32_t begin[PATHS] = {3, 4, 11, 11, 20, 28, 29};
    for (int i = 0; i < POINTS; i++) point[2 * i] = i, point[2 * i + 1] = -i;
    const geodec_metric m = {.points = POINTS, .n = 2, .point = point};
    const geodec_propagators p = {.paths = {.paths = PATHS, .point = begin}};
    int64_t count, first[2] = {0};
    for (int seed = 1; seed <= 2; seed++)
        for (int64_t most = 5; most <= 100; most += 95) {
            test_ok(geodec_lookup_choose(&m, &p, most, (uint64_t)seed, &x, &count, &err), &err);
            cr_assert_eq(count, most < POINTS - 6 ? most : POINTS - 6); /* two paths begin at one point */
            for (int64_t i = 0; i < count; i++) {
                cr_assert(x[2 * i + 1] == -x[2 * i] && (i == 0 || x[2 * i] > x[2 * i - 2]));
                for (int k = 0; k < PATHS; k++) cr_assert_neq((int32_t)x[2 * i], begin[k]);
                if (most == 5) first[seed - 1] = 31 * first[seed - 1] + (int64_t)x[2 * i];
            }
            geodec_mem_free(x);
        }
    cr_assert_neq(first[0], first[1], "the seed chooses");
    begin[2] = POINTS;
    cr_assert_eq(geodec_lookup_choose(&m, &p, 5, 1, &x, &count, &err), GEODEC_FORMAT);
}
