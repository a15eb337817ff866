/* Matrices from .npy files (NumPy Enhancement Proposal 1). */
#include "base/f16.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/matrix_internal.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAGIC = 6, HEADER_MAX = 65536 };

typedef struct npy {
    char sort; /* f, i, u or b */
    int size;  /* bytes of an element */
    bool swap; /* big-endian */
    bool fortran;
    int64_t rows, cols;
} npy;

/* The text after 'key': in the header's dictionary, or NULL. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at += strlen(key);
    while (*at == ' ') at++;
    if (*at++ != ':') return NULL;
    while (*at == ' ') at++;
    return at;
}

static geodec_status read_type(const char *path, const char *header, npy *a, geodec_err *err)
{
    const char *v = value_of(header, "'descr'");
    if (!v) GEODEC_FAIL(GEODEC_FORMAT, "%s: the header has no 'descr'", path);
    if (*v != '\'' || !v[1] || !strchr("<>|=", v[1]) || !isdigit((unsigned char)v[2 + (v[2] != '\0')]))
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: 'descr' is not a plain number type", path);
    a->swap = v[1] == '>';
    a->sort = v[2];
    a->size = v[3] - '0';
    const bool one_byte = a->size == 1;
    if (v[4] != '\'' || (v[1] == '|') != one_byte)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: 'descr' is not a plain number type", path);
    const bool power = a->size == 1 || a->size == 2 || a->size == 4 || a->size == 8;
    if (!power || !strchr("fiub", a->sort) || (a->sort == 'b' && !one_byte) || (a->sort == 'f' && one_byte))
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: elements of type %c%d", path,
                    isprint((unsigned char)a->sort) ? a->sort : '?', a->size);
    return GEODEC_OK;
}

/* Reads one axis of the shape at *at; false if there is none. */
static bool read_axis(const char **at, int64_t *extent)
{
    int64_t v = 0;
    while (**at == ' ' || **at == ',') (*at)++;
    if (!isdigit((unsigned char)**at)) return false;
    for (; isdigit((unsigned char)**at); (*at)++) {
        if (v > (INT64_MAX - 9) / 10) return false;
        v = 10 * v + (**at - '0');
    }
    *extent = v;
    return true;
}

static geodec_status read_header(const char *path, const char *header, npy *a, geodec_err *err)
{
    GEODEC_PASS(read_type(path, header, a, err));
    const char *order = value_of(header, "'fortran_order'"), *shape = value_of(header, "'shape'");
    if (!order || !shape || *shape++ != '(') GEODEC_FAIL(GEODEC_FORMAT, "%s: the header is damaged", path);
    a->fortran = strncmp(order, "True", 4) == 0;
    if (!a->fortran && strncmp(order, "False", 5) != 0) GEODEC_FAIL(GEODEC_FORMAT, "%s: the header is damaged", path);
    a->cols = 1;
    if (!read_axis(&shape, &a->rows)) GEODEC_FAIL(GEODEC_FORMAT, "%s: not a matrix", path);
    int64_t last;
    (void)read_axis(&shape, &a->cols);
    if (read_axis(&shape, &last)) { /* sequences, positions, columns */
        if (a->fortran) GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: three axes in Fortran order", path);
        if (geodec_mem_mul(a->rows, a->cols, &a->rows) != 0) GEODEC_FAIL(GEODEC_LIMIT, "%s: too large", path);
        a->cols = last;
    }
    while (*shape == ' ' || *shape == ',') shape++;
    if (*shape != ')') GEODEC_FAIL(GEODEC_FORMAT, "%s: not a matrix: more than three axes", path);
    return GEODEC_OK;
}

static uint64_t bits_of(const npy *a, const uint8_t *p)
{
    uint64_t bits = 0;
    for (int i = 0; i < a->size; i++) bits |= (uint64_t)p[a->swap ? a->size - 1 - i : i] << (8 * i);
    return bits;
}

