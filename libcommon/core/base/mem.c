#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int64_t fail_countdown; /* 0 = off; tests only */

void geodec_mem_fail_after(int64_t k) { fail_countdown = k; }

int geodec_mem_mul(int64_t a, int64_t b, int64_t *product)
{
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, product)) return -1;
    return 0;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

void geodec_mem_populate(void *p, int64_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = ((uintptr_t)p + page - 1) / page * page,
                    end = ((uintptr_t)p + (uintptr_t)bytes) / page * page;
    if (begin < end) (void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
}

enum { SEVERAL_PAGES = 1 << 16 };

void *geodec_mem_new(int64_t n, size_t size)
{
    if (fail_countdown > 0 && --fail_countdown == 0) return NULL;
    size_t bytes;
    if (n < 0 || __builtin_mul_overflow((uint64_t)n, (uint64_t)size, &bytes)) return NULL;
    if (bytes > (size_t)PTRDIFF_MAX - 64) return NULL;
    size_t rounded = (bytes + 63) & ~(size_t)63;
    if (!rounded) rounded = 64;
    void *p = aligned_alloc(64, rounded);
    if (p && rounded >= SEVERAL_PAGES) geodec_mem_populate(p, (int64_t)rounded);
    if (p) memset(p, 0, rounded);
    return p;
}

void *geodec_mem_grow(void *p, int64_t n_old, int64_t n_new, size_t size)
{
    void *q = geodec_mem_new(n_new, size);
    if (!q) return NULL;
    int64_t keep = n_old < n_new ? n_old : n_new;
    if (p && keep > 0) memcpy(q, p, (size_t)keep * size);
    geodec_mem_free(p);
    return q;
}

void geodec_mem_free(void *p) { free(p); }

void geodec_mem_free_all(void *const *p, size_t n)
{
    for (size_t i = 0; i < n; i++) free(p[i]);
}

enum { HUGE_PAGE = 1 << 21 };

void *geodec_mem_map(int64_t bytes)
{
    if (fail_countdown > 0 && --fail_countdown == 0) return NULL;
    if (bytes <= 0 || bytes > PTRDIFF_MAX - HUGE_PAGE) return NULL;
    const size_t n = (size_t)bytes, extra = n >= HUGE_PAGE ? HUGE_PAGE : 0;
    char *p = mmap(NULL, n + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (!extra) return p;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
    char *start = p + before, *end = start + (n + page - 1) / page * page;
    if (before) (void)munmap(p, before);
    if (end < p + n + extra) (void)munmap(end, (size_t)(p + n + extra - end));
    (void)madvise(start, n, MADV_HUGEPAGE);
    return start;
}

void geodec_mem_discard(void *p, int64_t bytes) { (void)madvise(p, (size_t)bytes, MADV_DONTNEED); }

void geodec_mem_unmap(void *p, int64_t bytes)
{
    if (p) (void)munmap(p, (size_t)bytes);
}

char *geodec_mem_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = geodec_mem_new((int64_t)n, 1);
    if (p) memcpy(p, s, n);
    return p;
}

geodec_status geodec_mem_print(char **out, geodec_err *err, const char *fmt, ...)
{
    geodec_status st = GEODEC_OK;
    char *text = NULL;
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, fmt, args);
    GEODEC_NEW(text, (int64_t)n + 1);
    (void)vsnprintf(text, (size_t)n + 1, fmt, again);
    *out = text;
done:
    va_end(args);
    va_end(again);
    return st;
}
