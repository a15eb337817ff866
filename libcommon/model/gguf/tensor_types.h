/* The tensor types of GGUF that Geodec reads, one row each. All other lists of types are made from this table: the
 * enumeration, sizes, codecs (types.c), recipes of geodec-quantize, packing and kernels of the products (model/),
 * random models, help texts and docs/manual/tensor-types.md.
 *
 * A new type is a row here, geodec__types_decode_<name> in types_decode.c, and geodec__encode_<name> in encode_*.c if
 * it can be written; `make docs` updates the page.
 *
 *   ROW(X, NAME, name, number, block, bytes, codec, limit, instead, file, product, (packing))
 *
 *   NAME, name   ggml's name, in upper and lower case
 *   number       in the file
 *   block        values of a block
 *   bytes        of a block
 *   codec        READ_ONLY   geodec__types_decode_<name>
 *                PLAIN       and geodec__encode_<name>, which only rounds
 *                SEARCHED    and geodec__encode_<name>, which searches for the best scales, and
 *                            geodec__encode_nearest_<name>, which only rounds
 *   limit        encoders accept finite values of a magnitude below this. Scales are binary16, whose largest value is
 *                65504 (65520 is the first that rounds to infinity); a searched scale can be somewhat larger than the
 *                one that just reaches the extreme
 *   instead      type of a matrix whose rows are not a multiple of the block (F16 where that does not fit either)
 *   file         general.file_type of a file mostly of this type (llama.cpp's number); -1: READ_ONLY
 *   product      use of the weights in products:
 *                FLOATS      floats, by kernels of their own (model/kernels/kernels_body.h)
 *                BYTES       the same in exact arithmetic, integers in fast
 *                INTEGERS    integers, packed as panels (model/kernels/panels_internal.h)
 *                DECODED     decoded to float32 a few rows at a time: needs nothing but the decoder
 *   packing      of BYTES and INTEGERS: constants from which the kernels are made
 *                  bits     of a code
 *                  group    columns that share a scale, 16 or 32
 *                  offset   value = scale (code - offset)
 *                  minima   sign of the minimum that is added to a value; 0: none
 *                  levels   false, or the table that gives code - offset (gguf/code_books_internal.h), where the
 *                           offset is at least as large as any of its numbers
 *                  scales   of the groups: see geodec__panel_scales
 *                and the offsets of the parts of a block in the file, -1 = absent; all are for a type whose blocks
 *                expand.c reads:
 *                  d, dmin  binary16
 *                  at, n    scales of the groups, and their bytes
 *                  high     high bits of the codes
 *                  low      low bits of the codes */
#ifndef GEODEC_GGUF_TENSOR_TYPES_H
#define GEODEC_GGUF_TENSOR_TYPES_H

