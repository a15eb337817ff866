#include "gguf/types_internal.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define READ_ONLY(name) geodec__types_decode_##name, NULL, NULL
#define PLAIN(name) geodec__types_decode_##name, geodec__encode_##name, geodec__encode_##name
#define SEARCHED(name) geodec__types_decode_##name, geodec__encode_##name, geodec__encode_nearest_##name
#define TRAITS(X, NAME, name, number, block, bytes, codec, limit, instead, file, product, packing)                     \
    {number, #NAME, block, bytes, codec(name), limit, GEODEC_GGML_##instead, file, GEODEC_GGML_##product},
static const geodec_ggml_traits table[] = {GEODEC_TENSOR_TYPES(TRAITS, )};
enum { N_TYPES = sizeof table / sizeof *table };

/* Row in the table, counted from 1, of every type number; 0: not supported. */
#define INDEX(X, NAME, ...) INDEX_##NAME,
#define PLACE(X, NAME, name, number, ...) [number] = INDEX_##NAME + 1,
enum { GEODEC_TENSOR_TYPES(INDEX, ) };
static const unsigned char place[] = {GEODEC_TENSOR_TYPES(PLACE, )};

const geodec_ggml_traits *geodec_ggml_traits_at(int i) { return i >= 0 && i < N_TYPES ? &table[i] : NULL; }

const geodec_ggml_traits *geodec_ggml_traits_of(int type)
{
    return type >= 0 && type < (int)sizeof place && place[type] ? &table[place[type] - 1] : NULL;
}

const geodec_ggml_traits *geodec_ggml_traits_named(const char *name)
{
    for (int k = 0; k < N_TYPES; k++) {
        size_t i = 0;
        while (name[i] && toupper((unsigned char)name[i]) == table[k].name[i]) i++;
        if (!name[i] && !table[k].name[i]) return &table[k];
    }
    return NULL;
}

size_t geodec_ggml_bytes(const geodec_ggml_traits *t, int64_t n)
{
    return (size_t)(n / t->block) * (size_t)t->block_bytes;
}

int geodec_ggml_integer_bytes(int type)
{
    return type == GEODEC_GGML_I8 ? 1 : type == GEODEC_GGML_I16 ? 2 : type == GEODEC_GGML_I32 ? 4 : 0;
}

const char *geodec_ggml_type_name(int type)
{
    /* Unsupported types of ggml, for messages. */
    static const char *const others[] = {
        [9] = "Q8_1", [15] = "Q8_K", [24] = "I8", [25] = "I16", [26] = "I32", [27] = "I64", [28] = "F64",
    };
    const geodec_ggml_traits *t = geodec_ggml_traits_of(type);
    if (t) return t->name;
    if (type < 0 || type >= (int)(sizeof others / sizeof *others) || !others[type]) return "unknown";
    return others[type];
}
