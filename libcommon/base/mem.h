/* Memory: the only place that allocates. Overflow-checked, zeroed, 64-byte aligned; a hook injects failures in tests.
 */
#ifndef GEODEC_BASE_MEM_H
#define GEODEC_BASE_MEM_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* n elements of `size` bytes, all zero, aligned to 64 bytes; n = 0 gives a valid pointer. NULL when n < 0, when n *
 * size overflows, or when there is not enough memory. Free with geodec_mem_free. */
GEODEC_API void *geodec_mem_new(int64_t n, size_t size) GEODEC_MUST_USE;
/* Grows to n_new elements and keeps the first n_old; the rest is zero. On failure returns NULL and p stays valid. */
GEODEC_API void *geodec_mem_grow(void *p, int64_t n_old, int64_t n_new, size_t size) GEODEC_MUST_USE;
/* NULL is allowed. */
GEODEC_API void geodec_mem_free(void *p);
/* Large zeroed memory whose pages are allocated on first write, with huge pages if possible; aligned to a page, or to a
 * huge page when it is larger than one. NULL when bytes <= 0 or there is not enough memory. Release with
 * geodec_mem_unmap and the same number of bytes. */
GEODEC_API void *geodec_mem_map(int64_t bytes) GEODEC_MUST_USE;
/* NULL is allowed. */
GEODEC_API void geodec_mem_unmap(void *p, int64_t bytes);
/* A copy of s; NULL when there is not enough memory. */
GEODEC_API char *geodec_mem_strdup(const char *s) GEODEC_MUST_USE;
/* *out: a formatted text in new memory. GEODEC_NOMEM. */
GEODEC_API geodec_status geodec_mem_print(char **out, geodec_err *err, const char *fmt, ...)
    GEODEC_PRINTF(3, 4) GEODEC_MUST_USE;

/* Product of two non-negative counts; 0 on success, -1 on overflow or a negative factor. */
GEODEC_API int geodec_mem_mul(int64_t a, int64_t b, int64_t *product);

/* Test hook: the k-th allocation from now fails (k >= 1); 0 disables the hook. Not thread-safe. */
GEODEC_API void geodec_mem_fail_after(int64_t k);

/* Allocates p[n] zeroed, or jumps to done with GEODEC_NOMEM. */
#define GEODEC_NEW(p, n)                                                                                               \
    do {                                                                                                               \
        (p) = geodec_mem_new((int64_t)(n), sizeof *(p));                                                               \
        if (!(p)) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld x %zu bytes", (long long)(n), sizeof *(p));           \
    } while (0)

#endif
