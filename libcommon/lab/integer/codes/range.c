#include "lab/integer/codes/range_internal.h"

#include <string.h>

#define TOP ((uint64_t)1 << 56)
#define BOTTOM ((uint64_t)1 << 48)

geodec__range_writer geodec__range_write(uint8_t *bytes, int64_t capacity)
{
    return (geodec__range_writer){.range = TOP, .bytes = bytes, .capacity = capacity};
}

static void carry(geodec__range_writer *w)
{
    if (w->low < TOP) return;
    w->low -= TOP;
    if (w->n > w->capacity) w->over = true; /* into bytes that are gone */
    int64_t i = w->n < w->capacity ? w->n : w->capacity;
    while (i > 0 && ++w->bytes[i - 1] == 0) i--;
}

static void put_byte(geodec__range_writer *w)
{
    const uint8_t byte = (uint8_t)(w->low >> 48);
    if (w->n < w->capacity)
        w->bytes[w->n] = byte;
    else
        w->over = w->over || byte != 0;
    w->n++;
    w->low = (w->low << 8) & (TOP - 1);
}

void geodec__range_put(geodec__range_writer *w, uint32_t from, uint32_t size)
{
    const uint64_t unit = w->range >> GEODEC__RANGE_BITS;
    w->low += unit * from;
    w->range = from + size == GEODEC__RANGE_ONE ? w->range - unit * from : unit * size;
    carry(w);
    for (; w->range <= BOTTOM; w->range <<= 8) put_byte(w);
}

/* The number of the final interval with the most zero bits at its end. */
bool geodec__range_end(geodec__range_writer *w)
{
    const uint64_t last = w->low + w->range - 1;
    uint64_t v = last;
    for (int k = 1; k <= 56; k++) {
        const uint64_t rounded = last >> k << k;
        if (rounded < w->low) break;
        v = rounded;
    }
    w->low = v;
    carry(w);
    while (w->low != 0) put_byte(w);
    if (w->n < w->capacity) memset(w->bytes + w->n, 0, (size_t)(w->capacity - w->n));
    return !w->over;
}

geodec__range_reader geodec__range_read(const uint8_t *bytes, int64_t n)
{
    geodec__range_reader r = {.range = TOP, .bytes = bytes, .n = n};
    for (; r.at < 7; r.at++) r.code = r.code << 8 | (r.at < n ? bytes[r.at] : 0);
    return r;
}

uint32_t geodec__range_peek(geodec__range_reader *r)
{
    const uint64_t v = r->code / (r->range >> GEODEC__RANGE_BITS);
    return v < GEODEC__RANGE_ONE ? (uint32_t)v : GEODEC__RANGE_ONE - 1;
}

void geodec__range_take(geodec__range_reader *r, uint32_t from, uint32_t size)
{
    const uint64_t unit = r->range >> GEODEC__RANGE_BITS;
    r->code -= unit * from;
    r->range = from + size == GEODEC__RANGE_ONE ? r->range - unit * from : unit * size;
    for (; r->range <= BOTTOM; r->range <<= 8, r->at++) r->code = r->code << 8 | (r->at < r->n ? r->bytes[r->at] : 0);
}
