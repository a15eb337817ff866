/* mutate_h5 --list IN: the names of all mutations of an artifact of any kind, one a line.
 * mutate_h5 IN OUT NAME: IN with that one mutation and a new valid digest, so that the checks after the digest are
 * reached.
 *
 * A name is MUTATION:MEMBER. For every dataset: values that are not finite, negative, huge, unsorted or all equal; rows
 * removed or added; another shape; no dataset. For every number among the attributes: 0, -1, one more, huge, not
 * finite. */
#include "base/sha256.h"
#include "io/h5.h"

#include <hdf5.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512, NAMES = 4096, RANK_MAX = 4 };

static void die(const char *what)
{
    fprintf(stderr, "mutate_h5: %s failed\n", what);
    exit(1);
}
#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        if ((call) < 0) die(#call);                                                                                    \
    } while (0)

static unsigned char *load(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) die(path);
    *n = (size_t)ftell(f);
    rewind(f);
    unsigned char *data = malloc(*n + 1);
    if (!data || fread(data, 1, *n, f) != *n) die(path);
    (void)fclose(f);
    return data;
}

static void save(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0) die(path);
}

/* The header's first line stays; its digest becomes that of the contents. */
static void seal(const char *path)
{
    size_t n;
    char hex[GEODEC_SHA256_HEX], block[BLOCK] = {0};
    unsigned char *data = load(path, &n);
    geodec_sha256_of(data + BLOCK, n - BLOCK, hex);
    const char *line = memchr(data, '\n', BLOCK);
    if (!line) die("a header");
    (void)snprintf(block, sizeof block, "%.*s\nsha256 %s\n", (int)(line - (const char *)data), (const char *)data, hex);
    memcpy(data, block, BLOCK);
    save(path, data, n);
    free(data);
}

/* ---- datasets --------------------------------------------------------------------------------------------------- */

static char names[NAMES][128];
static int n_names;

static herr_t collect(hid_t group, const char *name, const H5O_info_t *info, void *ctx)
{
    (void)group;
    (void)ctx;
    if (info->type == H5O_TYPE_DATASET && n_names < NAMES)
        (void)snprintf(names[n_names++], sizeof names[0], "%s", name);
    return 0;
}

static const char *const float_mutations[] = {"nan", "inf", "huge", "negative", "zeros"};
static const char *const integer_mutations[] = {"least", "most", "minus-one", "falling", "zeros"};
static const char *const shape_mutations[] = {"shorter", "longer", "none", "narrower", "wider", "gone"};
static const char *const number_mutations[] = {"zero", "minus-one", "one-more", "huge", "nan"};
#define COUNT(a) (int)(sizeof(a) / sizeof(a)[0])

/* Values of the type `native`, in place. */
static bool mutate_values(const char *mutation, hid_t native, void *data, hssize_t n)
{
    const size_t size = H5Tget_size(native);
    const bool is_float = H5Tget_class(native) == H5T_FLOAT;
    unsigned char *b = data;
    if (n < 1) return false;
    if (strcmp(mutation, "zeros") == 0) {
        memset(data, 0, (size_t)n * size);
        return true;
    }
    if (is_float) {
        double v;
        if (strcmp(mutation, "nan") == 0)
            v = NAN;
        else if (strcmp(mutation, "inf") == 0)
            v = -INFINITY;
        else if (strcmp(mutation, "huge") == 0)
            v = 3e38;
        else if (strcmp(mutation, "negative") == 0)
            v = -1e30;
        else
            return false;
        /* the last value; for "negative" all of them */
        for (hssize_t i = strcmp(mutation, "negative") == 0 ? 0 : n - 1; i < n; i++) {
            const float f = (float)v;
            if (size == sizeof f)
                memcpy(b + (size_t)i * size, &f, size);
            else if (size == sizeof v)
                memcpy(b + (size_t)i * size, &v, size);
        }
        return true;
    }
    const bool is_signed = H5Tget_sign(native) == H5T_SGN_2;
    if (strcmp(mutation, "least") == 0 || strcmp(mutation, "most") == 0) {
        unsigned char v[8];
        const bool least = mutation[0] == 'l';
        memset(v, least ? 0 : 0xff, sizeof v);
        if (is_signed) v[size - 1] = least ? 0x80 : 0x7f;
        memcpy(b + (size_t)(n / 2) * size, v, size);
        return true;
    }
    if (strcmp(mutation, "minus-one") == 0) {
        memset(b + (size_t)(n - 1) * size, 0xff, size);
        return true;
    }
    if (strcmp(mutation, "falling") == 0) {
        unsigned char t[8];
        for (hssize_t i = 0, j = n - 1; i < j; i++, j--) {
            memcpy(t, b + (size_t)i * size, size);
            memcpy(b + (size_t)i * size, b + (size_t)j * size, size);
            memcpy(b + (size_t)j * size, t, size);
        }
        return n > 1;
    }
    return false;
}

