#include "ternary/change.h"

#include "base/mem.h"

#include <math.h>

enum { MOST_BYTES = 5 /* of a symbol: 2 gap + 1 < 2^33 */, PLANES = 5 };

geodec_status geodec_change_encode(const geodec_ternary_matrix *a, const geodec_ternary_matrix *b, uint8_t *out,
                                   int64_t *bytes, int64_t *changes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int8_t *from = NULL, *to = NULL;
    int64_t n = 0, count = 0;
    uint64_t gap = 0;
    GEODEC_TRY(geodec_ternary_shape(a->encoding, a->rows, a->cols, err));
    if (a->encoding != b->encoding || a->rows != b->rows || a->cols != b->cols || a->rows * a->cols > UINT32_MAX)
        GEODEC_THROW(GEODEC_INVAL, "matrices of different shapes, or of 2^32 weights, have no difference");
    GEODEC_NEW_EACH(a->cols, from, to);
    const int64_t row = geodec_ternary_row_bytes(a->encoding, a->cols);
    for (int64_t o = 0; o < a->rows; o++) {
        if (memcmp(a->data + o * row, b->data + o * row, (size_t)row) == 0) {
            gap += (uint64_t)a->cols;
            continue;
        }
        geodec_ternary_unpack(a->encoding, a->data + o * row, a->cols, from);
        geodec_ternary_unpack(b->encoding, b->data + o * row, b->cols, to);
        for (int64_t c = 0; c < a->cols; c++, gap++) {
            if (from[c] == to[c]) continue;
            uint64_t symbol = 2 * gap + (unsigned)(to[c] - from[c] + 3) % 3 - 1;
            for (; symbol > 127; symbol >>= 7, n++)
                if (out) out[n] = (uint8_t)(symbol | 128);
            if (out) out[n] = (uint8_t)symbol;
            n++;
            count++;
            gap = UINT64_MAX; /* 0 for the next weight */
        }
    }
    *bytes = n;
    *changes = count;
done:
    GEODEC_FREE(from, to);
    return st;
}

/* The byte that has the code of a plane replaced: [plane][m][byte]. */
typedef struct replacement {
    uint8_t byte[PLANES][2][256];
} replacement;

static void fill_replacement(int encoding, bool to_b, replacement *r)
{
    const int planes = (int)(geodec_ternary_block(encoding) / GEODEC_TERNARY_BLOCK);
    for (int k = 0; k < planes; k++)
        for (int m = 0; m < 2; m++)
            for (int b = 0; b < 256; b++) {
                uint8_t block[GEODEC_TERNARY_BLOCK] = {(uint8_t)b};
                const int64_t col = (int64_t)k * GEODEC_TERNARY_BLOCK;
                const int code = geodec_ternary_get(encoding, block, col);
                geodec_ternary_put(encoding, block, col, (code + (to_b ? 1 + m : 2 - m)) % 3);
                r->byte[k][m][b] = block[0];
            }
}

/* The next symbol; false if there is none. */
static bool next_symbol(const geodec_change_stream *s, int64_t *at, uint64_t *symbol)
{
    uint64_t v = 0;
    for (int i = 0; i < MOST_BYTES && *at < s->bytes; i++) {
        const uint8_t b = s->data[(*at)++];
        v |= (uint64_t)(b & 127) << 7 * i;
        if (b < 128) {
            *symbol = v;
            return b > 0 || i == 0;
        }
    }
    return false;
}

geodec_status geodec_change_apply(int encoding, int64_t rows, int64_t cols, const geodec_change_stream *s, bool to_b,
                                  uint8_t *data, int64_t *used, geodec_err *err)
{
    replacement r;
    int64_t at = 0, o = 0, c = -1;
    GEODEC_PASS(geodec_ternary_shape(encoding, rows, cols, err));
    const int64_t bytes = geodec_ternary_row_bytes(encoding, cols), columns = geodec_ternary_block(encoding);
    fill_replacement(encoding, to_b, &r);
    for (int64_t i = 0; i < s->changes; i++) {
        uint64_t symbol;
        if (!next_symbol(s, &at, &symbol)) GEODEC_FAIL(GEODEC_FORMAT, "change %lld is damaged", (long long)i);
        c += (int64_t)(symbol >> 1) + 1;
        if (c >= cols) {
            o += c / cols;
            c %= cols;
        }
        if (o >= rows) GEODEC_FAIL(GEODEC_FORMAT, "change %lld lies outside the matrix", (long long)i);
        const int64_t in = encoding == GEODEC_TERNARY_BASE3 ? c % 320 : c % 256;
        uint8_t *b = data + o * bytes + (c - in) / columns * GEODEC_TERNARY_BLOCK + in % GEODEC_TERNARY_BLOCK;
        *b = r.byte[in / GEODEC_TERNARY_BLOCK][symbol & 1][*b];
    }
    *used = at;
    return GEODEC_OK;
}

double geodec_change_floor(double p) { return -p * log2(p) - (1 - p) * log2(1 - p) + p; }

double geodec_change_bytes(double p)
{
    double bytes = 1, limit = 64;
    for (int k = 1; k < MOST_BYTES; k++, limit *= 128) bytes += pow(1 - p, limit);
    return p * bytes;
}
