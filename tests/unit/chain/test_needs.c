#include "chain/cloud_needs.h"
#include "chain/field_needs.h"
#include "chain/metric_needs.h"
#include "chain/metric_space.h"
#include "linalg/knn_pilot.h"

#include <criterion/criterion.h>
#include <string.h>

/* The metric of N points in n dimensions with k neighbours, by hand. */
Test(needs, bytes_of_a_metric)
{
    enum { N = 100000, DIM = 8, NEAR = 16, K = 17 };
    const double points = 8.0 * DIM, tables = points + 12.0 * NEAR + 20, read = N * (8.0 * K + 20) + N * points;
    const double matrix = 8 * 36 + 20, slab = (double)((32 << 20) / (8 * 36)) * matrix;
    const double search = geodec_knn_bytes(N, DIM, 0, NEAR, 2) + 8.0 * N;
    const double larger = search > (slab < N * matrix ? slab : N * matrix) ? search
                          : slab < N * matrix                              ? slab
                                                                           : N * matrix;
    const double wanted = 20.0 * N + N * (2 * points + 2 * tables) + larger;
    cr_assert_eq(geodec_metric_bytes(N, K, N, DIM, NEAR, 2), wanted > read ? wanted : read);
    /* a wide cloud of which few coordinates are used: reading it is the peak */
    cr_assert_eq(geodec_metric_bytes(N, 4000, 1000, 4, 16, 1), N * (8.0 * 4000 + 20) + 1000 * 8 * 4);
}

Test(needs, bytes_grow_with_every_size)
{
    const double base = geodec_knn_bytes(100000, 16, 0, 8, 2);
    cr_assert_gt(geodec_knn_bytes(200000, 16, 0, 8, 2), base);
    cr_assert_gt(geodec_knn_bytes(100000, 24, 0, 8, 2), base);
    cr_assert_gt(geodec_knn_bytes(100000, 16, 50000, 8, 2), base);
    cr_assert_gt(geodec_knn_bytes(100000, 16, 0, 8, 4), base);
    /* packed points: a byte a coordinate, in words of four, half a score and an order */
    cr_assert_gt(base, 100000.0 * (16 + 4 + 4));
    geodec_cloud_sizes z = {.rows = 50000, .layers = 1, .d = 256, .points = 40000, .k = 100, .sample = 20000};
    const double cloud = geodec_cloud_bytes(&z, 4096, 2);
    geodec_cloud_sizes more = z;
    more.layers = 4;
    cr_assert_eq(geodec_cloud_bytes(&more, 4096, 2) - cloud, 1024.0 * 256 * 3 * 4, "a slab of all layers is read");
    more = z;
    more.k = 200;
    cr_assert_gt(geodec_cloud_bytes(&more, 4096, 2), cloud);
    more = z;
    more.rows = more.points = 5000000;
    cr_assert_gt(geodec_cloud_bytes(&more, 4096, 2), 5e6 * (8 + 36 + 4), "digests of all rows");
}

/* Value of a row; 0 if there is none of this name. */
static double value_of(const geodec_needs *n, const char *name)
{
    for (int i = 0; i < n->n; i++)
        if (strcmp(n->row[i].name, name) == 0) return n->row[i].value;
    return 0;
}

/* The plan of the symbols on a sphere: sizes by hand, times above 0. */
Test(needs, christoffel_on_a_sphere)
{
    enum { POINTS = 60, N = 3 };
    geodec_err err = {0};
    geodec_metric m = {0};
    geodec_metric_space s = {0};
    geodec_needs needs = {.threads = 1}, part = {.threads = 1};
    geodec_size size;
    const geodec_metric_options mo = geodec_metric_defaults();
    geodec_christoffel_options o = geodec_christoffel_defaults();
    cr_assert_eq(geodec_metric_test_space(GEODEC_METRIC_SPHERE, POINTS, N, 0, 1, &mo, NULL, NULL, &m, &err), GEODEC_OK);
    cr_assert_eq(geodec_metric_space_init(&m, &s, &err), GEODEC_OK);
    o.control = 10;
    cr_assert_eq(geodec_christoffel_needs(s.space, POINTS, m.point, &o, 0.01, NULL, NULL, &needs, &size, &err),
                 GEODEC_OK);
    /* points, gamma, largest, residual, asymmetry; controls: index and gap */
    const int64_t each = 8 * (N + N * N * N + 3);
    cr_assert_eq(size.fields, POINTS * each + 10 * 12);
    cr_assert_eq(value_of(&needs, "points"), POINTS);
    cr_assert_eq(value_of(&needs, "memory.results"), (double)size.fields);
    cr_assert_gt(value_of(&needs, "seconds.points"), 0);
    o.shard = (geodec_shard){2, 3};
    cr_assert_eq(geodec_christoffel_needs(s.space, POINTS, m.point, &o, 0.01, NULL, NULL, &part, &size, &err),
                 GEODEC_OK);
    cr_assert_eq(value_of(&part, "points"), POINTS / 3);
    cr_assert_eq(size.fields, POINTS / 3 * each + 10 / 3 * 12);
    geodec_metric_space_clear(&s);
    geodec_metric_clear(&m);
}
