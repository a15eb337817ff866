#include "integer/engine/product_internal.h"

#include "base/mem.h"
#include "integer/fixed/wide.h"

#include <math.h>
#include <string.h>

/* ---- conversion -------------------------------------------------------------------------------------------------- */

static int largest_code(int bits) { return bits == 16 ? 32767 : 127; }

static void put_code(uint8_t *row, int bits, int64_t c, int code)
{
    const uint32_t u = (uint32_t)code;
    if (bits == 8) {
        row[c] = (uint8_t)u;
    } else if (bits == 16) {
        row[2 * c] = (uint8_t)u;
        row[2 * c + 1] = (uint8_t)(u >> 8);
    } else {
        row[c / 2] = (uint8_t)(c % 2 ? (row[c / 2] & 15) | (u & 15) << 4 : (row[c / 2] & 240) | (u & 15));
    }
}

static int get_code(const uint8_t *row, int bits, int64_t c)
{
    if (bits == 8) return (int8_t)row[c];
    if (bits == 16) return (int16_t)(uint16_t)(row[2 * c] | row[2 * c + 1] << 8);
    const int u = row[c / 2] >> (c % 2 ? 4 : 0) & 15;
    return u < 8 ? u : u - 16;
}

/* Multipliers and the shift of a row from the scales of its blocks. up: away from zero, so that no code is cut. */
static void scales(const double *scale, int64_t blocks, int bits, bool up, int16_t *multiplier, int16_t *shift)
{
    const int wanted = bits == 16 ? GEODEC_CODED_MULTIPLIER_WIDE : GEODEC_CODED_MULTIPLIER;
    const double most = (1 << wanted) - 1;
    double top = 0;
    int order = 0;
    for (int64_t b = 0; b < blocks; b++) top = fabs(scale[b]) > top ? fabs(scale[b]) : top;
    if (top > 0) (void)frexp(top, &order); /* top = f 2^order, f in [1/2, 1) */
    int s = top > 0 ? wanted - order : 0;
    if (ceil(ldexp(top, s)) > most) s--;
    for (int64_t b = 0; b < blocks; b++) {
        const double m = ldexp(scale[b], s);
        multiplier[b] = (int16_t)(!up ? rint(m) : m < 0 ? floor(m) : ceil(m));
    }
    *shift = (int16_t)s;
}

enum { BLOCKS = GEODEC_CODED_COLS / GEODEC_CODED_BLOCK };

void geodec_coded_row(const float *x, int64_t cols, int bits, uint8_t *code, int16_t *multiplier, int16_t *shift)
{
    double scale[BLOCKS] = {0};
    const int64_t blocks = geodec_coded_blocks(cols);
    for (int64_t b = 0; b < blocks; b++) {
        float top = 0;
        for (int64_t c = 32 * b; c < cols && c < 32 * b + 32; c++) top = fabsf(x[c]) > fabsf(top) ? x[c] : top;
        scale[b] = bits == 4 ? (double)top / -8 : fabs((double)top) / largest_code(bits);
    }
    scales(scale, blocks, bits, true, multiplier, shift);
    memset(code, 0, (size_t)geodec_coded_row_bytes(cols, bits));
    for (int64_t c = 0; c < cols; c++) {
        const double unit = ldexp(multiplier[c / 32], -*shift);
        if (unit == 0) continue;
        const double least = bits == 4 ? -8 : -largest_code(bits), most = bits == 4 ? 7 : largest_code(bits);
        const double q = round((double)x[c] / unit);
        put_code(code, bits, c, (int)(q < least ? least : q > most ? most : q));
    }
}

void geodec_coded_row_of(const double *scale, const int8_t *value, int64_t cols, int bits, uint8_t *code,
                         int16_t *multiplier, int16_t *shift)
{
    scales(scale, geodec_coded_blocks(cols), bits, false, multiplier, shift);
    memset(code, 0, (size_t)geodec_coded_row_bytes(cols, bits));
    for (int64_t c = 0; c < cols; c++) put_code(code, bits, c, value[c]);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

enum { CHUNK = 64 << 20, ALIGN = 64 };

/* Mapped, so what is not used of it costs no memory. */
struct geodec_coded_area {
    geodec_coded_area *before;
    uint8_t *memory;
    int64_t bytes, used;
};

void geodec_coded_area_free(geodec_coded_area *a)
{
    for (geodec_coded_area *before; a; a = before) {
        before = a->before;
        geodec_mem_unmap(a->memory, a->bytes);
        geodec_mem_free(a);
    }
}

static geodec_status area_room(geodec_coded_area **area, int64_t bytes, uint8_t **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_coded_area *a = NULL;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!*area || (*area)->bytes - (*area)->used < bytes) {
        GEODEC_NEW(a, 1);
        *a = (geodec_coded_area){.before = *area, .bytes = bytes > CHUNK ? bytes : CHUNK};
        a->memory = geodec_mem_map(a->bytes);
        if (!a->memory) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld bytes of weights", (long long)a->bytes);
        GEODEC_MOVE(*area, a);
    }
    *out = (*area)->memory + (*area)->used;
    (*area)->used += bytes;
done:
    geodec_mem_free(a);
    return st;
}

