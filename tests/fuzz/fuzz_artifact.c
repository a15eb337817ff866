/* The artifact reader after its checksums: the input is the file without the header. HDF5's checksums are corrected,
 * and a header with the digest is added. */
#include "base/mem.h"
#include "fuzz/artifact_kind.h"
#include "fuzz/fuzz.h"
#include "fuzz/h5_repair.h"
#include "io/h5.h"

#include <string.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 18, HEADER = 512 };

static void read_field(const geodec_artifact *a, const geodec_field *f, size_t size)
{
    geodec_err err = {0};
    int64_t shape[6], elements = 1;
    int rank = 0;
    uint8_t *whole = NULL, *rows = NULL;
    if (!geodec_artifact_has(a, f->path)) return;
    fuzz_must(geodec_artifact_shape(a, f->path, shape, &rank, &err) == GEODEC_OK, "a field without a shape");
    for (int d = 0; d < rank; d++) fuzz_must(geodec_mem_mul(elements, shape[d], &elements) == 0, "an absurd shape");
    const int64_t bytes = elements * (int64_t)geodec_type_size(f->type);
    fuzz_must(bytes >= 0 && bytes / 1100 <= (int64_t)size + HEADER, "more elements than the file can hold");
    const geodec_status st = geodec_artifact_read(a, f->path, &whole, &err);
    fuzz_must(st == GEODEC_OK ? whole != NULL : !whole, "an output of a failure");
    if (st == GEODEC_OK && rank > 0 && (rows = geodec_mem_new(bytes, 1))) {
        fuzz_use(whole, (size_t)bytes);
        const int64_t half = shape[0] / 2, row = shape[0] ? bytes / shape[0] : 0;
        fuzz_must(geodec_artifact_read_rows(a, f->path, 0, half, rows, &err) == GEODEC_OK &&
                      geodec_artifact_read_rows(a, f->path, half, shape[0] - half, rows + half * row, &err) ==
                          GEODEC_OK,
                  "rows that cannot be read");
        fuzz_must(memcmp(rows, whole, (size_t)bytes) == 0, "rows that are not those of the whole");
        fuzz_must(geodec_artifact_read_rows(a, f->path, shape[0], 1, rows, &err) != GEODEC_OK, "a row behind the last");
    }
    geodec_mem_free(rows);
    geodec_mem_free(whole);
}

static void read_attributes(const geodec_artifact *a)
{
    geodec_err err = {0};
    int64_t i;
    double d;
    const char *text;
    static const char *const common[] = {"note", "tool", "command_line", "model_fingerprint"};
    fuzz_must(geodec_artifact_get_i64(a, "count", &i, &err) == GEODEC_OK, "an attribute that is not there");
    fuzz_must(geodec_artifact_get_f64(a, "share", &d, &err) == GEODEC_OK, "an attribute that is not there");
    for (size_t k = 0; k < sizeof common / sizeof *common; k++)
        if (geodec_artifact_get_str(a, common[k], &text, &err) == GEODEC_OK) fuzz_use(text, strlen(text));
    const geodec_provenance *p = geodec_artifact_provenance(a);
    fuzz_must(p->n_inputs >= 0 && p->n_inputs <= GEODEC_INPUTS_MAX, "too many inputs");
    for (int k = 0; k < p->n_inputs; k++) fuzz_use(p->input[k].name, strlen(p->input[k].name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], hex[GEODEC_SHA256_HEX];
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    geodec_io_init();
    if (size > MAX_INPUT) return 0;
    uint8_t *file = calloc(1, HEADER + size);
    if (!file) return 0;
    memcpy(file + HEADER, data, size);
    h5_repair(file + HEADER, size, HEADER);
    geodec_sha256_of(file + HEADER, size, hex);
    (void)snprintf((char *)file, HEADER, "geodec artifact fuzz 1.1\nsha256 %s\n", hex);
    const bool made = fuzz_file(file, HEADER + size, path);
    free(file);
    if (!made) return 0;
    if (geodec_artifact_open(&fuzz_kind, path, &a, &err) == GEODEC_OK) {
        read_attributes(a);
        for (int i = 0; i < fuzz_kind.n_fields; i++) read_field(a, &fuzz_kind.fields[i], size);
        geodec_artifact_close(a);
    } else {
        char line[1024];
        fuzz_must(!a, "an output of a failure");
        fuzz_use(geodec_err_line(&err, line, sizeof line), strlen(line));
    }
    (void)unlink(path);
    return 0;
}