/* The dimensions after a mutation; false if it does not change the shape. */
static bool mutate_shape(const char *mutation, int rank, hsize_t *dims)
{
    if (rank < 1) return false;
    if (strcmp(mutation, "shorter") == 0)
        dims[0] = dims[0] > 1 ? dims[0] - 1 : 0;
    else if (strcmp(mutation, "longer") == 0)
        dims[0]++;
    else if (strcmp(mutation, "none") == 0)
        dims[0] = 0;
    else if (strcmp(mutation, "narrower") == 0 && rank > 1)
        dims[rank - 1] = dims[rank - 1] > 1 ? dims[rank - 1] - 1 : 0;
    else if (strcmp(mutation, "wider") == 0 && rank > 1)
        dims[rank - 1]++;
    else
        return false;
    return true;
}

static bool mutate_dataset(hid_t file, const char *mutation, const char *path)
{
    hsize_t dims[RANK_MAX], chunk[RANK_MAX];
    if (strcmp(mutation, "gone") == 0) {
        MUST(H5Ldelete(file, path, H5P_DEFAULT));
        return true;
    }
    const hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
    if (set < 0) return false;
    const hid_t space = H5Dget_space(set), type = H5Dget_type(set), plist = H5Dget_create_plist(set);
    const hid_t native = H5Tget_native_type(type, H5T_DIR_DEFAULT);
    const int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    bool done = false;
    hssize_t n_new = n;
    if (rank < 0 || rank > RANK_MAX || H5Tget_size(native) > 8) die(path);
    if (mutate_shape(mutation, rank, dims)) {
        n_new = 1;
        for (int d = 0; d < rank; d++) n_new *= (hssize_t)dims[d];
        done = true;
    }
    void *data = calloc((size_t)(n > n_new ? n : n_new) + 1, H5Tget_size(native));
    if (!data) die("calloc");
    MUST(H5Dread(set, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    if (!done) {
        done = mutate_values(mutation, native, data, n);
        if (done) MUST(H5Dwrite(set, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
        MUST(H5Dclose(set));
    } else { /* as stored, except for its shape; added elements are 0 */
        if (H5Pget_layout(plist) == H5D_CHUNKED) {
            MUST(H5Pget_chunk(plist, rank, chunk));
            for (int d = 0; d < rank; d++)
                if (dims[d] > 0 && chunk[d] > dims[d]) chunk[d] = dims[d];
            MUST(H5Pset_chunk(plist, rank, chunk));
        }
        MUST(H5Dclose(set));
        MUST(H5Ldelete(file, path, H5P_DEFAULT));
        const hid_t shape = H5Screate_simple(rank, dims, NULL);
        const hid_t made = H5Dcreate2(file, path, type, shape, H5P_DEFAULT, plist, H5P_DEFAULT);
        MUST(made);
        if (n_new > 0) MUST(H5Dwrite(made, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
        MUST(H5Dclose(made));
        MUST(H5Sclose(shape));
    }
    free(data);
    MUST(H5Tclose(native));
    MUST(H5Tclose(type));
    MUST(H5Pclose(plist));
    MUST(H5Sclose(space));
    return done;
}

/* ---- attributes ------------------------------------------------------------------------------------------------- */

static bool mutate_number(hid_t file, const char *mutation, const char *name)
{
    const hid_t attr = H5Aopen(file, name, H5P_DEFAULT);
    if (attr < 0) return false;
    const hid_t type = H5Aget_type(attr), native = H5Tget_native_type(type, H5T_DIR_DEFAULT);
    const bool whole = H5Tget_class(native) == H5T_INTEGER && H5Tget_size(native) == 8,
               real = H5Tget_class(native) == H5T_FLOAT && H5Tget_size(native) == 8;
    bool done = whole || (real && strcmp(mutation, "one-more") != 0);
    if (whole && strcmp(mutation, "nan") == 0) done = false;
    if (done) {
        int64_t i = 0;
        double x = 0;
        MUST(H5Aread(attr, native, whole ? (void *)&i : (void *)&x));
        if (strcmp(mutation, "zero") == 0)
            i = 0, x = 0;
        else if (strcmp(mutation, "minus-one") == 0)
            i = -1, x = -1;
        else if (strcmp(mutation, "one-more") == 0)
            i++;
        else if (strcmp(mutation, "huge") == 0)
            i = INT64_MAX, x = 1e300;
        else
            x = NAN;
        MUST(H5Awrite(attr, native, whole ? (void *)&i : (void *)&x));
    }
    MUST(H5Tclose(native));
    MUST(H5Tclose(type));
    MUST(H5Aclose(attr));
    return done;
}

static herr_t list_attribute(hid_t file, const char *name, const H5A_info_t *info, void *ctx)
{
    (void)info;
    (void)ctx;
    const hid_t attr = H5Aopen(file, name, H5P_DEFAULT), type = H5Aget_type(attr);
    const H5T_class_t class = H5Tget_class(type);
    for (int i = 0; i < COUNT(number_mutations); i++) {
        const char *h = number_mutations[i];
        if (class == H5T_INTEGER ? strcmp(h, "nan") != 0 : class == H5T_FLOAT && strcmp(h, "one-more") != 0)
            printf("%s:@%s\n", h, name);
    }
    MUST(H5Tclose(type));
    MUST(H5Aclose(attr));
    return 0;
}

static void list(hid_t file)
{
    MUST(H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, collect, NULL));
    for (int s = 0; s < n_names; s++) {
        const hid_t set = H5Dopen2(file, names[s], H5P_DEFAULT), type = H5Dget_type(set), space = H5Dget_space(set);
        const bool is_float = H5Tget_class(type) == H5T_FLOAT;
        const int rank = H5Sget_simple_extent_ndims(space);
        const hssize_t n = H5Sget_simple_extent_npoints(space);
        for (int i = 0; i < COUNT(float_mutations); i++)
            if (n > (!is_float && strcmp(integer_mutations[i], "falling") == 0)) /* one value has no order */
                printf("%s:%s\n", is_float ? float_mutations[i] : integer_mutations[i], names[s]);
        for (int i = 0; i < COUNT(shape_mutations); i++)
            if (rank > 1 || (strcmp(shape_mutations[i], "narrower") != 0 && strcmp(shape_mutations[i], "wider") != 0))
                printf("%s:%s\n", shape_mutations[i], names[s]);
        MUST(H5Sclose(space));
        MUST(H5Tclose(type));
        MUST(H5Dclose(set));
    }
    MUST(H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, NULL, list_attribute, NULL));
}

int main(int argc, char **argv)
{
    geodec_io_init();
    if (argc == 3 && strcmp(argv[1], "--list") == 0) {
        const hid_t file = H5Fopen(argv[2], H5F_ACC_RDONLY, H5P_DEFAULT);
        MUST(file);
        list(file);
        MUST(H5Fclose(file));
        return 0;
    }
    const char *colon = argc == 4 ? strchr(argv[3], ':') : NULL;
    if (!colon) {
        fprintf(stderr, "usage: mutate_h5 --list IN; mutate_h5 IN OUT MUTATION:MEMBER\n");
        return 2;
    }
    char mutation[32];
    size_t n;
    (void)snprintf(mutation, sizeof mutation, "%.*s", (int)(colon - argv[3]), argv[3]);
    unsigned char *data = load(argv[1], &n);
    save(argv[2], data, n);
    free(data);
    const hid_t file = H5Fopen(argv[2], H5F_ACC_RDWR, H5P_DEFAULT);
    MUST(file);
    const bool done =
        colon[1] == '@' ? mutate_number(file, mutation, colon + 2) : mutate_dataset(file, mutation, colon + 1);
    MUST(H5Fclose(file));
    if (!done) die(argv[3]);
    seal(argv[2]);
    return 0;
}
