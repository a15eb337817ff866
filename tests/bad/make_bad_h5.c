/* make_bad_h5 FOLDER: writes FOLDER/good.h5, an artifact made by the library, and one damaged copy of it for each case.
 *
 * Two sorts of damage: raw bytes changed without a new digest, and files rebuilt with HDF5 calls and a new valid
 * digest, so that the checks after the digest are reached. */
#include "artifact/artifact.h"
#include "base/sha256.h"
#include "chain/activations.h"
#include "io/h5.h"

#include <hdf5.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ROWS = 600, WIDTH = 8, TOP = 4, BLOCK = 512 };

static void die(const char *what)
{
    fprintf(stderr, "make_bad_h5: %s failed\n", what);
    exit(1);
}
#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        if ((call) < 0) die(#call);                                                                                    \
    } while (0)

/* ---- the good file ---------------------------------------------------------------------------------------------- */

static void ok(geodec_status st, const geodec_err *err)
{
    char line[512];
    if (st != GEODEC_OK) die(geodec_err_line(err, line, sizeof line));
}

static void write_good(const char *path)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    const geodec_provenance p = {.tool = "geodec-export", .command_line = "geodec-export --model=test.gguf", .seed = 1};
    static float state[ROWS * WIDTH];
    static int32_t number[ROWS * TOP];
    for (int i = 0; i < ROWS * WIDTH; i++) state[i] = 1.0f + (float)i / 1024;
    for (int i = 0; i < ROWS * TOP; i++) number[i] = i % 97;
    ok(geodec_artifact_create(&geodec_activations_kind, path, &p, &a, &err), &err);
    static const struct {
        const char *name;
        int64_t extent;
    } dims[] = {{"L", 1}, {"d", WIDTH}, {"M", TOP}};
    for (int i = 0; i < 3; i++) ok(geodec_artifact_set_dim(a, dims[i].name, dims[i].extent, &err), &err);
    ok(geodec_artifact_write(a, "/layer", number, &err), &err);
    static const char *const columns[] = {"/token", "/position", "/sequence", "/next_token", "/argmax", "/top_index"};
    for (int i = 0; i < 6; i++) ok(geodec_artifact_append(a, columns[i], ROWS, number, &err), &err);
    ok(geodec_artifact_append(a, "/state", ROWS, state, &err), &err);
    ok(geodec_artifact_append(a, "/top_logit", ROWS, state, &err), &err);
    static const char *const attrs[] = {"n_layer", "d_model", "n_vocab", "n_ctx"};
    for (int i = 0; i < 4; i++) ok(geodec_artifact_put_i64(a, attrs[i], 8, &err), &err);
    ok(geodec_artifact_commit(a, &err), &err);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------ */

static char current[16], header_end[16]; /* the kind's version as it is now, "1.2", and as it ends its header line */
static unsigned char *good;
static size_t n_good;

static void load(const char *path, unsigned char **data, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) die(path);
    *n = (size_t)ftell(f);
    rewind(f);
    *data = malloc(*n + 1);
    if (!*data || fread(*data, 1, *n, f) != *n) die(path);
    (void)fclose(f);
}

static void save(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0) die(path);
}

/* First position of a byte string at or after `from`. */
static size_t find(const void *what, size_t n, size_t from)
{
    for (size_t i = from; i + n <= n_good; i++)
        if (memcmp(good + i, what, n) == 0) return i;
    die("a search");
    return 0;
}

static void flip(const char *path, size_t at)
{
    unsigned char *copy = malloc(n_good);
    if (!copy) die("malloc");
    memcpy(copy, good, n_good);
    copy[at] ^= 0x04;
    save(path, copy, n_good);
    free(copy);
}

/* A new header over the contents of the file, written independently of the library. */
static void seal(const char *path, const char *kind, const char *version)
{
    unsigned char *data;
    size_t n;
    char hex[GEODEC_SHA256_HEX], block[BLOCK] = {0};
    load(path, &data, &n);
    geodec_sha256_of(data + BLOCK, n - BLOCK, hex);
    (void)snprintf(block, sizeof block, "geodec artifact %s %s\nsha256 %s\n", kind, version, hex);
    memcpy(data, block, BLOCK);
    save(path, data, n);
    free(data);
}

/* ---- cases of raw bytes ----------------------------------------------------------------------------------------- */

