/* make_artifact_seed FOLDER: first inputs of fuzz_artifact (artifacts without their header). */
#include "base/mem.h"
#include "fuzz/artifact_kind.h"
#include "io/file.h"
#include "io/h5.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HEADER = 512, N = 20, K = 2 };

static void must(geodec_status st, const geodec_err *err)
{
    char line[1024];
    if (st == GEODEC_OK) return;
    fprintf(stderr, "make_artifact_seed: %s\n", geodec_err_line(err, line, sizeof line));
    exit(1);
}

/* optional: with the fields and attributes that may be missing. */
static void make(const char *path, bool optional)
{
    static const double x[N * K] = {1, 2, 3};
    static const int32_t n[N] = {5, 6};
    static const uint8_t bytes[N * 3] = {7, 8};
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    const geodec_provenance p = {.tool = "fuzz_artifact", .command_line = "x", .seed = 1};
    must(geodec_artifact_create(&fuzz_kind, path, &p, &a, &err), &err);
    must(geodec_artifact_set_dim(a, "K", K, &err), &err);
    must(geodec_artifact_append(a, "/i32", N, n, &err), &err);
    must(geodec_artifact_set_dim(a, "N", N, &err), &err);
    must(geodec_artifact_write(a, "/f64", x, &err), &err);
    must(geodec_artifact_write(a, "/u8", bytes, &err), &err);
    must(geodec_artifact_write(a, "/scalar", x, &err), &err);
    must(geodec_artifact_write(a, "/newer", x, &err), &err);
    if (optional) must(geodec_artifact_write(a, "/g/f16", bytes, &err), &err);
    must(geodec_artifact_put_i64(a, "count", 3, &err), &err);
    must(geodec_artifact_put_f64(a, "share", 0.5, &err), &err);
    if (optional) must(geodec_artifact_put_str(a, "note", "text", &err), &err);
    must(geodec_artifact_commit(a, &err), &err);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_artifact_seed FOLDER\n");
        return 2;
    }
    geodec_io_init();
    for (int k = 0; k < 2; k++) {
        char path[4096], *data = NULL;
        size_t n = 0;
        geodec_err err = {0};
        (void)snprintf(path, sizeof path, "%s/seed-%d", argv[1], k);
        make(path, k > 0);
        must(geodec_file_read(path, 1 << 20, &data, &n, &err), &err);
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(data + HEADER, 1, n - HEADER, f) != n - HEADER || fclose(f) != 0) return 1;
        geodec_mem_free(data);
    }
    return 0;
}
