#include "attest/transcript.h"

#include "base/mem.h"
#include "integer/fixed/wide.h"
#include "io/atomic.h"
#include "io/file.h"

#include <string.h>

static const char MAGIC[8] = "GDTRANS1";
/* Large writes at multiples of their size: the system then keeps the file in large pages, which map in no time. */
enum { BUFFER = 1 << 22 };
enum { HEAD = sizeof MAGIC + GEODEC_TRANSCRIPT_BINDING, TOKEN_HEAD = 12 };

static void put(uint8_t *to, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get(const uint8_t *from, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)from[i] << (8 * i);
    return v;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

void geodec_transcript_measure(const int64_t *acc, int64_t n, geodec_transcript_sums *out)
{
    uint64_t any = 0, size = 0; /* bits that are set; of magnitudes, with one less for negative numbers */
    for (int64_t i = 0; i < n; i++) {
        any |= (uint64_t)acc[i];
        size |= (uint64_t)(acc[i] ^ (acc[i] >> 63));
    }
    const int zeros = any ? __builtin_ctzll(any) : 0, top = geodec_wide_bits((int64_t)size) + 1;
    *out = (geodec_transcript_sums){.bits = top > zeros ? top - zeros : 1, .zeros = zeros};
    if (out->bits > GEODEC_TRANSCRIPT_BITS || out->bits + zeros > GEODEC_TRANSCRIPT_RANGE)
        *out = (geodec_transcript_sums){0};
}

void geodec_transcript_pack(const int64_t *acc, int64_t n, int bits, int zeros, uint8_t *packed)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t left = 0; /* bits that are not written, below 8 between sums */
    int have = 0;
    for (int64_t i = 0; i < n; i++) {
        left |= ((uint64_t)acc[i] >> zeros & mask) << have;
        for (have += bits; have >= 8; have -= 8, left >>= 8) *packed++ = (uint8_t)left;
    }
    if (have > 0) *packed = (uint8_t)left;
}

