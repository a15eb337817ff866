#include "cli/blas_memory.h"

#include "base/memory_limit.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { WORK_SPACE = 128 << 20, MOST = 64 }; /* bytes of one thread (BUFFER_SIZE of OpenBLAS on x86-64); buffers taken */

/* Functions of OpenBLAS without a header. The first is defined here: OpenBLAS asks it for the number of its threads
 * when it is loaded, before main, and finds this definition instead of its own. Geodec uses one. */
__attribute__((visibility("default"))) int openblas_num_threads_env(void);
extern void *blas_memory_alloc(int) __attribute__((weak));
extern void blas_memory_free(void *) __attribute__((weak));

int openblas_num_threads_env(void) { return 1; }

static bool data_limited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

geodec_status blas_memory_reserve(int64_t threads, geodec_err *err)
{
    void *taken[MOST];
    if (!blas_memory_alloc || !blas_memory_free) return GEODEC_OK;
    if (!geodec_memory_limit_address_space() && !data_limited()) return GEODEC_OK;
    /* Without room, OpenBLAS asks for it again and again. */
    const size_t n = threads < 1 ? 1 : threads > MOST ? MOST : (size_t)threads;
    void *room = mmap(NULL, n * WORK_SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        GEODEC_FAIL(GEODEC_NOMEM, "no memory within the limit for %zu work spaces of OpenBLAS of %d MiB", n,
                    WORK_SPACE >> 20);
    (void)munmap(room, n * WORK_SPACE);
    for (size_t i = 0; i < n; i++) taken[i] = blas_memory_alloc(0);
    for (size_t i = 0; i < n; i++) blas_memory_free(taken[i]); /* OpenBLAS keeps them for its calls */
    return GEODEC_OK;
}
