/* The artifact engine: values are read as written, files have the same bytes every time, and errors are refused. */
#include "artifact/artifact.h"
#include "base/f16.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/h5.h"
#include "sample.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

Test(artifact, attributes_and_provenance_round_trip)
{
    const char *path = test_tmp("a.h5");
    const geodec_provenance p = sample_provenance();
    geodec_artifact *a = NULL;
    int64_t i;
    double d;
    const char *s;
    char whole[GEODEC_SHA256_HEX];
    sample_write(&sample_kind, path);
    test_ok(geodec_artifact_open(&sample_kind, path, &a, &err), &err);
    test_ok(geodec_artifact_get_i64(a, "count", &i, &err), &err);
    cr_assert_eq(i, -42);
    test_ok(geodec_artifact_get_f64(a, "ratio", &d, &err), &err);
    cr_assert_eq(d, 0.1);
    test_ok(geodec_artifact_get_str(a, "note", &s, &err), &err);
    cr_assert_str_eq(s, "na\xc3\xafve");
    cr_assert(!geodec_artifact_has_attr(a, "extra") && geodec_artifact_has_attr(a, "note"));
    cr_assert_eq(geodec_artifact_get_str(a, "extra", &s, &err), GEODEC_NOTFOUND);
    cr_assert_eq(geodec_artifact_get_str(a, "nonsense", &s, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_artifact_get_i64(a, "ratio", &i, &err), GEODEC_INVAL);
    test_ok(geodec_artifact_get_str(a, "model_fingerprint", &s, &err), &err);
    cr_assert_str_eq(s, p.model_fingerprint);
    const geodec_provenance *q = geodec_artifact_provenance(a);
    cr_assert_str_eq(q->tool, p.tool);
    cr_assert_str_eq(q->command_line, p.command_line);
    cr_assert_str_eq(q->blas_core, "Test");
    cr_assert_eq(q->seed, 7);
    cr_assert_eq(q->n_inputs, 1);
    cr_assert_str_eq(q->input[0].name, "in.h5");
    cr_assert_str_eq(q->input[0].sha256, p.input[0].sha256);
    test_ok(geodec_file_sha256(path, whole, &err), &err);
    cr_assert_str_eq(geodec_artifact_sha256(a), whole);
    /* what is made from it */
    geodec_provenance next = {.tool = "geodec-next"};
    test_ok(geodec_provenance_add_artifact(&next, a, &err), &err);
    cr_assert_str_eq(next.inherited_model, p.model_fingerprint);
    cr_assert_str_eq(next.input[0].name, "a.h5");
    cr_assert_str_eq(next.input[0].sha256, whole);
    next.model_fingerprint = p.tokenizer_fingerprint;
    cr_assert_eq(geodec_provenance_add_artifact(&next, a, &err), GEODEC_CHECKSUM, "inputs of two models");
    next = (geodec_provenance){.tool = "geodec-next"};
    for (int k = 0; k < GEODEC_INPUTS_MAX; k++) test_ok(geodec_provenance_add_file(&next, path, &err), &err);
    cr_assert_eq(geodec_provenance_add_file(&next, path, &err), GEODEC_LIMIT);
    geodec_artifact_close(a);
}

/* HDF5 reads zeros after the end of a file, and zeros have a checksum of zeros. */
Test(artifact, truncated_after_it_was_opened)
{
    const char *path = test_tmp("a.h5");
    geodec_artifact *a = NULL;
    sample_write(&sample_kind, path);
    struct stat whole;
    cr_assert_eq(stat(path, &whole), 0);
    for (off_t left = 0; left < whole.st_size; left += whole.st_size / 16) {
        sample_write(&sample_kind, path);
        test_ok(geodec_artifact_open(&sample_kind, path, &a, &err), &err);
        cr_assert_eq(truncate(path, left), 0);
        for (int f = 0; f < sample_kind.n_fields; f++) {
            const geodec_field *field = &sample_kind.fields[f];
            void *data = NULL;
            if (!geodec_artifact_has(a, field->path)) continue;
            geodec_err_clear(&err);
            cr_assert_eq(geodec_artifact_read(a, field->path, &data, &err), GEODEC_IO, "%s at %lld: %s", field->path,
                         (long long)left, err.frame[0].text);
            cr_assert_null(data);
        }
        geodec_artifact_close(a);
    }
}

Test(artifact, same_input_same_bytes)
{
    const char *path[3] = {test_tmp("a.h5"), test_tmp("b.h5"), test_tmp("c.h5")};
    char hex[3][GEODEC_SHA256_HEX];
    sample_write(&sample_kind, path[0]);
    (void)sleep(1); /* an object time would show */
    sample_write(&sample_kind, path[1]);
    for (int i = 0; i < 2; i++) test_ok(geodec_file_sha256(path[i], hex[i], &err), &err);
    cr_assert_str_eq(hex[0], hex[1]);
    /* and over existing contents */
    sample_write(&sample_kind_1_0, path[0]);
    sample_write(&sample_kind, path[0]);
    test_ok(geodec_file_sha256(path[0], hex[2], &err), &err);
    cr_assert_str_eq(hex[0], hex[2]);
}

Test(artifact, every_array_has_fletcher32_and_chunks_of_whole_rows)
{
    const char *path = test_tmp("a.h5");
    sample_write(&sample_kind, path);
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    cr_assert_geq(file, 0);
    for (int f = 0; f < sample_kind.n_fields; f++) {
        const geodec_field *field = &sample_kind.fields[f];
        if (!strcmp(field->path, "/maybe") || !field->dims[0]) continue;
        const hid_t ds = H5Dopen2(file, field->path, H5P_DEFAULT), pl = H5Dget_create_plist(ds);
        bool fletcher = false, deflate = false;
        for (int k = 0; k < H5Pget_nfilters(pl); k++) {
            size_t none = 0;
            const H5Z_filter_t z = H5Pget_filter2(pl, (unsigned)k, NULL, &none, NULL, 0, NULL, NULL);
            fletcher = fletcher || z == H5Z_FILTER_FLETCHER32;
            deflate = deflate || z == H5Z_FILTER_DEFLATE;
        }
        cr_assert(fletcher, "%s", field->path);
        cr_assert_eq(deflate, (field->flags & GEODEC_FIELD_COMPRESS) != 0, "%s", field->path);
        hsize_t chunk[6];
        cr_assert_gt(H5Pget_chunk(pl, 6, chunk), 0);
        if (strchr(field->dims, ','))
            cr_assert_eq(chunk[1], strstr(field->dims, "2,K") ? 2 : SAMPLE_K, "%s", field->path);
        cr_assert(H5Pclose(pl) >= 0 && H5Dclose(ds) >= 0);
    }
    cr_assert_geq(H5Fclose(file), 0);
}

Test(artifact, rows_are_read_in_any_order)
{
    const char *path = test_tmp("a.h5");
    geodec_artifact *a = NULL;
    float rows[5 * SAMPLE_K];
    const int field = 12; /* /stream */
    cr_assert_str_eq(sample_kind.fields[field].path, "/stream");
    sample_write(&sample_kind, path);
    test_ok(geodec_artifact_open(&sample_kind, path, &a, &err), &err);
    static const int64_t starts[] = {995, 0, 500, 995, 7};
    for (size_t k = 0; k < sizeof starts / sizeof starts[0]; k++) {
        test_ok(geodec_artifact_read_rows(a, "/stream", starts[k], 5, rows, &err), &err);
        for (int i = 0; i < 5 * SAMPLE_K; i++)
            cr_assert_eq((int64_t)rows[i], sample_value(field, starts[k] * SAMPLE_K + i));
    }
    test_ok(geodec_artifact_read_rows(a, "/stream", SAMPLE_N, 0, rows, &err), &err);
    cr_assert_eq(geodec_artifact_read_rows(a, "/stream", 996, 5, rows, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_artifact_read_rows(a, "/stream", -1, 5, rows, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_artifact_read_rows(a, "/stream", INT64_MAX, INT64_MAX, rows, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_artifact_read_rows(a, "/scalar", 0, 1, rows, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_artifact_read_rows(a, "/maybe", 0, 1, rows, &err), GEODEC_NOTFOUND);
    cr_assert_eq(geodec_artifact_read_rows(a, "/nonsense", 0, 1, rows, &err), GEODEC_INVAL);
    geodec_artifact_close(a);
}

/* ---- wide rows, no rows ----------------------------------------------------------------------------------------- */

static const geodec_field shape_fields[] = {
    {"/wide", GEODEC_F64, "R,A,B", 0, "1", "rows above a chunk's limit", 0},
    {"/rows", GEODEC_I32, "S,Z", GEODEC_FIELD_STREAM, "1", "no rows, or rows of nothing", 0},
    {"/none", GEODEC_F32, "Z,R", 0, "1", "no elements", 0},
};
static const geodec_kind shape_kind = {.name = "shape",
                                       .major = 3,
                                       .tool = "geodec-shape",
                                       .purpose = "odd shapes",
                                       .fields = shape_fields,
                                       .n_fields = 3};

Test(artifact, wide_rows_and_empty_fields)
{
    const char *path = test_tmp("s.h5");
    enum { R = 2, A = 7, B = 40001 };
    geodec_artifact *a = NULL;
    geodec_provenance p = {.tool = "geodec-shape"};
    int64_t shape[6];
    int rank;
    double *wide = geodec_mem_new(R * A * B, sizeof *wide), *back = NULL;
    int32_t *nothing = NULL;
    for (int64_t i = 0; i < R * A * B; i++) wide[i] = (double)i;
    test_ok(geodec_artifact_create(&shape_kind, path, &p, &a, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "R", R, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "A", A, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "B", B, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "Z", 0, &err), &err);
    test_ok(geodec_artifact_write(a, "/wide", wide, &err), &err);
    test_ok(geodec_artifact_write(a, "/none", wide, &err), &err);
    test_ok(geodec_artifact_append(a, "/rows", 0, wide, &err), &err);
    test_ok(geodec_artifact_append(a, "/rows", 4, wide, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&shape_kind, path, &a, &err), &err);
    test_ok(geodec_artifact_read(a, "/wide", &back, &err), &err);
    cr_assert_eq(test_max_abs_diff(wide, back, R * A * B), 0);
    test_ok(geodec_artifact_shape(a, "/rows", shape, &rank, &err), &err);
    cr_assert(rank == 2 && shape[0] == 4 && shape[1] == 0);
    test_ok(geodec_artifact_read(a, "/rows", &nothing, &err), &err);
    cr_assert_not_null(nothing);
    int64_t extent;
    const char *const dims[] = {"R", "A", "B", "S", "Z"};
    for (int i = 0; i < 5; i++) cr_assert_str_eq(geodec_artifact_dim_at(a, i, &extent), dims[i]);
    cr_assert_null(geodec_artifact_dim_at(a, 5, &extent));
    geodec_artifact_close(a);
    geodec_mem_free(wide);
    geodec_mem_free(back);
    geodec_mem_free(nothing);
}

Test(artifact, bytes_do_not_depend_on_how_rows_arrive)
{
    static const geodec_field fields[] = {{"/x", GEODEC_F64, "T", GEODEC_FIELD_STREAM, "1", "a stream", 0}};
    static const geodec_kind kind = {.name = "s", .tool = "t", .purpose = "p", .fields = fields, .n_fields = 1};
    const geodec_provenance p = {.tool = "t"};
    enum { N = 100003 };
    static const int64_t slabs[] = {N, 1, 777, 32768, 50000};
    double *x = geodec_mem_new(N, sizeof *x), *back = NULL;
    char first[GEODEC_SHA256_HEX], hex[GEODEC_SHA256_HEX];
    for (int i = 0; i < N; i++) x[i] = i * 0.37;
    for (size_t k = 0; k < sizeof slabs / sizeof slabs[0]; k++) {
        const char *path = test_tmp("s.h5");
        geodec_artifact *a = NULL;
        test_ok(geodec_artifact_create(&kind, path, &p, &a, &err), &err);
        for (int64_t row = 0; row < N; row += slabs[k])
            test_ok(geodec_artifact_append(a, "/x", row + slabs[k] < N ? slabs[k] : N - row, x + row, &err), &err);
        test_ok(geodec_artifact_commit(a, &err), &err);
        test_ok(geodec_file_sha256(path, hex, &err), &err);
        if (k == 0) memcpy(first, hex, sizeof first);
        cr_assert_str_eq(hex, first, "slabs of %lld rows", (long long)slabs[k]);
        test_ok(geodec_artifact_open(&kind, path, &a, &err), &err);
        test_ok(geodec_artifact_read(a, "/x", &back, &err), &err);
        cr_assert_eq(memcmp(x, back, N * sizeof *x), 0);
        geodec_mem_free(back);
        geodec_artifact_close(a);
    }
    geodec_mem_free(x);
}

/* Whole chunks carry a checksum of the writer's own; HDF5 compares it when it reads. Words of all zeros and all ones
 * sum to nothing modulo 65535, where its rule for zero shows. */
Test(artifact, checksums_of_whole_chunks_are_what_hdf5_expects)
{
    static const geodec_field fields[] = {{"/x", GEODEC_I32, "T,3", GEODEC_FIELD_STREAM, "1", "a stream", 0}};
    static const geodec_kind kind = {.name = "s", .tool = "t", .purpose = "p", .fields = fields, .n_fields = 1};
    const geodec_provenance p = {.tool = "t"};
    enum { N = 150000 };
    int32_t *x = geodec_mem_new(3 * N, sizeof *x), *back = NULL;
    geodec_artifact *a = NULL;
    for (int i = 0; i < 3 * N; i++) x[i] = i < N ? 0 : i < 2 * N ? -1 : (int32_t)((uint32_t)i * 2654435761u);
    test_ok(geodec_artifact_create(&kind, test_tmp("c.h5"), &p, &a, &err), &err);
    test_ok(geodec_artifact_append(a, "/x", N, x, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&kind, test_tmp("c.h5"), &a, &err), &err);
    test_ok(geodec_artifact_read(a, "/x", &back, &err), &err);
    cr_assert_eq(memcmp(x, back, 3 * N * sizeof *x), 0);
    geodec_artifact_close(a);
    geodec_mem_free(back);
    geodec_mem_free(x);
}

/* ---- errors of the writer ------------------------------------------------------------------------------------- */

Test(artifact, non_finite_values_are_refused_unless_the_field_allows_them)
{
    const char *path = test_tmp("a.h5");
    geodec_artifact *a = sample_start(&sample_kind_1_0, path);
    static double v[SAMPLE_N];
    float slab[2 * SAMPLE_K] = {0};
    char line[512];
    v[3] = NAN;
    test_ok(geodec_artifact_write(a, "/maybe", v, &err), &err);
    slab[4] = INFINITY;
    cr_assert_eq(geodec_artifact_append(a, "/stream", 2, slab, &err), GEODEC_NUMERIC);
    (void)geodec_err_line(&err, line, sizeof line);
    cr_assert(strstr(line, path) && strstr(line, "/stream") && strstr(line, "element 3004"), "%s", line);
    geodec_artifact_close(a);

    static const struct {
        const char *path;
        geodec_type type;
    } bad[] = {{"/f64", GEODEC_F64}, {"/f32", GEODEC_F32}, {"/f16", GEODEC_F16}};
    const geodec_provenance p = {.tool = "t"};
    for (int k = 0; k < 3; k++) {
        static double data[SAMPLE_N * SAMPLE_K];
        memset(data, 0, sizeof data);
        if (bad[k].type == GEODEC_F64) data[0] = -INFINITY;
        if (bad[k].type == GEODEC_F32) ((float *)data)[SAMPLE_N] = NAN;
        if (bad[k].type == GEODEC_F16) ((uint16_t *)data)[SAMPLE_N - 1] = 0xfc00;
        test_ok(geodec_artifact_create(&sample_kind, path, &p, &a, &err), &err);
        test_ok(geodec_artifact_set_dim(a, "N", SAMPLE_N, &err), &err);
        test_ok(geodec_artifact_set_dim(a, "K", SAMPLE_K, &err), &err);
        cr_assert_eq(geodec_artifact_write(a, bad[k].path, data, &err), GEODEC_NUMERIC, "%s", bad[k].path);
        cr_assert_eq(geodec_artifact_put_f64(a, "ratio", NAN, &err), GEODEC_NUMERIC);
        geodec_artifact_close(a);
    }
    cr_assert_eq(test_other_files(path), 0);
    cr_assert_neq(access(path, F_OK), 0);
}

Test(artifact, incomplete_and_inconsistent_files_are_not_committed)
{
    const char *path = test_tmp("a.h5");
    const geodec_provenance p = {.tool = "t"};
    geodec_artifact *a = NULL;
    static double v[SAMPLE_N * SAMPLE_K];
    char line[512];
    test_ok(geodec_artifact_create(&sample_kind, path, &p, &a, &err), &err);
    cr_assert_eq(geodec_artifact_set_dim(a, "Q", 1, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_artifact_set_dim(a, "N", -1, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_artifact_write(a, "/f64", v, &err), GEODEC_INVAL, "dimensions are not set");
    test_ok(geodec_artifact_set_dim(a, "N", SAMPLE_N, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "K", SAMPLE_K, &err), &err);
    cr_assert_eq(geodec_artifact_set_dim(a, "K", SAMPLE_K + 1, &err), GEODEC_INVAL);
    test_ok(geodec_artifact_write(a, "/f64", v, &err), &err);
    cr_assert_eq(geodec_artifact_write(a, "/f64", v, &err), GEODEC_INVAL, "twice");
    cr_assert_eq(geodec_artifact_append(a, "/f64", 1, v, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_artifact_append(a, "/stream", -1, v, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_artifact_put_str(a, "count", "x", &err), GEODEC_INVAL);
    cr_assert_eq(geodec_artifact_put_str(a, "note", "\xff", &err), GEODEC_INVAL);
    cr_assert_eq(geodec_artifact_put_str(a, "nonsense", "x", &err), GEODEC_INVAL);
    cr_assert_eq(geodec_artifact_commit(a, &err), GEODEC_INVAL);
    cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "/f32"), "%s", line);

    a = sample_start(&sample_kind, path);
    test_ok(geodec_artifact_append(a, "/stream_id", 1, v, &err), &err);
    cr_assert_eq(geodec_artifact_commit(a, &err), GEODEC_INVAL, "/stream and /stream_id disagree about T");
    cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "/stream_id"), "%s", line);

    cr_assert_neq(access(path, F_OK), 0);
    cr_assert_eq(test_other_files(path), 0);
    cr_assert_eq(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

Test(artifact, malformed_tables_are_found)
{
    const geodec_provenance p = {.tool = "t"};
    static const geodec_field bad[] = {
        {"x", GEODEC_F64, "N", 0, "1", "no slash", 0},
        {"/a/b/c", GEODEC_F64, "N", 0, "1", "two groups", 0},
        {"/x", GEODEC_F64, "N,", 0, "1", "an axis without name", 0},
        {"/x", GEODEC_F64, "N,,K", 0, "1", "likewise", 0},
        {"/x", GEODEC_F64, "A,B,C,D,E,F,G", 0, "1", "seven axes", 0},
        {"/x", GEODEC_F64, "0", 0, "1", "nothing", 0},
        {"/x", GEODEC_F64, "3N", 0, "1", "neither name nor number", 0},
        {"/x", GEODEC_F64, "3", GEODEC_FIELD_STREAM, "1", "a fixed stream", 0},
        {"/x", (geodec_type)99, "N", 0, "1", "no type", 0},
        {"/x", GEODEC_F64, "N", 0, "", "no unit", 0},
        {"/x", GEODEC_F64, "N", 0, "1", "from the future", 5},
    };
    geodec_artifact *a = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const geodec_kind k = {.name = "k", .tool = "t", .purpose = "p", .fields = &bad[i], .n_fields = 1};
        cr_assert_eq(geodec_artifact_create(&k, test_tmp("k.h5"), &p, &a, &err), GEODEC_INTERNAL, "%s",
                     bad[i].long_name);
    }
    cr_assert_eq(test_other_files(test_tmp("k.h5")), 0);
}

/* ---- refusals of a reader -------------------------------------------------------------------------------------- */

static void refused(const geodec_kind *kind, const char *path, geodec_status wanted, const char *word, const char *tool)
{
    geodec_artifact *a = NULL;
    char line[1024];
    const geodec_status st = geodec_artifact_open(kind, path, &a, &err);
    (void)geodec_err_line(&err, line, sizeof line);
    cr_assert_eq(st, wanted, "%s: %s", geodec_status_name(st), line);
    cr_assert_null(a);
    cr_assert(strstr(line, path) && strstr(line, word) && (!tool || strstr(line, tool)), "%s", line);
    cr_assert_eq(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

Test(artifact, wrong_kind_and_version)
{
    const char *path = test_tmp("a.h5");
    sample_write(&sample_kind, path);
    refused(&other_kind, path, GEODEC_FORMAT, "'sample'", "geodec-other");
    refused(&sample_kind_2, path, GEODEC_VERSION, "version 1.1", "geodec-sample");
    refused(&sample_kind, test_tmp("nothing.h5"), GEODEC_NOTFOUND, "No such file", NULL);
    refused(&sample_kind, test_tmpdir(), GEODEC_IO, "folder", NULL);
    const geodec_kind *const kinds[] = {&other_kind, &sample_kind};
    geodec_artifact *a = NULL;
    test_ok(geodec_artifact_open_any(kinds, 2, path, &a, &err), &err);
    cr_assert_eq(geodec_artifact_kind(a), &sample_kind);
    geodec_artifact_close(a);
    cr_assert_eq(geodec_artifact_open_any(kinds, 1, path, &a, &err), GEODEC_UNSUPPORTED);
}

Test(artifact, minor_versions_read_each_other)
{
    const char *path = test_tmp("a.h5");
    geodec_artifact *a = NULL;
    int major, minor;
    sample_write(&sample_kind_1_0, path); /* no /newer */
    test_ok(geodec_artifact_open(&sample_kind, path, &a, &err), &err);
    geodec_artifact_version(a, &major, &minor);
    cr_assert(major == 1 && minor == 0);
    cr_assert_not(geodec_artifact_has(a, "/newer"));
    geodec_artifact_close(a);
    sample_write(&sample_kind, path);
    test_ok(geodec_artifact_open(&sample_kind_1_0, path, &a, &err), &err);
    geodec_artifact_version(a, &major, &minor);
    cr_assert(major == 1 && minor == 1);
    geodec_artifact_close(a);
}

/* ---- a table that differs from the file's in one way each -------------------------------------------------------- */

static const geodec_field truth[] = {
    {"/a", GEODEC_F64, "N,K", 0, "1", "truth", 0},
    {"/b", GEODEC_I32, "K", 0, "1", "truth", 0},
};

Test(artifact, fields_that_do_not_fit_the_table)
{
    const char *path = test_tmp("t.h5");
    const geodec_kind kind = {.name = "t", .tool = "geodec-t", .purpose = "p", .fields = truth, .n_fields = 2};
    const geodec_provenance p = {.tool = "t"};
    geodec_artifact *a = NULL;
    const double x[12] = {0};
    test_ok(geodec_artifact_create(&kind, path, &p, &a, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "N", 4, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "K", 3, &err), &err);
    test_ok(geodec_artifact_write(a, "/a", x, &err), &err);
    test_ok(geodec_artifact_write(a, "/b", x, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    static const struct {
        geodec_field field;
        const char *word;
    } other[] = {
        {{"/a", GEODEC_F32, "N,K", 0, "1", "x", 0}, "/a is not of type f32"},
        {{"/a", GEODEC_I64, "N,K", 0, "1", "x", 0}, "/a is not of type i64"},
        {{"/a", GEODEC_F64, "N", 0, "1", "x", 0}, "/a has rank 2, not 1"},
        {{"/a", GEODEC_F64, "", 0, "1", "x", 0}, "/a has rank 2, not 0"},
        {{"/a", GEODEC_F64, "N,5", 0, "1", "x", 0}, "/a: axis 1 has 3 elements, not 5"},
        {{"/a", GEODEC_F64, "K,K", 0, "1", "x", 0}, "/a: dimension K is 3, elsewhere 4"},
        {{"/c", GEODEC_F64, "N,K", 0, "1", "x", 0}, "/c is missing"},
        {{"/a/c", GEODEC_F64, "N,K", 0, "1", "x", 0}, "/a/c is not a dataset"},
    };
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        const geodec_field fields[] = {other[i].field, truth[1]};
        const geodec_kind k = {.name = "t", .tool = "geodec-t", .purpose = "p", .fields = fields, .n_fields = 2};
        refused(&k, path, GEODEC_FORMAT, other[i].word, "geodec-t");
    }
    static const geodec_attr needed[] = {{"level", GEODEC_ATTR_I64, 0, "x"}};
    const geodec_kind k = {
        .name = "t", .tool = "geodec-t", .purpose = "p", .fields = truth, .n_fields = 2, .attrs = needed, .n_attrs = 1};
    refused(&k, path, GEODEC_FORMAT, "attribute level is missing", "geodec-t");
}

/* ---- every byte counts ------------------------------------------------------------------------------------------ */

Test(artifact, any_flipped_bit_cut_or_addition_is_refused)
{
    const char *path = test_tmp("a.h5"), *bad = test_tmp("bad.h5");
    geodec_file_map m;
    geodec_artifact *a = NULL;
    sample_write(&sample_kind, path);
    test_ok(geodec_file_map_open(path, &m, &err), &err);
    uint8_t *copy = geodec_mem_new((int64_t)m.size + 1, 1);
    memcpy(copy, m.data, m.size);
    const size_t n = m.size;
    geodec_file_map_close(&m);
    /* every byte of the header, then a stride through the rest; truncation at other positions */
    for (size_t at = 0; at < n; at += at < 160 ? 1 : 397) {
        FILE *f = fopen(bad, "wb");
        copy[at] ^= (uint8_t)(1u << (at % 8));
        cr_assert_eq(fwrite(copy, 1, n, f), n);
        copy[at] ^= (uint8_t)(1u << (at % 8));
        cr_assert_eq(fclose(f), 0);
        const geodec_status st = geodec_artifact_open(&sample_kind, bad, &a, &err);
        cr_assert(st == GEODEC_FORMAT || st == GEODEC_CHECKSUM || st == GEODEC_VERSION, "byte %zu: %s", at,
                  geodec_status_name(st));
        f = fopen(bad, "wb");
        cr_assert_eq(fwrite(copy, 1, at, f), at);
        cr_assert_eq(fclose(f), 0);
        const geodec_status cut = geodec_artifact_open(&sample_kind, bad, &a, &err);
        cr_assert(cut == GEODEC_FORMAT || cut == GEODEC_CHECKSUM, "cut at %zu: %s", at, geodec_status_name(cut));
    }
    FILE *f = fopen(bad, "wb");
    cr_assert_eq(fwrite(copy, 1, n + 1, f), n + 1); /* one byte appended */
    cr_assert_eq(fclose(f), 0);
    refused(&sample_kind, bad, GEODEC_CHECKSUM, "digest", "geodec-sample");
    geodec_mem_free(copy);
}

/* ---- the disk --------------------------------------------------------------------------------------------------- */

static void full_disk_at(rlim_t limit)
{
    const char *path = test_tmp("a.h5");
    char before[GEODEC_SHA256_HEX], after[GEODEC_SHA256_HEX];
    geodec_artifact *a = NULL;
    const geodec_provenance p = sample_provenance();
    sample_write(&sample_kind_1_0, path);
    test_ok(geodec_file_sha256(path, before, &err), &err);
    (void)signal(SIGXFSZ, SIG_IGN); /* writes then fail with EFBIG */
    const struct rlimit small = {limit, limit};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    static const geodec_field fields[] = {{"/x", GEODEC_F64, "N", 0, "1", "much", 0},
                                          {"/y", GEODEC_F64, "T", GEODEC_FIELD_STREAM, "1", "more", 0}};
    static const geodec_kind kind = {.name = "big", .tool = "t", .purpose = "p", .fields = fields, .n_fields = 2};
    static double data[100000];
    for (int i = 0; i < 100000; i++) data[i] = i * 0.37;
    geodec_status st = geodec_artifact_create(&kind, path, &p, &a, &err);
    if (st == GEODEC_OK) {
        st = geodec_artifact_set_dim(a, "N", 100000, &err);
        if (st == GEODEC_OK) st = geodec_artifact_write(a, "/x", data, &err);
        for (int k = 0; k < 4 && st == GEODEC_OK; k++) st = geodec_artifact_append(a, "/y", 25000, data, &err);
        if (st == GEODEC_OK)
            st = geodec_artifact_commit(a, &err);
        else
            geodec_artifact_close(a);
    }
    cr_assert_eq(st, GEODEC_IO, "limit %ld: %s", (long)limit, geodec_status_name(st));
    char line[512];
    (void)geodec_err_line(&err, line, sizeof line);
    cr_assert(strstr(line, path) && strstr(line, "File too large"), "%s", line);
    test_ok(geodec_file_sha256(path, after, &err), &err);
    cr_assert_str_eq(before, after);
    cr_assert_eq(test_other_files(path), 0);
}

Test(artifact, full_disk_at_create) { full_disk_at(100); }
Test(artifact, full_disk_in_the_first_field) { full_disk_at(200000); }
Test(artifact, full_disk_in_a_stream) { full_disk_at(900000); }
Test(artifact, full_disk_at_close) { full_disk_at(1601000); }

Test(artifact, a_killed_writer_leaves_the_target_and_the_next_run_goes_through)
{
    const char *path = test_tmp("a.h5");
    char before[GEODEC_SHA256_HEX], after[GEODEC_SHA256_HEX];
    geodec_artifact *a = NULL;
    sample_write(&sample_kind, path);
    test_ok(geodec_file_sha256(path, before, &err), &err);
    const pid_t child = fork();
    if (child == 0) {
        (void)sample_start(&sample_kind_1_0, path);
        (void)raise(SIGKILL);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    test_ok(geodec_file_sha256(path, after, &err), &err);
    cr_assert_str_eq(before, after);
    test_ok(geodec_artifact_open(&sample_kind, path, &a, &err), &err);
    geodec_artifact_close(a);
    sample_write(&sample_kind, path);
    test_ok(geodec_file_sha256(path, after, &err), &err);
    cr_assert_str_eq(before, after);
    cr_assert_eq(test_other_files(path), 0);
}

Test(artifact, memory_shortage_is_an_error_everywhere)
{
    const char *path = test_tmp("a.h5");
    geodec_artifact *a = NULL;
    const geodec_provenance p = sample_provenance();
    sample_write(&sample_kind, path);
    int failures = 0;
    for (int64_t k = 1; k < 60; k++) {
        geodec_mem_fail_after(k);
        geodec_status st = geodec_artifact_open(&sample_kind, path, &a, &err);
        if (st == GEODEC_OK) {
            void *data = NULL;
            st = geodec_artifact_read(a, "/f64", &data, &err);
            geodec_mem_free(data);
            geodec_artifact_close(a);
        }
        cr_assert(st == GEODEC_OK || st == GEODEC_NOMEM, "allocation %lld: %s", (long long)k, geodec_status_name(st));
        failures += st == GEODEC_NOMEM;
        geodec_mem_fail_after(k);
        st = geodec_artifact_create(&sample_kind, test_tmp("b.h5"), &p, &a, &err);
        cr_assert(st == GEODEC_OK || st == GEODEC_NOMEM, "allocation %lld: %s", (long long)k, geodec_status_name(st));
        failures += st == GEODEC_NOMEM;
        if (st == GEODEC_OK) geodec_artifact_close(a);
        geodec_mem_fail_after(0);
        cr_assert_eq(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
    }
    cr_assert_gt(failures, 20);
    cr_assert_eq(test_other_files(path), 0);
}
