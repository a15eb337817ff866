/* A range coder over byte strings of fixed length (Martin 1979; carries as in Schindler's and Lunt's coders).
 * Probabilities are multiples of 2^-16. A reader that runs past the end reads zeros, so every byte string decodes. */
#ifndef GEODEC_INTEGER_CODES_RANGE_INTERNAL_H
#define GEODEC_INTEGER_CODES_RANGE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC__RANGE_BITS = 16, GEODEC__RANGE_ONE = 1 << GEODEC__RANGE_BITS };

typedef struct geodec__range_writer {
    uint64_t low, range; /* of 56 bits */
    uint8_t *bytes;
    int64_t n, capacity;
    bool over; /* more bytes than the capacity */
} geodec__range_writer;

geodec__range_writer geodec__range_write(uint8_t *bytes, int64_t capacity);
/* The interval [from, from + size) of 2^16, size >= 1. */
void geodec__range_put(geodec__range_writer *w, uint32_t from, uint32_t size);
/* Ends the string and fills it with zeros; false: it needs more than its capacity. */
bool geodec__range_end(geodec__range_writer *w);

typedef struct geodec__range_reader {
    uint64_t code, range;
    const uint8_t *bytes;
    int64_t n, at;
} geodec__range_reader;

geodec__range_reader geodec__range_read(const uint8_t *bytes, int64_t n);
/* A number in the interval that comes next, which geodec__range_take then removes. */
uint32_t geodec__range_peek(geodec__range_reader *r);
void geodec__range_take(geodec__range_reader *r, uint32_t from, uint32_t size);

#endif
