#include "gguf/types_internal.h"

static const geodec_ggml_traits table[] = {
    {GEODEC_GGML_F32, "F32", 1, 4, geodec__decode_f32, geodec__encode_f32},
    {GEODEC_GGML_F16, "F16", 1, 2, geodec__decode_f16, geodec__encode_f16},
    {GEODEC_GGML_BF16, "BF16", 1, 2, geodec__decode_bf16, geodec__encode_bf16},
    {GEODEC_GGML_Q4_0, "Q4_0", Q_BLOCK, Q4_0_BYTES, geodec__decode_q4_0, NULL},
    {GEODEC_GGML_Q4_1, "Q4_1", Q_BLOCK, Q4_1_BYTES, geodec__decode_q4_1, NULL},
    {GEODEC_GGML_Q5_0, "Q5_0", Q_BLOCK, Q5_0_BYTES, geodec__decode_q5_0, NULL},
    {GEODEC_GGML_Q5_1, "Q5_1", Q_BLOCK, Q5_1_BYTES, geodec__decode_q5_1, NULL},
    {GEODEC_GGML_Q8_0, "Q8_0", Q_BLOCK, Q8_0_BYTES, geodec__decode_q8_0, geodec__encode_q8_0},
    {GEODEC_GGML_Q2_K, "Q2_K", QK_BLOCK, Q2_K_BYTES, geodec__decode_q2_k, NULL},
    {GEODEC_GGML_Q3_K, "Q3_K", QK_BLOCK, Q3_K_BYTES, geodec__decode_q3_k, NULL},
    {GEODEC_GGML_Q4_K, "Q4_K", QK_BLOCK, Q4_K_BYTES, geodec__decode_q4_k, NULL},
    {GEODEC_GGML_Q5_K, "Q5_K", QK_BLOCK, Q5_K_BYTES, geodec__decode_q5_k, NULL},
    {GEODEC_GGML_Q6_K, "Q6_K", QK_BLOCK, Q6_K_BYTES, geodec__decode_q6_k, NULL},
    {GEODEC_GGML_IQ4_NL, "IQ4_NL", Q_BLOCK, IQ4_NL_BYTES, geodec__decode_iq4_nl, NULL},
    {GEODEC_GGML_TQ1_0, "TQ1_0", QK_BLOCK, TQ1_0_BYTES, geodec__decode_tq1_0, NULL},
    {GEODEC_GGML_TQ2_0, "TQ2_0", QK_BLOCK, TQ2_0_BYTES, geodec__decode_tq2_0, NULL},
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