static void raw_cases(const char *folder)
{
    char path[4096];
    static const struct {
        const char *name;
        size_t n;
    } cuts[] = {{"empty", 0},
                {"cut-1-byte", 1},
                {"cut-in-header", 100},
                {"cut-before-hdf5", 512},
                {"cut-in-superblock", 530},
                {"cut-in-metadata", 2000},
                {"cut-in-data", 20000},
                {"cut-last-page", 0},
                {"cut-last-byte", 0}};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        size_t n = cuts[i].n;
        if (strcmp(cuts[i].name, "cut-last-page") == 0) n = n_good - 4096;
        if (strcmp(cuts[i].name, "cut-last-byte") == 0) n = n_good - 1;
        if (n >= n_good) die("a good file long enough");
        (void)snprintf(path, sizeof path, "%s/%s.h5", folder, cuts[i].name);
        save(path, good, n);
    }
    const float data[] = {1.0f + 1000.0f / 1024, 1.0f + 1001.0f / 1024, 1.0f + 1002.0f / 1024};
    const struct {
        const char *name;
        size_t at;
    } flips[] = {
        {"flip-header-mark", 3},
        {"flip-header-kind", 18},
        {"flip-header-version", find(header_end, strlen(header_end), 0)},
        {"flip-header-minor", find(header_end, strlen(header_end), 0) + 2},
        {"flip-header-digest", find("sha256 ", 7, 0) + 20},
        {"flip-header-padding", 400},
        {"flip-superblock", BLOCK + 20},
        {"flip-attribute", find("test.gguf", 9, BLOCK)},
        {"flip-object-header", find("OHDR", 4, BLOCK) + 12},
        {"flip-field-name", find("next_token", 10, BLOCK) + 2},
        {"flip-chunk", find(data, sizeof data, BLOCK)},
        {"flip-last-byte", n_good - 1},
    };
    for (size_t i = 0; i < sizeof flips / sizeof flips[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s.h5", folder, flips[i].name);
        flip(path, flips[i].at);
    }
    unsigned char *more = calloc(n_good + 100, 1);
    if (!more) die("calloc");
    memcpy(more, good, n_good);
    (void)snprintf(path, sizeof path, "%s/appended-junk.h5", folder);
    save(path, more, n_good + 100);
    free(more);
    (void)snprintf(path, sizeof path, "%s/not-hdf5.h5", folder);
    static char prose[3000];
    memset(prose, 'x', sizeof prose);
    save(path, prose, sizeof prose);
    (void)snprintf(path, sizeof path, "%s/header-then-junk.h5", folder);
    save(path, prose, sizeof prose);
    seal(path, "activations", current);
    (void)snprintf(path, sizeof path, "%s/hdf5-without-header.h5", folder);
    MUST(H5Fclose(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)));
    /* wrong Fletcher32 of a chunk with a valid digest: detected only when the data are read */
    (void)snprintf(path, sizeof path, "%s/sealed-bad-chunk.h5", folder);
    flip(path, find(data, sizeof data, BLOCK));
    seal(path, "activations", current);
}

/* ---- cases rebuilt with HDF5 ------------------------------------------------------------------------------------ */

typedef void (*damage)(hid_t file);

static void drop(hid_t file, const char *path)
{
    if (H5Lexists(file, path, H5P_DEFAULT) > 0) MUST(H5Ldelete(file, path, H5P_DEFAULT));
}

