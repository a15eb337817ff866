#include "evaluate/read_limit.h"

#include "base/clock.h"
#include "base/cpu_internal.h"
#include "base/mem.h"
#include "base/unroll_internal.h"

#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 20, SMALLEST = 256 << 20, LARGEST = 1 << 30, LINE = 64, AHEAD = 1024 };

struct geodec_read_limit {
    geodec_pool *pool;
    uint8_t *data;
    int64_t bytes;
    uint64_t *sum; /* [threads][8] keeps the loads from being optimised away */
    int pattern;
};

/* Reads one piece as `streams` interleaved streams, with prefetch `ahead` bytes before. */
typedef uint64_t (*read_fn)(const uint8_t *p, int streams, int ahead);
typedef uint64_t line __attribute__((vector_size(LINE)));

/* The compiler takes the widest loads of the function that it is inlined in. */
INLINE uint64_t read_lines(const uint8_t *p, int streams, int ahead)
{
    line sum = {0};
    const int64_t length = PIECE / streams;
    for (int64_t i = 0; i < length; i += LINE)
        for (int s = 0; s < streams; s++) {
            const uint8_t *q = p + s * length + i;
            if (ahead) __builtin_prefetch(q + ahead);
            sum ^= *(const line *)(const void *)q;
        }
    return sum[0] ^ sum[1] ^ sum[2] ^ sum[3] ^ sum[4] ^ sum[5] ^ sum[6] ^ sum[7];
}

static uint64_t read_baseline(const uint8_t *p, int streams, int ahead) { return read_lines(p, streams, ahead); }
#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t read_avx2(const uint8_t *p, int streams, int ahead)
{
    return read_lines(p, streams, ahead);
}
__attribute__((target("avx512f"))) static uint64_t read_avx512(const uint8_t *p, int streams, int ahead)
{
    return read_lines(p, streams, ahead);
}
#endif

static read_fn best_loads(void)
{
#if defined(__x86_64__)
    if (geodec__cpu() & GEODEC__CPU_AVX512) return read_avx512;
    if (geodec__cpu() & GEODEC__CPU_AVX2) return read_avx2;
#endif
    return read_baseline;
}

static void read_task(void *ctx, int64_t task, int worker)
{
    const geodec_read_limit *r = ctx;
    const int streams = r->pattern & 1 ? 4 : 1, ahead = r->pattern & 2 ? AHEAD : 0;
    r->sum[8 * worker] ^= best_loads()(r->data + task * PIECE, streams, ahead);
}

geodec_status geodec_read_limit_create(geodec_pool *pool, geodec_read_limit **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_read_limit *r = NULL;
    GEODEC_NEW(r, 1);
    r->pool = pool;
    long cache = -1;
#ifdef _SC_LEVEL3_CACHE_SIZE
    cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    r->bytes = cache > 0 && cache <= LARGEST / 8 ? 8 * (int64_t)cache : cache > 0 ? LARGEST : SMALLEST;
    if (r->bytes < SMALLEST) r->bytes = SMALLEST;
    r->bytes = r->bytes / PIECE * PIECE;
    GEODEC_NEW(r->sum, 8 * (int64_t)geodec_pool_threads(pool));
    r->data = geodec_mem_map(r->bytes);
    if (!r->data) GEODEC_THROW(GEODEC_NOMEM, "no memory for a buffer of %lld bytes", (long long)r->bytes);
    for (int64_t i = 0; i < r->bytes; i += 8) memcpy(r->data + i, &i, sizeof i);
    GEODEC_MOVE(*out, r);
done:
    geodec_read_limit_destroy(r);
    return st;
}

void geodec_read_limit_destroy(geodec_read_limit *r)
{
    if (!r) return;
    geodec_mem_unmap(r->data, r->bytes);
    GEODEC_FREE(r->sum, r);
}

double geodec_read_limit_measure(geodec_read_limit *r)
{
    double best = 0;
    for (r->pattern = 0; r->pattern < 4; r->pattern++) {
        const double begin = geodec_clock_seconds();
        geodec_pool_run(r->pool, r->bytes / PIECE, read_task, r);
        const double rate = (double)r->bytes / (geodec_clock_seconds() - begin);
        if (rate > best) best = rate;
    }
    return best;
}