static double element(const npy *a, const uint8_t *p)
{
    const uint64_t bits = bits_of(a, p);
    if (a->sort == 'u' || a->sort == 'b') return (double)bits;
    if (a->sort == 'i') {
        const int drop = 64 - 8 * a->size;
        return (double)((int64_t)(bits << drop) >> drop);
    }
    if (a->size == 2) return (double)geodec_f16_to_f32((uint16_t)bits);
    if (a->size == 4) {
        const uint32_t low = (uint32_t)bits;
        float f;
        memcpy(&f, &low, sizeof f);
        return (double)f;
    }
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* Integers of 8 bytes less those of the first row, before they become float64: the differences keep their digits. */
static void subtract_first(const npy *a, const uint8_t *data, double *x)
{
    const uint64_t flip = a->sort == 'i' ? UINT64_C(1) << 63 : 0; /* the order of unsigned numbers */
    for (int64_t c = 0; c < a->cols; c++) {
        const int64_t down = a->fortran ? 1 : a->cols, across = a->fortran ? a->rows : 1;
        const uint64_t first = bits_of(a, data + c * across * 8) ^ flip;
        for (int64_t r = 0; r < a->rows; r++) {
            const uint64_t v = bits_of(a, data + (c * across + r * down) * 8) ^ flip;
            x[r * a->cols + c] = v >= first ? (double)(v - first) : -(double)(first - v);
        }
    }
}

geodec_status geodec__matrix_npy(const char *path, geodec_matrix *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_file_map map = {0};
    npy a = {0};
    char *header = NULL;
    double *x = NULL;
    int64_t count, bytes;
    GEODEC_TRY(geodec_file_map_open(path, &map, err));
    const uint8_t *p = map.data;
    if (map.size < MAGIC + 6 || memcmp(p, "\x93NUMPY", MAGIC) != 0)
        GEODEC_THROW(GEODEC_FORMAT, "%s is not a .npy file", path);
    if (p[6] < 1 || p[6] > 3) GEODEC_THROW(GEODEC_VERSION, "%s: .npy format %d", path, (int)p[6]);
    const size_t wide = p[6] == 1 ? 2 : 4, begin = MAGIC + 2 + wide;
    size_t length = 0;
    for (size_t i = 0; i < wide; i++) length |= (size_t)p[MAGIC + 2 + i] << (8 * i);
    if (length > HEADER_MAX || length > map.size - begin)
        GEODEC_THROW(GEODEC_FORMAT, "%s: the header is truncated or too long", path);
    GEODEC_NEW(header, (int64_t)length + 8); /* the zeros after the text stop every scan */
    memcpy(header, p + begin, length);
    GEODEC_TRY(read_header(path, header, &a, err));
    if (a.rows < 1 || a.cols < 1 || geodec_mem_mul(a.rows, a.cols, &count) != 0 ||
        geodec_mem_mul(count, a.size, &bytes) != 0 || (uint64_t)bytes != map.size - begin - length)
        GEODEC_THROW(GEODEC_FORMAT, "%s: %lld x %lld elements of %d bytes do not match the file size", path,
                     (long long)a.rows, (long long)a.cols, a.size);
    GEODEC_NEW(x, count);
    const uint8_t *data = p + begin + length;
    for (int64_t r = 0; r < a.rows; r++) {
        for (int64_t c = 0; c < a.cols; c++)
            x[r * a.cols + c] = element(&a, data + (a.fortran ? c * a.rows + r : r * a.cols + c) * a.size);
    }
    if (a.sort != 'f' && a.size == 8 && geodec__matrix_rounded(count, x) > 0) {
        subtract_first(&a, data, x);
        (void)snprintf(m->note, sizeof m->note,
                       "row 1 was subtracted from every row, because the whole numbers are beyond 2^53");
    }
    m->rows = a.rows;
    m->cols = a.cols;
    m->x = x;
    x = NULL;
done:
    GEODEC_FREE(header, x);
    geodec_file_map_close(&map);
    return st;
}
