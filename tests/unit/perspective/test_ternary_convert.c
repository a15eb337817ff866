/* Conversions against the decoders and the encoder of GGUF's types, which are code of their own. */
#include "base/mem.h"
#include "base/rng.h"
#include "gguf/types_internal.h"
#include "support/support.h"
#include "ternary/convert.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { BASE3 = GEODEC_TERNARY_BASE3, BITS2 = GEODEC_TERNARY_BITS2, ROWS = 3, COLS = 768, ROOM = ROWS * COLS * 2 };

static const int types[] = {GEODEC_GGML_TQ1_0, GEODEC_GGML_TQ2_0, GEODEC_GGML_Q4_0};

static void decode(int type, const uint8_t *src, float *to)
{
    (type == GEODEC_GGML_TQ1_0   ? geodec__types_decode_tq1_0
     : type == GEODEC_GGML_TQ2_0 ? geodec__types_decode_tq2_0
                                 : geodec__types_decode_q4_0)(src, to, (int64_t)ROWS * COLS);
}

static void random_trits(int8_t *t, uint64_t seed)
{
    for (uint64_t i = 0; i < ROWS * COLS; i++) t[i] = (int8_t)((int)(geodec_rng_at(seed, 0, i) % 3) - 1);
}

Test(perspective_ternary_convert, blocks_have_the_values_of_their_decoder_and_come_back)
{
    static int8_t t[ROWS * COLS], got[COLS];
    static uint8_t data[ROOM], blocks[ROOM], back[ROOM];
    static float value[ROWS * COLS];
    static const float scale[ROWS] = {0.25f, 0.1000366211f /* a binary16 value */, -3};
    geodec_err err = {0};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (int e = BASE3; e <= BITS2; e++)
            for (int by_row = 0; by_row < 2; by_row++) {
                const int64_t row = geodec_ternary_row_bytes(e, COLS);
                float read[ROWS] = {NAN, NAN, NAN};
                random_trits(t, k);
                for (int o = 0; o < ROWS; o++) geodec_ternary_pack(e, t + o * COLS, COLS, data + o * row);
                const geodec_ternary_matrix m = {.encoding = e,
                                                 .rows = ROWS,
                                                 .cols = COLS,
                                                 .data = data,
                                                 .scale = scale[1],
                                                 .row_scale = by_row ? scale : NULL};
                test_ok(geodec_ternary_to_gguf(&m, types[k], blocks, &err), &err);
                decode(types[k], blocks, value);
                for (int i = 0; i < ROWS * COLS; i++)
                    cr_assert_eq(value[i], (by_row ? scale[i / COLS] : scale[1]) * (float)t[i], "type %d, weight %d",
                                 types[k], i);
                test_ok(geodec_ternary_from_gguf(types[k], blocks, ROWS, COLS, e, by_row, back, read, &err), &err);
                cr_assert(memcmp(data, back, (size_t)(ROWS * row)) == 0);
                cr_assert(by_row ? memcmp(read, scale, sizeof read) == 0 : read[0] == scale[1] && isnan(read[1]));
                geodec_ternary_unpack(e, back, COLS, got);
                cr_assert(memcmp(got, t, COLS) == 0);
                /* several scales in a matrix with one */
                if (by_row)
                    cr_assert_eq(geodec_ternary_from_gguf(types[k], blocks, ROWS, COLS, e, false, back, read, NULL),
                                 GEODEC_UNSUPPORTED);
            }
}

/* Blocks of the library's own encoder, with a block of zeros, whose scale is 0. */
Test(perspective_ternary_convert, encoded_weights_are_read)
{
    static float w[ROWS * COLS];
    static uint8_t blocks[ROOM], data[ROOM];
    int8_t t[COLS];
    float scale = 0;
    geodec_err err = {0};
    for (int i = 0; i < ROWS * COLS; i++)
        w[i] = i / 256 == 4 ? 0 : 0.5f * (float)((int)(geodec_rng_at(3, 0, (uint64_t)i) % 3) - 1);
    geodec__encode_tq2_0(w, blocks, (int64_t)ROWS * COLS);
    test_ok(geodec_ternary_from_gguf(GEODEC_GGML_TQ2_0, blocks, ROWS, COLS, BASE3, false, data, &scale, &err), &err);
    cr_assert_eq(scale, 0.5f);
    for (int o = 0; o < ROWS; o++) {
        geodec_ternary_unpack(BASE3, data + o * geodec_ternary_row_bytes(BASE3, COLS), COLS, t);
        for (int i = 0; i < COLS; i++) cr_assert_eq(0.5f * (float)t[i], w[o * COLS + i]);
    }
}

