/* Internal: pieces of memory that are freed together. */
#ifndef GEODEC_BASE_ARENA_INTERNAL_H
#define GEODEC_BASE_ARENA_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

/* Begins as {.limit = bytes of all pieces together}. */
typedef struct geodec__arena {
    struct geodec__arena_page *page;
    int64_t bytes, limit;
} geodec__arena;
/* n elements of `size` bytes, all zero, aligned to 16 bytes, or to 64 if every piece of the arena is a multiple of 64
 * bytes; n < 1 counts as 1. NULL: beyond the limit, or out of memory. */
void *geodec__arena_new(geodec__arena *a, int64_t n, size_t size);
/* Frees all pieces; the arena can be used again. */
void geodec__arena_free(geodec__arena *a);

#endif
