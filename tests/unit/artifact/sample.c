#include "sample.h"

#include "base/f16.h"
#include "base/mem.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define OPT GEODEC_FIELD_OPTIONAL
static const geodec_field fields[] = {
    {"/f64", GEODEC_F64, "N,K", 0, "1", "doubles", 0},
    {"/f32", GEODEC_F32, "N,K", GEODEC_FIELD_COMPRESS, "m", "floats", 0},
    {"/f16", GEODEC_F16, "N", 0, "1", "halves", 0},
    {"/i64", GEODEC_I64, "N", GEODEC_FIELD_COMPRESS, "1", "longs", 0},
    {"/group/i32", GEODEC_I32, "K,2,K", 0, "1", "ints below a group", 0},
    {"/group/i16", GEODEC_I16, "K", 0, "1", "shorts", 0},
    {"/i8", GEODEC_I8, "K", 0, "1", "signed bytes", 0},
    {"/u64", GEODEC_U64, "K", 0, "1", "unsigned longs", 0},
    {"/u32", GEODEC_U32, "K", 0, "1", "unsigned ints", 0},
    {"/u16", GEODEC_U16, "K", 0, "1", "unsigned shorts", 0},
    {"/u8", GEODEC_U8, "K", 0, "1", "bytes", 0},
    {"/scalar", GEODEC_F64, "", 0, "s", "one double", 0},
    {"/stream", GEODEC_F32, "T,K", GEODEC_FIELD_STREAM, "1", "rows that arrive in slabs", 0},
    {"/stream_id", GEODEC_I32, "T", GEODEC_FIELD_STREAM | GEODEC_FIELD_COMPRESS, "1", "their numbers", 0},
    {"/maybe", GEODEC_F64, "N", OPT | GEODEC_FIELD_NONFINITE, "1", "may be absent and may be NaN", 0},
    {"/newer", GEODEC_F64, "K", 0, "1", "required since minor 1", 1},
};
enum { N_FIELDS = sizeof fields / sizeof fields[0] };
static const geodec_attr attrs[] = {
    {"count", GEODEC_ATTR_I64, 0, "a whole number"},
    {"ratio", GEODEC_ATTR_F64, 0, "a real number"},
    {"note", GEODEC_ATTR_STR, 0, "a text"},
    {"extra", GEODEC_ATTR_STR, OPT, "another text"},
};

#define SAMPLE(name_, major_, minor_, n_)                                                                              \
    {                                                                                                                  \
        .name = name_, .major = major_, .minor = minor_, .tool = "geodec-sample", .purpose = "a sample",               \
        .fields = fields, .n_fields = (n_), .attrs = attrs, .n_attrs = 4                                               \
    }
const geodec_kind sample_kind = SAMPLE("sample", 1, 1, N_FIELDS);
const geodec_kind sample_kind_1_0 = SAMPLE("sample", 1, 0, N_FIELDS - 1);
const geodec_kind sample_kind_2 = SAMPLE("sample", 2, 1, N_FIELDS);
const geodec_kind other_kind = {.name = "other", .major = 1, .tool = "geodec-other", .purpose = "another"};

geodec_provenance sample_provenance(void)
{
    geodec_provenance p = {.tool = "geodec-sample",
                           .command_line = "geodec-sample --seed=7",
                           .seed = 7,
                           .blas_core = "Test",
                           .n_inputs = 1};
    p.model_fingerprint = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    p.tokenizer_fingerprint = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100";
    (void)snprintf(p.input[0].name, sizeof p.input[0].name, "in.h5");
    memset(p.input[0].sha256, 'a', GEODEC_SHA256_HEX - 1);
    return p;
}

int64_t sample_value(int field, int64_t i) { return (i * 7 + field * 3) % 101; }

static void fill(geodec_type t, int field, int64_t first, int64_t n, void *data)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t v = sample_value(field, first + i);
        switch (t) {
        case GEODEC_F64:
            ((double *)data)[i] = (double)v;
            break;
        case GEODEC_F32:
            ((float *)data)[i] = (float)v;
            break;
        case GEODEC_F16:
            ((uint16_t *)data)[i] = geodec_f32_to_f16((float)v);
            break;
        default:
            memcpy((char *)data + (size_t)i * geodec_type_size(t), &v, geodec_type_size(t)); /* little-endian */
        }
    }
}

geodec_artifact *sample_start(const geodec_kind *kind, const char *path)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    const geodec_provenance p = sample_provenance();
    static double data[SAMPLE_N * SAMPLE_K];
    test_ok(geodec_artifact_create(kind, path, &p, &a, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "N", SAMPLE_N, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "K", SAMPLE_K, &err), &err);
    for (int f = 0; f < kind->n_fields; f++) {
        const geodec_field *field = &kind->fields[f];
        if (strcmp(field->path, "/maybe") == 0) continue;
        const int64_t width = strcmp(field->path, "/stream") == 0 ? SAMPLE_K : 1;
        if (field->flags & GEODEC_FIELD_STREAM) {
            for (int64_t row = 0, slab = 1; row < SAMPLE_N;
                 row += slab, slab = row * 3 + 1 < SAMPLE_N ? slab * 3 : SAMPLE_N - row) {
                fill(field->type, f, row * width, slab * width, data);
                test_ok(geodec_artifact_append(a, field->path, slab, data, &err), &err);
            }
        } else {
            fill(field->type, f, 0, SAMPLE_N * SAMPLE_K, data);
            test_ok(geodec_artifact_write(a, field->path, data, &err), &err);
        }
    }
    test_ok(geodec_artifact_put_i64(a, "count", -42, &err), &err);
    test_ok(geodec_artifact_put_f64(a, "ratio", 0.1, &err), &err);
    test_ok(geodec_artifact_put_str(a, "note", "na\xc3\xafve", &err), &err);
    return a;
}

void sample_write(const geodec_kind *kind, const char *path)
{
    geodec_err err = {0};
    test_ok(geodec_artifact_commit(sample_start(kind, path), &err), &err);
}
