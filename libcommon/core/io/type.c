#include "io/type.h"

#include <stdbool.h>

static const struct {
    size_t size;
    const char *name;
} types[] = {
    [GEODEC_F64] = {8, "f64"}, [GEODEC_F32] = {4, "f32"}, [GEODEC_F16] = {2, "f16"}, [GEODEC_I64] = {8, "i64"},
    [GEODEC_I32] = {4, "i32"}, [GEODEC_I16] = {2, "i16"}, [GEODEC_I8] = {1, "i8"},   [GEODEC_U64] = {8, "u64"},
    [GEODEC_U32] = {4, "u32"}, [GEODEC_U16] = {2, "u16"}, [GEODEC_U8] = {1, "u8"},   [GEODEC_BF16] = {2, "bf16"},
};

static bool known(geodec_type t) { return (size_t)t < sizeof types / sizeof types[0]; }

size_t geodec_type_size(geodec_type t) { return known(t) ? types[t].size : 0; }
const char *geodec_type_name(geodec_type t) { return known(t) ? types[t].name : "?"; }
