/* zlib without memory: HDF5 would store a chunk without compression, and the file would have other bytes. */
#include "artifact/artifact.h"
#include "io/file.h"
#include "io/h5.h"
#include "sample.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static geodec_err err;
static int calls, refused; /* calls of compress2, and which one has no memory (from 1; 0: none) */

/* In place of zlib's, for HDF5: visible, so that the linker exports it. */
__attribute__((visibility("default"))) int compress2(Bytef *to, uLongf *room, const Bytef *from, uLong n, int level)
{
    int (*real)(Bytef *, uLongf *, const Bytef *, uLong, int) = NULL;
    void *symbol = dlsym(RTLD_NEXT, "compress2");
    memcpy(&real, &symbol, sizeof symbol);
    if (!real) abort();
    return ++calls == refused ? Z_MEM_ERROR : real(to, room, from, n, level);
}

static void setup(void) { geodec_io_init(); }
TestSuite(compress, .init = setup);

Test(compress, a_chunk_without_memory_is_an_error_and_no_file)
{
    const char *path = test_tmp("a.h5");
    char whole[GEODEC_SHA256_HEX], again[GEODEC_SHA256_HEX];
    sample_write(&sample_kind, path);
    const int all = calls;
    if (all == 0) cr_skip_test("this HDF5 does not call compress2 of another object");
    cr_assert_geq(all, 3, "the sample has three compressed fields");
    test_ok(geodec_file_sha256(path, whole, &err), &err);
    for (int n = 1; n <= all; n++) {
        cr_assert_eq(unlink(path), 0);
        calls = 0;
        refused = n;
        geodec_artifact *a = sample_start(&sample_kind, path);
        cr_assert_eq(geodec_artifact_commit(a, &err), GEODEC_NOMEM, "call %d of %d", n, all);
        cr_assert_neq(access(path, F_OK), 0);
        refused = 0;
        sample_write(&sample_kind, path);
        test_ok(geodec_file_sha256(path, again, &err), &err);
        cr_assert_str_eq(whole, again);
    }
}

static const geodec_field noise_fields[] = {
    {"/noise", GEODEC_U8, "N", GEODEC_FIELD_COMPRESS, "1", "incompressible bytes", 0},
};
static const geodec_kind noise_kind = {.name = "noise",
                                       .major = 1,
                                       .tool = "geodec-noise",
                                       .purpose = "incompressible bytes",
                                       .fields = noise_fields,
                                       .n_fields = 1};

/* zlib makes incompressible data larger, and HDF5 stores them so. */
Test(compress, incompressible_chunks_are_no_error)
{
    enum { MOST = 300001 };
    static unsigned char noise[MOST];
    static const int64_t sizes[] = {1, 2, 11, 12, 255, 16383, 65537, 262144, MOST};
    uint64_t state = 1;
    for (int i = 0; i < MOST; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        noise[i] = (unsigned char)(state >> 56);
    }
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const char *path = test_tmp("noise.h5");
        const geodec_provenance p = sample_provenance();
        geodec_artifact *a = NULL;
        test_ok(geodec_artifact_create(&noise_kind, path, &p, &a, &err), &err);
        test_ok(geodec_artifact_set_dim(a, "N", sizes[k], &err), &err);
        test_ok(geodec_artifact_write(a, "/noise", noise, &err), &err);
        test_ok(geodec_artifact_commit(a, &err), &err);
    }
}
