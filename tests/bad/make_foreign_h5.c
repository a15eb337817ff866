/* make_foreign_h5 FOLDER: HDF5 files of other programs, one for each case: a matrix `x` of 64 x 4 numbers, stored in a
 * valid or harmful way.
 *
 * Each harmful file would make a trusting reader open another file, load a plug-in, invent numbers or fill the memory.
 */
#include "io/h5.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ROWS = 64, COLS = 4, WIDE_CHUNK = 1 << 24, WIDE_CHUNKS = 66 };

static void die(const char *what)
{
    fprintf(stderr, "make_foreign_h5: %s failed\n", what);
    exit(1);
}
#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        if ((call) < 0) die(#call);                                                                                    \
    } while (0)

static double x[ROWS * COLS];

/* A dataset of ROWS x COLS with the property list `made`, which is closed. */
static void put(hid_t file, const char *name, hid_t made, hid_t type)
{
    const hid_t space = H5Screate_simple(2, (hsize_t[]){ROWS, COLS}, NULL);
    const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, made, H5P_DEFAULT);
    MUST(set);
    MUST(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x));
    MUST(H5Dclose(set));
    MUST(H5Sclose(space));
    MUST(H5Pclose(made));
}

static hid_t chunks(hsize_t rows)
{
    const hid_t made = H5Pcreate(H5P_DATASET_CREATE);
    MUST(H5Pset_chunk(made, 2, (hsize_t[]){rows, COLS}));
    return made;
}

/* ---- valid files --------------------------------------------------------------------------------------------------
 */

static void plain(hid_t f) { put(f, "x", H5Pcreate(H5P_DATASET_CREATE), H5T_IEEE_F64LE); }
static void packed(hid_t f)
{
    const hid_t made = chunks(10);
    MUST(H5Pset_shuffle(made));
    MUST(H5Pset_deflate(made, 6));
    MUST(H5Pset_fletcher32(made));
    put(f, "x", made, H5T_IEEE_F64LE);
}
static void packed_sum_first(hid_t f)
{
    const hid_t made = chunks(10);
    MUST(H5Pset_fletcher32(made));
    MUST(H5Pset_deflate(made, 6));
    put(f, "x", made, H5T_IEEE_F64LE);
}
/* A chunk without compression, as HDF5 writes it when compression does not help. */
static void packed_skipped(hid_t f)
{
    hid_t made = chunks(ROWS);
    MUST(H5Pset_deflate(made, 6));
    put(f, "x", made, H5T_IEEE_F64LE);
    const hid_t set = H5Dopen2(f, "x", H5P_DEFAULT);
    MUST(H5Dwrite_chunk(set, H5P_DEFAULT, 1, (hsize_t[]){0, 0}, sizeof x, x));
    MUST(H5Dclose(set));
}

/* ---- external data --------------------------------------------------------------------------------------------------
 */

static void external_link(hid_t f) { MUST(H5Lcreate_external("plain.h5", "x", f, "x", H5P_DEFAULT, H5P_DEFAULT)); }
static void soft_link(hid_t f)
{
    put(f, "y", H5Pcreate(H5P_DATASET_CREATE), H5T_IEEE_F64LE);
    MUST(H5Lcreate_soft("/y", f, "x", H5P_DEFAULT, H5P_DEFAULT));
}
static void external_group(hid_t f) { MUST(H5Lcreate_external("group.h5", "g", f, "g", H5P_DEFAULT, H5P_DEFAULT)); }
static void group(hid_t f)
{
    const hid_t g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    MUST(g);
    put(g, "x", H5Pcreate(H5P_DATASET_CREATE), H5T_IEEE_F64LE);
    MUST(H5Gclose(g));
}
static void committed_type(hid_t f)
{
    const hid_t type = H5Tcopy(H5T_IEEE_F64LE);
    MUST(H5Tcommit2(f, "x", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    MUST(H5Tclose(type));
}
static void external_storage(hid_t f)
{
    const hid_t made = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, (hsize_t[]){ROWS, COLS}, NULL);
    MUST(H5Pset_external(made, "/etc/passwd", 0, sizeof x));
    const hid_t set = H5Dcreate2(f, "x", H5T_IEEE_F64LE, space, H5P_DEFAULT, made, H5P_DEFAULT);
    MUST(set);
    MUST(H5Dclose(set));
    MUST(H5Sclose(space));
    MUST(H5Pclose(made));
}
static void virtual_set(hid_t f)
{
    const hid_t made = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, (hsize_t[]){ROWS, COLS}, NULL);
    MUST(H5Pset_virtual(made, space, "plain.h5", "x", space));
    const hid_t set = H5Dcreate2(f, "x", H5T_IEEE_F64LE, space, H5P_DEFAULT, made, H5P_DEFAULT);
    MUST(set);
    MUST(H5Dclose(set));
    MUST(H5Sclose(space));
    MUST(H5Pclose(made));
}

