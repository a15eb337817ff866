/* The artifact engine: what goes in comes out, the same bytes every time, and mistakes are refused. */
#include "base/f16.h"
#include "base/mem.h"
#include "io/artifact.h"
#include "io/file.h"
#include "io/h5.h"
#include "sample.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static geodec_err err;

static void setup(void) { geodec_io_init(); }
TestSuite(artifact, .init = setup);

static int64_t as_integer(geodec_type t, const void *data, int64_t i)
{
    switch (t) {
    case GEODEC_F64:
        return (int64_t)((const double *)data)[i];
    case GEODEC_F32:
        return (int64_t)((const float *)data)[i];
    case GEODEC_F16:
        return (int64_t)geodec_f16_to_f32(((const uint16_t *)data)[i]);
    default: {
        int64_t v = 0;
        memcpy(&v, (const char *)data + (size_t)i * geodec_type_size(t), geodec_type_size(t));
        return v;
    }
    }
}

Test(artifact, every_type_round_trips)
{
    const char *path = test_tmp("a.h5");
    geodec_artifact *a = NULL;
    int64_t shape[6];
    int rank;
    sample_write(&sample_kind, path);
    test_ok(geodec_artifact_open(&sample_kind, path, &a, &err), &err);
    for (int f = 0; f < sample_kind.n_fields; f++) {
        const geodec_field *field = &sample_kind.fields[f];
        if (!geodec_artifact_has(a, field->path)) {
            cr_assert_str_eq(field->path, "/maybe");
            continue;
        }
        void *data = NULL;
        test_ok(geodec_artifact_shape(a, field->path, shape, &rank, &err), &err);
        int64_t n = 1;
        for (int d = 0; d < rank; d++) n *= shape[d];
        test_ok(geodec_artifact_read(a, field->path, &data, &err), &err);
        for (int64_t i = 0; i < n; i++)
            cr_assert_eq(as_integer(field->type, data, i), sample_value(f, i), "%s[%lld]", field->path, (long long)i);
        geodec_mem_free(data);
    }
    test_ok(geodec_artifact_shape(a, "/group/i32", shape, &rank, &err), &err);
    cr_assert(rank == 3 && shape[0] == SAMPLE_K && shape[1] == 2 && shape[2] == SAMPLE_K);
    test_ok(geodec_artifact_shape(a, "/scalar", shape, &rank, &err), &err);
    cr_assert_eq(rank, 0);
    int64_t t;
    test_ok(geodec_artifact_dim(a, "T", &t, &err), &err);
    cr_assert_eq(t, SAMPLE_N);
    geodec_artifact_close(a);
    cr_assert_eq(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0, "an HDF5 handle was left open");
}
