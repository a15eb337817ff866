/* Inputs of geodec-import: the first byte selects the format (.npy, text, export, HDF5), the rest is the file. */
#include "base/mem.h"
#include "chain/import.h"
#include "fuzz/fuzz.h"
#include "io/foreign.h"
#include "io/matrix.h"

#include <math.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 20 };

static void check_matrix(const char *format, const char *path, size_t size)
{
    geodec_err err = {0};
    geodec_matrix m;
    if (geodec_matrix_read(path, format, &(geodec_matrix_options){0}, &m, &err) != GEODEC_OK) return;
    fuzz_must(m.rows > 0 && m.cols > 0 && m.rows <= (int64_t)size && m.cols <= (int64_t)size, "an absurd shape");
    for (int64_t i = 0; i < m.rows * m.cols; i++) fuzz_must(isfinite(m.x[i]), "a number that is not finite");
    geodec_matrix_clear(&m);
}

static void check_export(const char *path)
{
    static geodec_import_data e;
    geodec_err err = {0};
    if (geodec_import_read(path, &e, &err) != GEODEC_OK) return;
    fuzz_must(e.points > 0 && e.values >= GEODEC_EXPORT_COORDINATES && e.n_attrs <= GEODEC_EXPORT_ATTRS,
              "an absurd export");
    fuzz_use(e.x, (size_t)e.points * GEODEC_EXPORT_COORDINATES * sizeof *e.x);
    fuzz_use(e.eigenvalue, (size_t)e.values * sizeof *e.eigenvalue);
    geodec_import_clear(&e);
}

/* A dataset x and its attribute a of a foreign HDF5 file. */
static void check_hdf5(const char *path)
{
    geodec_err err = {0};
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1};
    double *x = NULL, a;
    if (geodec_foreign_read(path, "x", 2, shape, NULL, &x, &err) == GEODEC_OK) {
        fuzz_must(shape[0] >= 0 && shape[1] >= 0, "an absurd shape");
        for (int64_t i = 0; i < shape[0] * shape[1]; i++) fuzz_must(isfinite(x[i]), "a number that is not finite");
        geodec_mem_free(x);
    } else {
        fuzz_must(!x, "an output of a failure");
    }
    if (geodec_foreign_attr(path, "x", "a", &a, &err) == GEODEC_OK)
        fuzz_must(isfinite(a), "an attribute that is not finite");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    if (size < 1 || size > MAX_INPUT) return 0;
    if (!fuzz_file(data + 1, size - 1, path)) return 0;
    switch (data[0] % 4) {
    case 0:
        check_matrix("npy", path, size);
        break;
    case 1:
        check_matrix("text", path, size);
        break;
    case 2:
        check_export(path);
        break;
    default:
        check_hdf5(path);
    }
    (void)unlink(path);
    return 0;
}