/* clang-format off */
#define GEODEC_TENSOR_TYPES(ROW, X)                                                             \
    ROW(X, F32,    f32,      0,   1,   4, PLAIN,     INFINITY,            F32,    0, FLOATS, ())\
    ROW(X, F16,    f16,      1,   1,   2, PLAIN,     65520.0f,            F16,    1, FLOATS, ())\
    ROW(X, BF16,   bf16,    30,   1,   2, PLAIN,     0x1.ffp127f,         BF16,  32, FLOATS, ())\
    ROW(X, Q8_0,   q8_0,     8,  32,  34, PLAIN,     127 * 65504.0f,      F16,    7, BYTES,     \
        (8, 32, 128, 0, false, NONE, 0, -1, -1, 0, -1, 2))                                      \
    ROW(X, Q4_0,   q4_0,     2,  32,  18, SEARCHED,  6 * 65504.0f,        F16,    2, INTEGERS,  \
        (4, 32, 8, 0, false, NONE, 0, -1, -1, 0, -1, 2))                                        \
    ROW(X, Q4_1,   q4_1,     3,  32,  20, SEARCHED,  60000.0f,            F16,    3, INTEGERS,  \
        (4, 32, 0, 1, false, NONE, 0, 2, -1, 0, -1, 4))                                         \
    ROW(X, Q5_0,   q5_0,     6,  32,  22, SEARCHED,  14 * 65504.0f,       F16,    8, INTEGERS,  \
        (5, 32, 16, 0, false, NONE, 0, -1, -1, 0, 2, 6))                                        \
    ROW(X, Q5_1,   q5_1,     7,  32,  24, SEARCHED,  60000.0f,            F16,    9, INTEGERS,  \
        (5, 32, 0, 1, false, NONE, 0, 2, -1, 0, 4, 8))                                          \
    ROW(X, IQ4_NL, iq4_nl,  20,  32,  18, READ_ONLY, 0,                   F16,   -1, INTEGERS,  \
        (4, 32, 128, 0, GEODEC__LEVELS_IQ4, NONE, 0, -1, -1, 0, -1, 2))                         \
    ROW(X, Q2_K,   q2_k,    10, 256,  84, READ_ONLY, 0,                   F16,   -1, INTEGERS,  \
        (2, 16, 0, -1, false, NIBBLES, 80, 82, 0, 16, -1, 16))                                  \
    ROW(X, Q3_K,   q3_k,    11, 256, 110, READ_ONLY, 0,                   F16,   -1, INTEGERS,  \
        (3, 16, 4, 0, false, SIGNED, 108, -1, 96, 12, 0, 32))                                   \
    ROW(X, Q4_K,   q4_k,    12, 256, 144, SEARCHED,  60 * 65504.0f,       Q5_0,  15, INTEGERS,  \
        (4, 32, 0, -1, false, PAIRS, 0, 2, 4, 12, -1, 16))                                      \
    ROW(X, Q5_K,   q5_k,    13, 256, 176, SEARCHED,  60 * 65504.0f,       Q5_1,  17, INTEGERS,  \
        (5, 32, 0, -1, false, PAIRS, 0, 2, 4, 12, 16, 48))                                      \
    ROW(X, Q6_K,   q6_k,    14, 256, 210, SEARCHED,  30 * 128 * 65504.0f, Q8_0,  18, INTEGERS,  \
        (6, 16, 32, 0, false, SIGNED, 208, -1, 192, 16, 128, 0))                                \
    ROW(X, TQ1_0,  tq1_0,   34, 256,  54, SEARCHED,  65504.0f,            Q4_0,  36, DECODED, ())\
    ROW(X, TQ2_0,  tq2_0,   35, 256,  66, SEARCHED,  65504.0f,            Q4_0,  37, INTEGERS,  \
        (2, 32, 1, 0, false, NONE, 64, -1, -1, 0, -1, 0))                                       \
    ROW(X, IQ4_XS, iq4_xs,  23, 256, 136, SEARCHED,  24 * 88 * 65504.0f,  Q4_0,  30, INTEGERS,  \
        (4, 32, 128, 0, GEODEC__LEVELS_IQ4, SIGNED, -1, -1, -1, 0, -1, -1))                     \
    ROW(X, MXFP4,  mxfp4,   39,  32,  17, SEARCHED,  0x1p127f,            F16,   38, INTEGERS,  \
        (4, 32, 12, 0, GEODEC__LEVELS_E2M1, E8M0, -1, -1, -1, 0, -1, -1))                       \
    ROW(X, NVFP4,  nvfp4,   40,  64,  36, READ_ONLY, 0,                   F16,   -1, INTEGERS,  \
        (4, 16, 12, 0, GEODEC__LEVELS_E2M1, E4M3, -1, -1, -1, 0, -1, -1))                       \
    ROW(X, IQ3_S,  iq3_s,   21, 256, 110, READ_ONLY, 0,                   F16,   -1, INTEGERS,  \
        (4, 32, 15, 0, GEODEC__LEVELS_IQ3, SIGNED, -1, -1, -1, 0, -1, -1))                      \
    ROW(X, IQ3_XXS,iq3_xxs, 18, 256,  98, READ_ONLY, 0,                   F16,   -1, INTEGERS,  \
        (4, 32, 31, 0, GEODEC__LEVELS_IQ3_XXS, SIGNED, -1, -1, -1, 0, -1, -1))                  \
    ROW(X, IQ2_S,  iq2_s,   22, 256,  82, READ_ONLY, 0,                   F16,   -1, INTEGERS,  \
        (3, 16, 43, 0, GEODEC__LEVELS_IQ2, SIGNED, -1, -1, -1, 0, -1, -1))                      \
    ROW(X, IQ2_XS, iq2_xs,  17, 256,  74, READ_ONLY, 0,                   F16,   -1, INTEGERS,  \
        (3, 16, 43, 0, GEODEC__LEVELS_IQ2, SIGNED, -1, -1, -1, 0, -1, -1))                      \
    ROW(X, IQ2_XXS,iq2_xxs, 16, 256,  66, READ_ONLY, 0,                   F16,   -1, INTEGERS,  \
        (3, 32, 43, 0, GEODEC__LEVELS_IQ2, SIGNED, -1, -1, -1, 0, -1, -1))                      \
    ROW(X, IQ1_M,  iq1_m,   29, 256,  56, READ_ONLY, 0,                   F16,   -1, INTEGERS,  \
        (3, 16, 9, 0, GEODEC__LEVELS_IQ1, SIGNED, -1, -1, -1, 0, -1, -1))                       \
    ROW(X, IQ1_S,  iq1_s,   19, 256,  50, READ_ONLY, 0,                   F16,   -1, INTEGERS,  \
        (3, 32, 9, 0, GEODEC__LEVELS_IQ1, SIGNED, -1, -1, -1, 0, -1, -1))                       \
    ROW(X, Q2_0,   q2_0,    42,  64,  18, READ_ONLY, 0,                   F16,   -1, INTEGERS,  \
        (2, 32, 1, 0, false, NONE, -1, -1, -1, 0, -1, -1))                                      \
    ROW(X, Q1_0,   q1_0,    41, 128,  18, READ_ONLY, 0,                   F16,   -1, INTEGERS,  \
        (1, 32, 1, 0, GEODEC__LEVELS_SIGN, NONE, -1, -1, -1, 0, -1, -1))
/* clang-format on */

#define GEODEC__TYPE_NUMBER(X, NAME, name, number, ...) GEODEC_GGML_##NAME = (number),
#define GEODEC__TYPE_BYTES(X, NAME, name, number, block, bytes, ...) GEODEC_GGML_BYTES_##NAME = (bytes),

/* ggml's type numbers, as in the file: GEODEC_GGML_F32, ... */
typedef enum geodec_ggml_type { GEODEC_TENSOR_TYPES(GEODEC__TYPE_NUMBER, ) } geodec_ggml_type;
/* Bytes of a block: GEODEC_GGML_BYTES_F32, ... */
enum { GEODEC_TENSOR_TYPES(GEODEC__TYPE_BYTES, ) };

#endif