/* ---- panels ------------------------------------------------------------------------------------------------------ */

static int64_t panel_count(int64_t rows) { return (rows + GEODEC__PRODUCT_ROWS - 1) / GEODEC__PRODUCT_ROWS; }

/* Row r of m becomes row `to` of p. */
static void pack_row(const geodec_coded *m, int64_t r, geodec_panels16 *p, int64_t to)
{
    const int64_t blocks = geodec_coded_blocks(m->cols), panel = to / GEODEC__PRODUCT_ROWS;
    const int lane = (int)(to % GEODEC__PRODUCT_ROWS);
    const uint8_t *row = m->code + r * geodec_coded_row_bytes(m->cols, m->bits);
    for (int64_t b = 0; b < blocks; b++) {
        uint8_t *codes = geodec__product_codes(p, panel, b);
        geodec__product_multipliers(p, panel, b)[lane] = m->multiplier[r * blocks + b];
        if (m->bits == 8) {
            geodec__product_put_bytes(codes, lane, row + GEODEC_CODED_BLOCK * b);
            continue;
        }
        for (int c = 0; c < GEODEC_CODED_BLOCK; c++)
            geodec__product_put(codes, m->bits, lane, c, get_code(row, m->bits, GEODEC_CODED_BLOCK * b + c));
    }
}

geodec_status geodec_coded_pack_in(const geodec_coded *m, geodec_coded_area **area, geodec_panels16 **out,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_panels16 *p = NULL;
    GEODEC_TRY(geodec_coded_room(m->rows, m->cols, m->bits, area, &p, err));
    GEODEC_TRY(geodec_coded_fill(p, 0, m, err));
    GEODEC_MOVE(*out, p);
done:
    geodec_coded_free(p);
    return st;
}

geodec_status geodec_coded_room(int64_t rows, int64_t cols, int bits, geodec_coded_area **area, geodec_panels16 **out,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_panels16 *p = NULL;
    if (rows < 1 || rows > GEODEC_CODED_ROWS || cols < 1 || cols > GEODEC_CODED_COLS)
        GEODEC_THROW(GEODEC_LIMIT, "a matrix of %lld x %lld; at most %d x %d are supported", (long long)rows,
                     (long long)cols, GEODEC_CODED_ROWS, GEODEC_CODED_COLS);
    GEODEC_NEW(p, 1);
    *p = (geodec_panels16){.rows = rows, .cols = cols, .bits = bits};
    p->pairs = geodec_coded_places(cols) / 2;
    p->record = geodec__product_record(bits);
    p->bytes = panel_count(rows) * p->pairs * p->record;
    GEODEC_NEW(p->shift, panel_count(rows) * GEODEC__PRODUCT_ROWS);
    GEODEC_TRY(area_room(area ? area : &p->own, p->bytes, &p->data, err));
    GEODEC_MOVE(*out, p);
done:
    geodec_coded_free(p);
    return st;
}

geodec_status geodec_coded_fill(geodec_panels16 *p, int64_t first, const geodec_coded *m, geodec_err *err)
{
    for (int64_t r = 0; r < m->rows; r++)
        if (m->shift[r] > GEODEC_CODED_SHIFT || m->shift[r] < -GEODEC_CODED_SHIFT)
            GEODEC_FAIL(GEODEC_FORMAT, "the shift of row %lld is %d", (long long)(first + r), m->shift[r]);
    for (int64_t r = 0; r < m->rows; r++) {
        p->shift[first + r] = m->shift[r];
        pack_row(m, r, p, first + r);
    }
    return GEODEC_OK;
}

void geodec_coded_free(geodec_panels16 *p)
{
    if (!p) return;
    geodec_coded_area_free(p->own);
    GEODEC_FREE(p->shift, p);
}

int64_t geodec_coded_bytes(const geodec_panels16 *p) { return p->bytes; }
int64_t geodec_coded_rows(const geodec_panels16 *p) { return p->rows; }
int64_t geodec_coded_cols(const geodec_panels16 *p) { return p->cols; }

void geodec_coded_decode(const geodec_panels16 *p, int64_t r, int64_t *out)
{
    const int64_t panel = r / GEODEC__PRODUCT_ROWS, lane = r % GEODEC__PRODUCT_ROWS;
    for (int64_t c = 0; c < p->cols; c++) {
        const int64_t b = c / GEODEC_CODED_BLOCK;
        const int64_t code =
            geodec__product_get(geodec__product_codes(p, panel, b), p->bits, (int)lane, (int)(c % GEODEC_CODED_BLOCK));
        out[c] = geodec_wide_shift(code * geodec__product_multipliers(p, panel, b)[lane], p->shift[r] - 24);
    }
}
