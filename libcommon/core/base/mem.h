/* Memory: all allocations of the library go through this module. They are checked for overflow, zeroed, and aligned to
 * 64 bytes. A hook injects failures in tests. */
#ifndef GEODEC_BASE_MEM_H
#define GEODEC_BASE_MEM_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* n elements of `size` bytes, all zero, aligned to 64 bytes; n = 0 gives a valid pointer. NULL when n < 0, when n *
 * size overflows, or when there is not enough memory. Free with geodec_mem_free. */
void *geodec_mem_new(int64_t n, size_t size) GEODEC_MUST_USE;
/* Grows to n_new elements and keeps the first n_old; the rest is zero. On failure returns NULL and p stays valid. */
void *geodec_mem_grow(void *p, int64_t n_old, int64_t n_new, size_t size) GEODEC_MUST_USE;
/* Frees n pointers: GEODEC_FREE(a, b, c). */
void geodec_mem_free_all(void *const *p, size_t n);
#define GEODEC_FREE(...)                                                                                               \
    geodec_mem_free_all((void *const[]){__VA_ARGS__}, sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
/* Large zeroed memory whose pages are allocated on first write, with huge pages if possible; aligned to a page, or to a
 * huge page when it is larger than one. NULL when bytes <= 0 or there is not enough memory. Release with
 * geodec_mem_unmap and the same number of bytes. */
void *geodec_mem_map(int64_t bytes) GEODEC_MUST_USE;
/* Makes the whole pages of memory that is about to be written, in one call: by far cheaper than a fault for each,
 * above all in a virtual machine. Contents stay. A hint: where the kernel cannot, a page is made when it is touched. */
void geodec_mem_populate(void *p, int64_t bytes);
/* Gives pages of such memory back to the system; they are zero when they are touched again. Whole pages. */
void geodec_mem_discard(void *p, int64_t bytes);
/* NULL is allowed. */
void geodec_mem_unmap(void *p, int64_t bytes);
/* A copy of s; NULL when there is not enough memory. */
char *geodec_mem_strdup(const char *s) GEODEC_MUST_USE;

/* *out: a formatted text in new memory. GEODEC_NOMEM. */
geodec_status geodec_mem_print(char **out, geodec_err *err, const char *fmt, ...) GEODEC_PRINTF(3, 4) GEODEC_MUST_USE;

/* Product of two non-negative counts; 0 on success, -1 on overflow or a negative factor. */
int geodec_mem_mul(int64_t a, int64_t b, int64_t *product);

/* Allocates p[n] zeroed, or jumps to done with GEODEC_NOMEM. */
#define GEODEC_NEW(p, n)                                                                                               \
    do {                                                                                                               \
        (p) = geodec_mem_new((int64_t)(n), sizeof *(p));                                                               \
        if (!(p)) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld x %zu bytes", (long long)(n), sizeof *(p));           \
    } while (0)

/* GEODEC_NEW of 2 to 8 arrays of the same length: GEODEC_NEW_EACH(n, a, b, c). */
#define GEODEC_NEW_EACH(n, ...)                                                                                        \
    do {                                                                                                               \
        GEODEC__NINTH(__VA_ARGS__, GEODEC__NEW8, GEODEC__NEW7, GEODEC__NEW6, GEODEC__NEW5, GEODEC__NEW4, GEODEC__NEW3, \
                      GEODEC__NEW2, GEODEC__NEW1, 0)                                                                   \
        (n, __VA_ARGS__)                                                                                               \
    } while (0)
#define GEODEC__NINTH(a, b, c, d, e, f, g, h, i, ...) i
#define GEODEC__NEW1(n, p) GEODEC_NEW(p, n);
#define GEODEC__NEW2(n, p, ...) GEODEC__NEW1(n, p) GEODEC__NEW1(n, __VA_ARGS__)
#define GEODEC__NEW3(n, p, ...) GEODEC__NEW1(n, p) GEODEC__NEW2(n, __VA_ARGS__)
#define GEODEC__NEW4(n, p, ...) GEODEC__NEW1(n, p) GEODEC__NEW3(n, __VA_ARGS__)
#define GEODEC__NEW5(n, p, ...) GEODEC__NEW1(n, p) GEODEC__NEW4(n, __VA_ARGS__)
#define GEODEC__NEW6(n, p, ...) GEODEC__NEW1(n, p) GEODEC__NEW5(n, __VA_ARGS__)
#define GEODEC__NEW7(n, p, ...) GEODEC__NEW1(n, p) GEODEC__NEW6(n, __VA_ARGS__)
#define GEODEC__NEW8(n, p, ...) GEODEC__NEW1(n, p) GEODEC__NEW7(n, __VA_ARGS__)
/* Allocates p[n] as a copy of from[n], or jumps to done with GEODEC_NOMEM. */
#define GEODEC_NEW_COPY(p, from, n)                                                                                    \
    do {                                                                                                               \
        GEODEC_NEW(p, n);                                                                                              \
        memcpy((p), (from), (size_t)(n) * sizeof *(p));                                                                \
    } while (0)
/* Moves from into to: from becomes all zero, so that its memory has one owner. */
#define GEODEC_MOVE(to, from)                                                                                          \
    do {                                                                                                               \
        (to) = (from);                                                                                                 \
        memset(&(from), 0, sizeof(from));                                                                              \
    } while (0)

/* Test hook: the k-th allocation from now fails (k >= 1); 0 disables the hook. Not thread-safe. */
void geodec_mem_fail_after(int64_t k);

/* Sets p to a copy of the text, or jumps to done with GEODEC_NOMEM. */
#define GEODEC_STRDUP(p, text)                                                                                         \
    do {                                                                                                               \
        (p) = geodec_mem_strdup(text);                                                                                 \
        if (!(p)) GEODEC_THROW(GEODEC_NOMEM, "no memory for a copy of '%.100s'", (text));                              \
    } while (0)

/* Grows p [room], which holds n elements, to hold n + more: at least doubles room (an int64_t) if it is too small, or
 * jumps to done with GEODEC_NOMEM. New elements are zero. */
#define GEODEC_GROW(p, n, room, more)                                                                                  \
    do {                                                                                                               \
        if ((n) + (more) > (room)) {                                                                                   \
            const int64_t room_ = 2 * (room) + (more) + 15;                                                            \
            void *const grown_ = geodec_mem_grow((p), (room), room_, sizeof *(p));                                     \
            if (!grown_) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld x %zu bytes", (long long)room_, sizeof *(p));  \
            (p) = grown_;                                                                                              \
            (room) = room_;                                                                                            \
        }                                                                                                              \
    } while (0)

#endif