/* A dataset in place of `path`. chunk 0: contiguous; data NULL: nothing is written. */
static void put(hid_t file, const char *path, hid_t type, int rank, const hsize_t *dims, hsize_t chunk,
                const void *data)
{
    drop(file, path);
    const hid_t space = H5Screate_simple(rank, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunks[3];
    for (int d = 0; d < rank; d++) chunks[d] = dims[d] < chunk ? dims[d] : chunk;
    if (chunk) MUST(H5Pset_chunk(dcpl, rank, chunks));
    const hid_t set = H5Dcreate2(file, path, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    MUST(set);
    if (data) MUST(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    MUST(H5Dclose(set));
    MUST(H5Pclose(dcpl));
    MUST(H5Sclose(space));
}

static double zeros[4 * ROWS * WIDTH];

static void missing_field(hid_t f) { drop(f, "/token"); }
static void wrong_type(hid_t f) { put(f, "/token", H5T_STD_I64LE, 1, (hsize_t[]){ROWS}, ROWS, zeros); }
static void big_endian(hid_t f) { put(f, "/token", H5T_STD_I32BE, 1, (hsize_t[]){ROWS}, ROWS, zeros); }
static void wrong_rank(hid_t f) { put(f, "/token", H5T_STD_I32LE, 2, (hsize_t[]){ROWS, 1}, ROWS, zeros); }
static void dims_disagree(hid_t f) { put(f, "/token", H5T_STD_I32LE, 1, (hsize_t[]){ROWS + 1}, ROWS, zeros); }
static void absurd_chunked(hid_t f)
{
    put(f, "/token", H5T_STD_I32LE, 1, (hsize_t[]){(hsize_t)1 << 40}, 1 << 16, NULL);
}
static void absurd_contiguous(hid_t f) { put(f, "/token", H5T_STD_I32LE, 1, (hsize_t[]){(hsize_t)1 << 40}, 0, NULL); }
/* The optional field /logits [R,V]: its V is free, so that the limits are checked before a mismatch. */
static void absurd_product(hid_t f)
{
    put(f, "/logits", H5T_IEEE_F32LE, 2, (hsize_t[]){ROWS, (hsize_t)1 << 34}, 1 << 10, NULL);
}
static void larger_than_file(hid_t f)
{
    put(f, "/logits", H5T_IEEE_F32LE, 2, (hsize_t[]){ROWS, 1 << 20}, 1 << 10, NULL);
}
static void absurd_chunk(hid_t f)
{
    const hid_t space = H5Screate_simple(2, (hsize_t[]){ROWS, 1 << 15}, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    MUST(H5Pset_chunk(dcpl, 2, (hsize_t[]){ROWS, 1 << 15}));
    MUST(H5Pset_deflate(dcpl, 1));
    const hid_t set = H5Dcreate2(f, "/logits", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    MUST(set);
    MUST(H5Dclose(set));
    MUST(H5Pclose(dcpl));
    MUST(H5Sclose(space));
}
static void missing_chunks(hid_t f) { put(f, "/token", H5T_STD_I32LE, 1, (hsize_t[]){ROWS}, 100, NULL); }
static void unwritten(hid_t f) { put(f, "/token", H5T_STD_I32LE, 1, (hsize_t[]){ROWS}, 0, NULL); }
static void missing_attribute(hid_t f) { MUST(H5Adelete(f, "n_vocab")); }
static void missing_provenance(hid_t f) { MUST(H5Adelete(f, "seed")); }

static void put_attr(hid_t f, const char *name, hid_t type, const void *value)
{
    const hid_t space = H5Screate(H5S_SCALAR);
    MUST(H5Adelete(f, name));
    const hid_t attr = H5Acreate2(f, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    MUST(attr);
    MUST(H5Awrite(attr, type, value));
    MUST(H5Aclose(attr));
    MUST(H5Sclose(space));
}
static void wrong_attribute(hid_t f) { put_attr(f, "n_vocab", H5T_IEEE_F32LE, &(float){1}); }

static hid_t text_type(size_t n)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    MUST(H5Tset_size(type, n));
    return type;
}
static void escape_in_text(hid_t f)
{
    const hid_t type = text_type(8);
    put_attr(f, "command_line", type, "\033[2J\a\b\r");
    MUST(H5Tclose(type));
}
static void bad_utf8(hid_t f)
{
    const hid_t type = text_type(8);
    put_attr(f, "tool", type, "abc\xff\xfe_x");
    MUST(H5Tclose(type));
}
static void variable_text(hid_t f)
{
    const hid_t type = text_type(H5T_VARIABLE);
    put_attr(f, "tool", type, &(const char *){"geodec-export"});
    MUST(H5Tclose(type));
}
static void version_9(hid_t f)
{
    const hid_t type = text_type(3);
    put_attr(f, "schema_version", type, "9.0");
    MUST(H5Tclose(type));
}

static void soft_link(hid_t f)
{
    drop(f, "/token");
    MUST(H5Lcreate_soft("/position", f, "/token", H5P_DEFAULT, H5P_DEFAULT));
}
static void external_link(hid_t f)
{
    drop(f, "/token");
    MUST(H5Lcreate_external("good.h5", "/token", f, "/token", H5P_DEFAULT, H5P_DEFAULT));
}
static void external_storage(hid_t f)
{
    drop(f, "/token");
    const hid_t space = H5Screate_simple(1, (hsize_t[]){ROWS}, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    MUST(H5Pset_external(dcpl, "/etc/passwd", 0, ROWS * 4));
    const hid_t set = H5Dcreate2(f, "/token", H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    MUST(set);
    MUST(H5Dclose(set));
    MUST(H5Pclose(dcpl));
    MUST(H5Sclose(space));
}
static void group_for_field(hid_t f)
{
    drop(f, "/token");
    const hid_t g = H5Gcreate2(f, "/token", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    MUST(g);
    MUST(H5Gclose(g));
}
static void unknown_filter(hid_t f)
{
    drop(f, "/token");
    const hid_t space = H5Screate_simple(1, (hsize_t[]){ROWS}, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    MUST(H5Pset_chunk(dcpl, 1, (hsize_t[]){ROWS}));
    MUST(H5Pset_scaleoffset(dcpl, H5Z_SO_INT, 0));
    const hid_t set = H5Dcreate2(f, "/token", H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    MUST(set);
    MUST(H5Dwrite(set, H5T_STD_I32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros));
    MUST(H5Dclose(set));
    MUST(H5Pclose(dcpl));
    MUST(H5Sclose(space));
}
/* One chunk, whose thousand compressed bytes inflate to 1 MiB in place of 2400 bytes. */
static void chunk_grows(hid_t f)
{
    enum { BYTES = 1 << 20 };
    drop(f, "/token");
    const hid_t space = H5Screate_simple(1, (hsize_t[]){ROWS}, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    MUST(H5Pset_chunk(dcpl, 1, (hsize_t[]){ROWS}));
    MUST(H5Pset_deflate(dcpl, 6));
    const hid_t set = H5Dcreate2(f, "/token", H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    MUST(set);
    uLongf n = compressBound(BYTES);
    Bytef *of = calloc(BYTES, 1), *to = malloc(n);
    if (!of || !to || compress2(to, &n, of, BYTES, 9) != Z_OK) die("compress2");
    MUST(H5Dwrite_chunk(set, H5P_DEFAULT, 0, (hsize_t[]){0}, n, to));
    MUST(H5Dclose(set));
    MUST(H5Pclose(dcpl));
    MUST(H5Sclose(space));
    free(of);
    free(to);
}
static void not_a_number(hid_t f)
{
    const hid_t set = H5Dopen2(f, "/top_logit", H5P_DEFAULT);
    static float x[ROWS * TOP];
    MUST(set);
    x[5] = NAN;
    MUST(H5Dwrite(set, H5T_IEEE_F32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x));
    MUST(H5Dclose(set));
}
static void nothing(hid_t f) { (void)f; }

static void sealed_cases(const char *folder)
{
    static const struct {
        const char *name;
        damage fn;
        const char *kind, *version;
    } cases[] = {
        {"sealed-good", nothing, "activations", current},
        {"missing-field", missing_field, "activations", current},
        {"wrong-type", wrong_type, "activations", current},
        {"big-endian", big_endian, "activations", current},
        {"wrong-rank", wrong_rank, "activations", current},
        {"dims-disagree", dims_disagree, "activations", current},
        {"absurd-chunked", absurd_chunked, "activations", current},
        {"absurd-contiguous", absurd_contiguous, "activations", current},
        {"absurd-product", absurd_product, "activations", current},
        {"larger-than-file", larger_than_file, "activations", current},
        {"absurd-chunk", absurd_chunk, "activations", current},
        {"missing-chunks", missing_chunks, "activations", current},
        {"unwritten", unwritten, "activations", current},
        {"missing-attribute", missing_attribute, "activations", current},
        {"missing-provenance", missing_provenance, "activations", current},
        {"wrong-attribute", wrong_attribute, "activations", current},
        {"escape-in-text", escape_in_text, "activations", current},
        {"bad-utf8", bad_utf8, "activations", current},
        {"variable-text", variable_text, "activations", current},
        {"soft-link", soft_link, "activations", current},
        {"external-link", external_link, "activations", current},
        {"external-storage", external_storage, "activations", current},
        {"group-for-field", group_for_field, "activations", current},
        {"unknown-filter", unknown_filter, "activations", current},
        {"chunk-grows", chunk_grows, "activations", current},
        {"not-a-number", not_a_number, "activations", current},
        {"major-too-new", version_9, "activations", "9.0"},
        {"versions-disagree", nothing, "activations", "1.7"},
        {"unknown-kind", nothing, "nonsense", "1.0"},
    };
    char path[4096];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s.h5", folder, cases[i].name);
        save(path, good, n_good);
        const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        MUST(file);
        cases[i].fn(file);
        MUST(H5Fclose(file));
        seal(path, cases[i].kind, cases[i].version);
    }
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 2) {
        fprintf(stderr, "usage: make_bad_h5 FOLDER\n");
        return 2;
    }
    geodec_io_init();
    (void)snprintf(current, sizeof current, "%d.%d", (int)geodec_activations_kind.major,
                   (int)geodec_activations_kind.minor);
    (void)snprintf(header_end, sizeof header_end, "%.14s\n", current);
    (void)snprintf(path, sizeof path, "%s/good.h5", argv[1]);
    write_good(path);
    load(path, &good, &n_good);
    raw_cases(argv[1]);
    sealed_cases(argv[1]);
    free(good);
    return 0;
}