/* ---- filters ---------------------------------------------------------------------------------------------------- */

static void scaleoffset(hid_t f)
{
    const hid_t made = chunks(ROWS);
    MUST(H5Pset_scaleoffset(made, H5Z_SO_INT, 0));
    put(f, "x", made, H5T_STD_I32LE);
}
static void nbit(hid_t f)
{
    const hid_t made = chunks(ROWS);
    MUST(H5Pset_nbit(made));
    put(f, "x", made, H5T_STD_I32LE);
}
static void twice(hid_t f)
{
    const hid_t made = chunks(ROWS);
    MUST(H5Pset_deflate(made, 6));
    MUST(H5Pset_deflate(made, 6));
    put(f, "x", made, H5T_IEEE_F64LE);
}
static size_t nothing(unsigned flags, size_t n, const unsigned values[], size_t bytes, size_t *room, void **buffer)
{
    (void)flags, (void)n, (void)values, (void)room, (void)buffer;
    return bytes;
}
/* A filter that HDF5 searches in its folder of plug-ins. */
static void plugin(hid_t f)
{
    static const H5Z_class2_t filter = {
        .version = H5Z_CLASS_T_VERS, .id = 32000, .encoder_present = 1, .name = "lzf", .filter = nothing};
    const hid_t made = chunks(ROWS);
    MUST(H5Zregister(&filter));
    MUST(H5Pset_filter(made, 32000, 0, 0, NULL));
    put(f, "x", made, H5T_IEEE_F64LE);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

static void missing_chunks(hid_t f)
{
    const hid_t made = chunks(10), space = H5Screate_simple(2, (hsize_t[]){ROWS, COLS}, NULL);
    const hid_t set = H5Dcreate2(f, "x", H5T_IEEE_F64LE, space, H5P_DEFAULT, made, H5P_DEFAULT);
    MUST(set);
    MUST(H5Dwrite_chunk(set, H5P_DEFAULT, 0, (hsize_t[]){0, 0}, 10 * COLS * sizeof *x, x));
    MUST(H5Dclose(set));
    MUST(H5Sclose(space));
    MUST(H5Pclose(made));
}

/* One chunk for all numbers, with n bytes of zeros, compressed. */
static void put_zeros(hid_t f, size_t n)
{
    hid_t made = chunks(ROWS);
    MUST(H5Pset_deflate(made, 6));
    put(f, "x", made, H5T_IEEE_F64LE);
    uLongf room = compressBound(n);
    Bytef *zeros = calloc(n, 1), *to = malloc(room);
    if (!zeros || !to || compress2(to, &room, zeros, n, 9) != Z_OK) die("compress2");
    const hid_t set = H5Dopen2(f, "x", H5P_DEFAULT);
    MUST(H5Dwrite_chunk(set, H5P_DEFAULT, 0, (hsize_t[]){0, 0}, room, to));
    MUST(H5Dclose(set));
    free(zeros);
    free(to);
}
static void chunk_grows(hid_t f) { put_zeros(f, (size_t)1 << 20); }
static void chunk_short(hid_t f) { put_zeros(f, sizeof x - 8); }
/* A chunk stored in thirty times its size. */
static void chunk_stored_large(hid_t f)
{
    put_zeros(f, sizeof x);
    const size_t n = 60000;
    unsigned char *junk = calloc(n, 1);
    if (!junk) die("calloc");
    const hid_t set = H5Dopen2(f, "x", H5P_DEFAULT);
    MUST(H5Dwrite_chunk(set, H5P_DEFAULT, 0, (hsize_t[]){0, 0}, n, junk));
    MUST(H5Dclose(set));
    free(junk);
}
/* A chunk of the right shape with a checksum missing at its end, which HDF5 would read as 4 bytes of numbers fewer. */
static void chunk_unsummed(hid_t f)
{
    const hid_t made = chunks(ROWS);
    MUST(H5Pset_fletcher32(made));
    put(f, "x", made, H5T_IEEE_F64LE);
    const hid_t set = H5Dopen2(f, "x", H5P_DEFAULT);
    MUST(H5Dwrite_chunk(set, H5P_DEFAULT, 0, (hsize_t[]){0, 0}, sizeof x / 2, x));
    MUST(H5Dclose(set));
}
static void chunk_above_limit(hid_t f)
{
    const hid_t made = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t rows = (hsize_t)300 << 20;
    const hid_t space = H5Screate_simple(2, (hsize_t[]){rows, 1}, NULL);
    MUST(H5Pset_chunk(made, 2, (hsize_t[]){rows, 1}));
    MUST(H5Pset_deflate(made, 1));
    const hid_t set = H5Dcreate2(f, "x", H5T_STD_I8LE, space, H5P_DEFAULT, made, H5P_DEFAULT);
    MUST(set);
    static const unsigned char junk[300000];
    MUST(H5Dwrite_chunk(set, H5P_DEFAULT, 0, (hsize_t[]){0, 0}, sizeof junk, junk));
    MUST(H5Dclose(set));
    MUST(H5Sclose(space));
    MUST(H5Pclose(made));
}
/* A file of 1.1 MB with 1.1 GB of one-byte zeros, 8.9 GB as float64. */
static void grows_to_memory(hid_t f)
{
    const hid_t made = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(2, (hsize_t[]){(hsize_t)WIDE_CHUNKS * WIDE_CHUNK, 1}, NULL);
    MUST(H5Pset_chunk(made, 2, (hsize_t[]){WIDE_CHUNK, 1}));
    MUST(H5Pset_deflate(made, 9));
    const hid_t set = H5Dcreate2(f, "x", H5T_STD_I8LE, space, H5P_DEFAULT, made, H5P_DEFAULT);
    MUST(set);
    uLongf room = compressBound(WIDE_CHUNK);
    Bytef *zeros = calloc(WIDE_CHUNK, 1), *to = malloc(room);
    if (!zeros || !to || compress2(to, &room, zeros, WIDE_CHUNK, 9) != Z_OK) die("compress2");
    for (hsize_t i = 0; i < WIDE_CHUNKS; i++)
        MUST(H5Dwrite_chunk(set, H5P_DEFAULT, 0, (hsize_t[]){i * WIDE_CHUNK, 0}, room, to));
    MUST(H5Dclose(set));
    MUST(H5Sclose(space));
    MUST(H5Pclose(made));
    free(zeros);
    free(to);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(hid_t file);
    } cases[] = {
        {"plain", plain},
        {"packed", packed},
        {"packed-sum-first", packed_sum_first},
        {"packed-skipped", packed_skipped},
        {"external-link", external_link},
        {"soft-link", soft_link},
        {"external-group", external_group},
        {"group", group},
        {"committed-type", committed_type},
        {"external-storage", external_storage},
        {"virtual", virtual_set},
        {"scaleoffset", scaleoffset},
        {"nbit", nbit},
        {"twice", twice},
        {"plugin", plugin},
        {"missing-chunks", missing_chunks},
        {"chunk-grows", chunk_grows},
        {"chunk-short", chunk_short},
        {"chunk-stored-large", chunk_stored_large},
        {"chunk-unsummed", chunk_unsummed},
        {"chunk-above-limit", chunk_above_limit},
        {"grows-to-memory", grows_to_memory},
    };
    if (argc != 2) {
        fprintf(stderr, "usage: make_foreign_h5 FOLDER\n");
        return 2;
    }
    geodec_io_init();
    for (int i = 0; i < ROWS * COLS; i++) x[i] = 1 + (i * 37) % 101;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s.h5", argv[1], cases[i].name);
        const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        MUST(file);
        cases[i].make(file);
        MUST(H5Fclose(file));
    }
    return 0;
}
