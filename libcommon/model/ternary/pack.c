#include "ternary/ternary.h"

#include <math.h>
#include <string.h>

enum { DIGITS = 5, FIELDS = 4 };
static const int power[DIGITS] = {81, 27, 9, 3, 1};

const char *geodec_ternary_name(int encoding)
{
    return encoding == GEODEC_TERNARY_BASE3 ? "base3" : encoding == GEODEC_TERNARY_BITS2 ? "bits2" : "?";
}

int64_t geodec_ternary_block(int encoding)
{
    return encoding == GEODEC_TERNARY_BASE3   ? DIGITS * GEODEC_TERNARY_BLOCK
           : encoding == GEODEC_TERNARY_BITS2 ? FIELDS * GEODEC_TERNARY_BLOCK
                                              : 0;
}

int64_t geodec_ternary_row_bytes(int encoding, int64_t cols)
{
    const int64_t block = geodec_ternary_block(encoding);
    return block ? (cols + block - 1) / block * GEODEC_TERNARY_BLOCK : 0;
}

geodec_status geodec_ternary_shape(int encoding, int64_t rows, int64_t cols, geodec_err *err)
{
    if (!geodec_ternary_block(encoding)) GEODEC_FAIL(GEODEC_INVAL, "%d is no encoding of ternary weights", encoding);
    if (rows < 1 || rows > GEODEC_TERNARY_ROWS || cols < 1 || cols > GEODEC_TERNARY_COLUMNS)
        GEODEC_FAIL(GEODEC_LIMIT, "%lld rows of %lld columns are outside 1 to %d and 1 to %d", (long long)rows,
                    (long long)cols, GEODEC_TERNARY_ROWS, GEODEC_TERNARY_COLUMNS);
    return GEODEC_OK;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* Code of a column of a block that begins at column `first`; 1 beyond the row. */
static int code_of(const int8_t *t, int64_t cols, int64_t col) { return col < cols ? t[col] + 1 : 1; }

void geodec_ternary_pack(int encoding, const int8_t *t, int64_t cols, uint8_t *row)
{
    const int64_t columns = geodec_ternary_block(encoding);
    for (int64_t first = 0; first < cols; first += columns, row += GEODEC_TERNARY_BLOCK)
        for (int64_t j = 0; j < GEODEC_TERNARY_BLOCK; j++) {
            int v = 0;
            if (encoding == GEODEC_TERNARY_BASE3) {
                for (int k = 0; k < DIGITS; k++) v = 3 * v + code_of(t, cols, first + GEODEC_TERNARY_BLOCK * k + j);
                row[j] = geodec_ternary_byte(v);
            } else {
                for (int k = 0; k < FIELDS; k++) v |= code_of(t, cols, first + GEODEC_TERNARY_BLOCK * k + j) << 2 * k;
                row[j] = (uint8_t)v;
            }
        }
}

void geodec_ternary_unpack(int encoding, const uint8_t *row, int64_t cols, int8_t *t)
{
    const int64_t columns = geodec_ternary_block(encoding);
    for (int64_t first = 0; first < cols; first += columns, row += GEODEC_TERNARY_BLOCK)
        for (int64_t j = 0; j < GEODEC_TERNARY_BLOCK; j++) {
            unsigned q = row[j];
            for (int64_t col = first + j; col < first + columns && col < cols; col += GEODEC_TERNARY_BLOCK)
                if (encoding == GEODEC_TERNARY_BASE3) {
                    t[col] = (int8_t)((int)(3 * q >> 8) - 1);
                    q = 3 * q & 255;
                } else {
                    t[col] = (int8_t)((int)(q & 3) - 1);
                    q >>= 2;
                }
        }
}

int64_t geodec_ternary_collect(const float *w, int64_t cols, float *scale, int8_t *t)
{
    for (int64_t i = 0; i < cols; i++) {
        const float size = fabsf(w[i]);
        t[i] = (int8_t)((w[i] > 0) - (w[i] < 0));
        if (!isfinite(w[i])) return i;
        if (t[i] == 0) continue;
        if (!(*scale > 0)) *scale = size;
        if (size < *scale || size > *scale) return i;
    }
    return -1;
}

/* Bytes that packing writes. */
static bool is_code(int encoding, uint8_t b)
{
    return encoding == GEODEC_TERNARY_BASE3 ? geodec_ternary_byte(geodec_ternary_digits(b)) == b
                                            : (b & b >> 1 & 0x55) == 0;
}

/* Weights of each byte that are not zero. */
static void fill_counts(int encoding, uint8_t count[256])
{
    for (int b = 0; b < 256; b++) {
        int v = geodec_ternary_digits((uint8_t)b), n = 0;
        if (encoding == GEODEC_TERNARY_BASE3)
            for (int k = 0; k < DIGITS; k++, v /= 3) n += v % 3 != 1;
        else
            for (int k = 0; k < FIELDS; k++) n += (b >> 2 * k & 3) != 1;
        count[b] = (uint8_t)n;
    }
}

static geodec_status check_row(const geodec_ternary_matrix *m, const uint8_t count[256], int64_t o, int64_t *nonzeros,
                               geodec_err *err)
{
    const int64_t bytes = geodec_ternary_row_bytes(m->encoding, m->cols), columns = geodec_ternary_block(m->encoding);
    const uint8_t *row = m->data + o * bytes;
    int64_t n = 0;
    for (int64_t i = 0; i < bytes; i++) {
        if (!is_code(m->encoding, row[i]))
            GEODEC_FAIL(GEODEC_FORMAT, "row %lld: byte %lld (%d) is no code of %s", (long long)o, (long long)i, row[i],
                        geodec_ternary_name(m->encoding));
        n += count[row[i]];
    }
    for (int64_t col = m->cols; col < bytes / GEODEC_TERNARY_BLOCK * columns; col++)
        if (geodec_ternary_get(m->encoding, row, col) != 1)
            GEODEC_FAIL(GEODEC_FORMAT, "row %lld: column %lld, beyond the last, is not zero", (long long)o,
                        (long long)col);
    *nonzeros += n;
    return GEODEC_OK;
}

geodec_status geodec_ternary_check(const geodec_ternary_matrix *m, int64_t *nonzeros, geodec_err *err)
{
    uint8_t count[256];
    int64_t n = 0;
    GEODEC_PASS(geodec_ternary_shape(m->encoding, m->rows, m->cols, err));
    fill_counts(m->encoding, count);
    for (int64_t o = 0; o < m->rows; o++) GEODEC_PASS(check_row(m, count, o, &n, err));
    *nonzeros = n;
    return GEODEC_OK;
}

int geodec_ternary_get(int encoding, const uint8_t *row, int64_t col)
{
    const int64_t columns = geodec_ternary_block(encoding), in = col % columns;
    const uint8_t b = row[col / columns * GEODEC_TERNARY_BLOCK + in % GEODEC_TERNARY_BLOCK];
    const int64_t k = in / GEODEC_TERNARY_BLOCK;
    return encoding == GEODEC_TERNARY_BASE3 ? geodec_ternary_digits(b) / power[k] % 3 : b >> 2 * k & 3;
}

void geodec_ternary_put(int encoding, uint8_t *row, int64_t col, int code)
{
    const int64_t columns = geodec_ternary_block(encoding), in = col % columns, k = in / GEODEC_TERNARY_BLOCK;
    uint8_t *b = row + col / columns * GEODEC_TERNARY_BLOCK + in % GEODEC_TERNARY_BLOCK;
    if (encoding == GEODEC_TERNARY_BASE3) {
        const int v = geodec_ternary_digits(*b);
        *b = geodec_ternary_byte(v + (code - v / power[k] % 3) * power[k]);
    } else {
        *b = (uint8_t)((*b & ~(3 << 2 * k)) | code << 2 * k);
    }
}