Test(perspective_ternary_convert, what_is_not_ternary_is_refused)
{
    static uint8_t blocks[ROOM], data[ROOM], out[ROOM];
    static int8_t t[ROWS * COLS];
    float scale[ROWS];
    char line[256];
    geodec_err err = {0};
    random_trits(t, 5);
    for (int o = 0; o < ROWS; o++) geodec_ternary_pack(BITS2, t + o * COLS, COLS, data + o * 192);
    geodec_ternary_matrix m = {
        .encoding = GEODEC_TERNARY_BITS2, .rows = ROWS, .cols = COLS, .data = data, .scale = 0.1f};
    cr_assert_eq(geodec_ternary_to_gguf(&m, GEODEC_GGML_TQ2_0, blocks, NULL), GEODEC_RANGE); /* 0.1 is no binary16 */
    m.scale = 1e6f;
    cr_assert_eq(geodec_ternary_to_gguf(&m, GEODEC_GGML_TQ2_0, blocks, NULL), GEODEC_RANGE);
    m.scale = 1;
    cr_assert_eq(geodec_ternary_to_gguf(&m, GEODEC_GGML_Q8_0, blocks, NULL), GEODEC_UNSUPPORTED);
    m.cols = 700;
    cr_assert_eq(geodec_ternary_to_gguf(&m, GEODEC_GGML_TQ2_0, blocks, NULL), GEODEC_UNSUPPORTED);
    m.cols = COLS;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        const int bytes = types[k] == GEODEC_GGML_TQ1_0 ? 54 : types[k] == GEODEC_GGML_TQ2_0 ? 66 : 18;
        const int at = types[k] == GEODEC_GGML_Q4_0 ? 0 : bytes - 2; /* of the scale, in block 4 */
        test_ok(geodec_ternary_to_gguf(&m, types[k], blocks, &err), &err);
        blocks[4 * bytes + at + 1] = 0x7c; /* infinity */
        cr_assert_eq(geodec_ternary_from_gguf(types[k], blocks, ROWS, COLS, BASE3, true, out, scale, NULL),
                     GEODEC_NUMERIC);
        blocks[4 * bytes + at + 1] = 0x40; /* 2 */
        cr_assert_eq(geodec_ternary_from_gguf(types[k], blocks, ROWS, COLS, BASE3, false, out, scale, &err),
                     GEODEC_UNSUPPORTED);
        cr_assert(strstr(geodec_err_line(&err, line, sizeof line),
                         types[k] == GEODEC_GGML_Q4_0 ? "row 0, block 4" : "row 1, block 1"),
                  "%s", line);
        if (types[k] == GEODEC_GGML_TQ1_0) continue; /* any byte is trits */
        blocks[4 * bytes + at + 1] = 0x3c;
        blocks[4 * bytes + 9] = 0xff; /* code 3 of TQ2_0, 15 of Q4_0 */
        cr_assert_eq(geodec_ternary_from_gguf(types[k], blocks, ROWS, COLS, BASE3, false, out, scale, NULL),
                     GEODEC_UNSUPPORTED);
    }
}

/* Two rows of seven columns written by hand: digit i at 3^i. */
Test(perspective_ternary_convert, the_reference_format_is_read)
{
    static const int8_t want[2][7] = {{-1, 0, 1, 1, -1, 1, 0}, {1, 1, 1, 1, 1, -1, -1}};
    uint8_t src[] = {0 + 3 * 1 + 9 * 2 + 27 * 2 + 81 * 0, 2 + 3 * 1 + 9 * 1, 242, 0}, data[2 * 64];
    int8_t t[7];
    geodec_err err = {0};
    for (int e = BASE3; e <= BITS2; e++) {
        test_ok(geodec_ternary_from_digits(src, 2, 7, e, data, &err), &err);
        for (int o = 0; o < 2; o++) {
            geodec_ternary_unpack(e, data + 64 * o, 7, t);
            cr_assert(memcmp(t, want[o], 7) == 0);
        }
    }
    src[2] = 243;
    cr_assert_eq(geodec_ternary_from_digits(src, 2, 7, BASE3, data, NULL), GEODEC_FORMAT);
}
