#include "geometry/field.h"

#include "base/mem.h"
#include "linalg/expm.h"
#include "support/support.h"

#include <criterion/criterion.h>

geodec_rbf *field_make(const char *file, double sigma)
{
    int64_t shape[8];
    geodec_err err = {0};
    geodec_rbf *field;
    double *points = test_h5(file, "/cloud/points", shape, NULL), *g = test_h5(file, "/metric/g_raw", NULL, NULL);
    const int64_t count = shape[0], n = shape[1], packed = n * (n + 1) / 2;
    double *logs = geodec_mem_new(count * packed, sizeof *logs), *l = geodec_mem_new(n * n, sizeof *l);
    for (int64_t p = 0; p < count; p++) {
        test_ok(geodec_logm_spd(n, g + p * n * n, l, &err), &err);
        geodec_sym_pack(n, l, logs + p * packed);
    }
    if (sigma == 0) sigma = test_h5_attr(file, "/geodesic_smooth", "sigma");
    test_ok(geodec_rbf_create(count, n, points, logs, sigma, &field, &err), &err);
    geodec_mem_free(points);
    geodec_mem_free(g);
    geodec_mem_free(logs);
    geodec_mem_free(l);
    return field;
}
