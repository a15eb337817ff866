/* The .npy reader: a matrix of finite numbers that fills the file, or a refusal. */
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "io/foreign.h"

#include <math.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    geodec_err err = {0};
    int64_t rows = 0, cols = 0;
    double *x = NULL;
    if (size > MAX_INPUT) return 0;
    if (!fuzz_file(data, size, path)) return 0;
    if (geodec_foreign_npy(path, &rows, &cols, &x, &err) == GEODEC_OK) {
        fuzz_must(rows > 0 && cols > 0 && rows <= (int64_t)size / cols, "more elements than bytes");
        for (int64_t i = 0; i < rows * cols; i++) fuzz_must(isfinite(x[i]), "a number that is not finite");
        geodec_mem_free(x);
    } else {
        fuzz_must(!x, "an output of a failure");
    }
    (void)unlink(path);
    return 0;
}
