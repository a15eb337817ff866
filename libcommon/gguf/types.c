#include "gguf/types_internal.h"

#include <math.h>

#define PLAIN(T, t, block, bytes, limit)                                                                               \
    {                                                                                                                  \
        GEODEC_GGML_##T, #T, block, bytes, geodec__decode_##t, geodec__encode_##t, geodec__encode_##t, limit           \
    }
#define SEARCHED(T, t, block, limit)                                                                                   \
    {                                                                                                                  \
        GEODEC_GGML_##T, #T, block, T##_BYTES, geodec__decode_##t, geodec__encode_##t, geodec__nearest_##t, limit      \
    }
#define READ_ONLY(T, t, block)                                                                                         \
    {                                                                                                                  \
        GEODEC_GGML_##T, #T, block, T##_BYTES, geodec__decode_##t, NULL, NULL, 0                                       \
    }

/* Limits: scales are binary16, whose largest value is 65504 (65520 is the first that rounds to infinity); a searched
 * scale can be somewhat larger than the one that just reaches the extreme. */
static const geodec_ggml_traits table[] = {
    PLAIN(F32, f32, 1, 4, INFINITY),
    PLAIN(F16, f16, 1, 2, 65520.0f),
    PLAIN(BF16, bf16, 1, 2, 0x1.ffp127f),
    SEARCHED(Q4_0, q4_0, Q_BLOCK, 6 * 65504.0f),
    SEARCHED(Q4_1, q4_1, Q_BLOCK, 60000.0f),
    SEARCHED(Q5_0, q5_0, Q_BLOCK, 14 * 65504.0f),
    SEARCHED(Q5_1, q5_1, Q_BLOCK, 60000.0f),
    PLAIN(Q8_0, q8_0, Q_BLOCK, Q8_0_BYTES, 127 * 65504.0f),
    READ_ONLY(Q2_K, q2_k, QK_BLOCK),
    READ_ONLY(Q3_K, q3_k, QK_BLOCK),
    SEARCHED(Q4_K, q4_k, QK_BLOCK, 60 * 65504.0f),
    SEARCHED(Q5_K, q5_k, QK_BLOCK, 60 * 65504.0f),
    SEARCHED(Q6_K, q6_k, QK_BLOCK, 30 * 128 * 65504.0f),
    READ_ONLY(IQ4_NL, iq4_nl, Q_BLOCK),
    READ_ONLY(TQ1_0, tq1_0, QK_BLOCK),
    SEARCHED(TQ2_0, tq2_0, QK_BLOCK, 65504.0f),
};

const geodec_ggml_traits *geodec_ggml_traits_of(int type)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].type == type) return &table[i];
    return NULL;
}

size_t geodec_ggml_bytes(const geodec_ggml_traits *t, int64_t n)
{
    return (size_t)(n / t->block) * (size_t)t->block_bytes;
}

const char *geodec_ggml_type_name(int type)
{
    /* ggml's numbering, so that a message can name what it refuses; holes are types that were withdrawn. */
    static const char *const names[] = {
        "F32",    "F16",   "Q4_0",  "Q4_1",   NULL,    NULL,    "Q5_0",    "Q5_1",   "Q8_0",    "Q8_1",
        "Q2_K",   "Q3_K",  "Q4_K",  "Q5_K",   "Q6_K",  "Q8_K",  "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S",
        "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",    "I16",   "I32",     "I64",    "F64",     "IQ1_M",
        "BF16",   NULL,    NULL,    NULL,     "TQ1_0", "TQ2_0", NULL,      NULL,     NULL,      "MXFP4",
    };
    if (type < 0 || type >= (int)(sizeof names / sizeof *names) || !names[type]) return "unknown";
    return names[type];
}