void geodec_transcript_unpack(const geodec_transcript_sums *s, int64_t n, int64_t *acc)
{
    const int64_t size = geodec_transcript_bytes(n, s->bits);
    for (int64_t i = 0; i < n; i++) {
        const int64_t bit = i * s->bits, at = bit / 8;
        const int past = (int)(bit % 8), up = 64 - s->bits;
        const uint64_t word = get(s->packed + at, size - at < 8 ? (int)(size - at) : 8);
        acc[i] = (int64_t)((uint64_t)((int64_t)(word << (up - past)) >> up) << s->zeros);
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

typedef struct piece {
    uint8_t *data;
    int64_t used, room;
} piece;

/* Room for n more bytes; NULL: no memory. */
static uint8_t *extend(piece *p, int64_t n)
{
    if (p->used + n > p->room) {
        const int64_t room = 2 * p->room + n;
        uint8_t *data = geodec_mem_grow(p->data, p->used, room, 1);
        if (!data) return NULL;
        p->data = data;
        p->room = room;
    }
    p->used += n;
    return p->data + p->used - n;
}

typedef struct row_out {
    piece kinds, sums;
} row_out;

struct geodec_transcript_writer {
    geodec_atomic *file;
    char *buffer; /* of the file's stream */
    geodec_sha256 hash;
    int64_t size;
    row_out *row; /* [rows] */
    int32_t rows;
    bool failed;
};

static geodec_status write_bytes(geodec_transcript_writer *w, const void *data, int64_t n, geodec_err *err)
{
    geodec_sha256_update(&w->hash, data, (size_t)n);
    w->size += n;
    return geodec_atomic_write(w->file, data, (size_t)n, err);
}

geodec_status geodec_transcript_create(const char *path, const uint8_t binding[GEODEC_TRANSCRIPT_BINDING], int32_t rows,
                                       geodec_transcript_writer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_transcript_writer *w = NULL;
    GEODEC_NEW(w, 1);
    GEODEC_NEW(w->row, rows);
    w->rows = rows;
    geodec_sha256_init(&w->hash);
    GEODEC_NEW(w->buffer, BUFFER);
    GEODEC_TRY(geodec_atomic_open(path, &w->file, err));
    (void)setvbuf(geodec_atomic_stream(w->file), w->buffer, _IOFBF, BUFFER);
    GEODEC_TRY(write_bytes(w, MAGIC, sizeof MAGIC, err));
    GEODEC_TRY(write_bytes(w, binding, GEODEC_TRANSCRIPT_BINDING, err));
    GEODEC_MOVE(*out, w);
done:
    geodec_transcript_abandon(w);
    return st;
}

bool geodec_transcript_add(geodec_transcript_writer *w, int32_t row, const int64_t *acc, int64_t n)
{
    geodec_transcript_sums s = {0};
    row_out *r = &w->row[row];
    if (acc) geodec_transcript_measure(acc, n, &s);
    uint8_t *kind = extend(&r->kinds, 2), *sums = s.bits ? extend(&r->sums, geodec_transcript_bytes(n, s.bits)) : NULL;
    if (!kind || (s.bits && !sums)) {
        w->failed = true;
        return false;
    }
    kind[0] = (uint8_t)s.bits;
    kind[1] = (uint8_t)s.zeros;
    if (sums) geodec_transcript_pack(acc, n, s.bits, s.zeros, sums);
    return true;
}

geodec_status geodec_transcript_flush(geodec_transcript_writer *w, int32_t n, geodec_err *err)
{
    if (w->failed) GEODEC_FAIL(GEODEC_NOMEM, "no memory for the sums of a pass");
    for (int32_t i = 0; i < n; i++) {
        row_out *r = &w->row[i];
        uint8_t head[TOKEN_HEAD];
        put(head, (uint64_t)(TOKEN_HEAD - 8 + r->kinds.used + r->sums.used), 8);
        put(head + 8, (uint64_t)(r->kinds.used / 2), 4);
        GEODEC_PASS(write_bytes(w, head, sizeof head, err));
        GEODEC_PASS(write_bytes(w, r->kinds.data, r->kinds.used, err));
        GEODEC_PASS(write_bytes(w, r->sums.data, r->sums.used, err));
        r->kinds.used = r->sums.used = 0;
    }
    return GEODEC_OK;
}

geodec_status geodec_transcript_commit(geodec_transcript_writer *w, int64_t *size, char digest[GEODEC_SHA256_HEX],
                                       geodec_err *err)
{
    geodec_atomic *file;
    *size = w->size;
    geodec_sha256_hex(&w->hash, digest);
    GEODEC_MOVE(file, w->file);
    return geodec_atomic_commit(file, err);
}

void geodec_transcript_abandon(geodec_transcript_writer *w)
{
    if (!w) return;
    geodec_atomic_abandon(w->file);
    for (int32_t i = 0; w->row && i < w->rows; i++) GEODEC_FREE(w->row[i].kinds.data, w->row[i].sums.data);
    GEODEC_FREE(w->row, w->buffer, w);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct row_in {
    const uint8_t *kind, *sums, *end;
    int64_t left; /* products */
} row_in;

struct geodec_transcript {
    char *path;
    geodec_file_map map;
    size_t at;
    int64_t tokens; /* before the current pass */
    row_in *row;    /* [rows] */
    int32_t rows;
};

geodec_status geodec_transcript_open(const char *path, int32_t rows, geodec_transcript **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_transcript *t = NULL;
    GEODEC_NEW(t, 1);
    GEODEC_NEW(t->row, rows);
    t->rows = rows;
    GEODEC_NEW_COPY(t->path, path, strlen(path) + 1);
    GEODEC_TRY(geodec_file_map_open(path, &t->map, err));
    if (t->map.size < HEAD || memcmp(t->map.data, MAGIC, sizeof MAGIC) != 0)
        GEODEC_THROW(GEODEC_FORMAT, "%s: is no transcript", path);
    t->at = HEAD;
    GEODEC_MOVE(*out, t);
done:
    geodec_transcript_close(t);
    return st;
}

void geodec_transcript_close(geodec_transcript *t)
{
    if (!t) return;
    geodec_file_map_close(&t->map);
    GEODEC_FREE(t->path, t->row, t);
}

int64_t geodec_transcript_size(const geodec_transcript *t) { return (int64_t)t->map.size; }
const uint8_t *geodec_transcript_binding(const geodec_transcript *t) { return t->map.data + sizeof MAGIC; }

geodec_status geodec_transcript_pass(geodec_transcript *t, int32_t n, geodec_err *err)
{
    for (int32_t i = 0; i < n; i++, t->tokens++) {
        const uint8_t *p = t->map.data + t->at;
        const size_t left = t->map.size - t->at;
        const uint64_t size = left < TOKEN_HEAD ? 0 : get(p, 8), products = left < TOKEN_HEAD ? 0 : get(p + 8, 4);
        if (left < TOKEN_HEAD || size > left - 8 || size < TOKEN_HEAD - 8 + 2 * products)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: token %lld is cut or damaged", t->path, (long long)t->tokens);
        p += TOKEN_HEAD;
        t->at += 8 + size;
        t->row[i] = (row_in){p, p + 2 * products, t->map.data + t->at, (int64_t)products};
    }
    return GEODEC_OK;
}

bool geodec_transcript_next(geodec_transcript *t, int32_t row, int64_t n, geodec_transcript_sums *out)
{
    row_in *r = &t->row[row];
    if (r->left < 1) return false;
    const geodec_transcript_sums s = {.packed = r->sums, .bits = r->kind[0], .zeros = r->kind[1]};
    if (s.bits > GEODEC_TRANSCRIPT_BITS || s.bits + s.zeros > GEODEC_TRANSCRIPT_RANGE) return false;
    const int64_t size = geodec_transcript_bytes(n, s.bits);
    const int rest = (int)(n * s.bits % 8); /* bits of the last byte; the others are zero */
    if (size > r->end - r->sums || (rest && r->sums[size - 1] >> rest)) return false;
    r->kind += 2;
    r->sums += size;
    r->left--;
    *out = s;
    return true;
}

int64_t geodec_transcript_left(const geodec_transcript *t, int32_t row) { return t->row[row].left; }
bool geodec_transcript_ended(const geodec_transcript *t) { return t->at == t->map.size; }
