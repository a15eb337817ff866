/* Matrices with what stands beside them: .npy, tables of text, HDF5 with masks and the attributes of netCDF. The first
 * byte selects the format and the options, the rest is the file. A matrix of finite numbers, with every row of the file
 * either in it or counted, or a refusal. */
#include "fuzz/fuzz.h"
#include "io/matrix.h"

#include <math.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"npy", "text", "text", "hdf5"};
    char path[64];
    geodec_err err = {0};
    geodec_matrix m;
    if (size < 1 || size > MAX_INPUT) return 0;
    const uint8_t way = data[0];
    const geodec_matrix_options o = {.dataset = "x",
                                     .mask = way & 32   ? "!m"
                                             : way & 64 ? "none"
                                                        : NULL,
                                     .header = (geodec_matrix_header)((way >> 2) % 3),
                                     .drop_missing = (way & 16) != 0};
    if (!fuzz_file(data + 1, size - 1, path)) return 0;
    if (geodec_matrix_read(path, formats[way % 4], &o, &m, &err) == GEODEC_OK) {
        fuzz_must(m.rows > 0 && m.cols > 0, "an absurd shape");
        if (way % 4 != 3) fuzz_must(m.rows <= (int64_t)size / m.cols + 1, "more elements than bytes");
        fuzz_must(m.rows + m.masked + m.filled + m.invalid + m.missing == m.given, "a row that is nowhere");
        for (int64_t i = 0; i < m.rows * m.cols; i++) fuzz_must(isfinite(m.x[i]), "a number that is not finite");
        geodec_matrix_clear(&m);
    }
    (void)unlink(path);
    return 0;
}
