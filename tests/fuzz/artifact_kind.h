/* The kind of artifact that fuzz_artifact reads and make_artifact_seed writes: a field of every sort. */
#ifndef GEODEC_TESTS_FUZZ_ARTIFACT_KIND_H
#define GEODEC_TESTS_FUZZ_ARTIFACT_KIND_H

#include "artifact/artifact.h"

static const geodec_field fuzz_fields[] = {
    {"/f64", GEODEC_F64, "N,K", 0, "1", "plain", 0},
    {"/u8", GEODEC_U8, "N,3", GEODEC_FIELD_COMPRESS, "1", "packed", 0},
    {"/i32", GEODEC_I32, "N", GEODEC_FIELD_STREAM, "1", "growing", 0},
    {"/g/f16", GEODEC_F16, "K", GEODEC_FIELD_OPTIONAL, "1", "in a group", 0},
    {"/scalar", GEODEC_I64, "", 0, "1", "one number", 0},
    {"/newer", GEODEC_F32, "K", GEODEC_FIELD_NONFINITE, "1", "since 1.1", 1},
};
static const geodec_attr fuzz_attrs[] = {
    {"count", GEODEC_ATTR_I64, 0, "a whole number"},
    {"share", GEODEC_ATTR_F64, 0, "a real number"},
    {"note", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "a text"},
};
static const geodec_kind fuzz_kind = {.name = "fuzz",
                                      .major = 1,
                                      .minor = 1,
                                      .tool = "fuzz_artifact",
                                      .purpose = "tests",
                                      .fields = fuzz_fields,
                                      .n_fields = sizeof fuzz_fields / sizeof *fuzz_fields,
                                      .attrs = fuzz_attrs,
                                      .n_attrs = sizeof fuzz_attrs / sizeof *fuzz_attrs};

#endif
