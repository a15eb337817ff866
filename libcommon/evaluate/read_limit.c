#include "evaluate/read_limit.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

static uint64_t read_words(const uint8_t *p, int streams, int ahead)
{
    uint64_t sum = 0;
    const int64_t length = PIECE / streams;
    for (int64_t i = 0; i < length; i += LINE)
        for (int s = 0; s < streams; s++) {
            uint64_t w[8];
            memcpy(w, p + s * length + i, sizeof w);
            if (ahead) __builtin_prefetch(p + s * length + i + ahead);
            for (int k = 0; k < 8; k++) sum ^= w[k];
        }
    return sum;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t read_avx2(const uint8_t *p, int streams, int ahead)
{
    __m256i a = _mm256_setzero_si256(), b = a;
    const int64_t length = PIECE / streams;
    for (int64_t i = 0; i < length; i += LINE)
        for (int s = 0; s < streams; s++) {
            const uint8_t *q = p + s * length + i;
            if (ahead) __builtin_prefetch(q + ahead);
            a = _mm256_xor_si256(a, _mm256_load_si256((const __m256i *)(const void *)q));
            b = _mm256_xor_si256(b, _mm256_load_si256((const __m256i *)(const void *)(q + 32)));
        }
    uint64_t w[4];
    _mm256_storeu_si256((__m256i *)(void *)w, _mm256_xor_si256(a, b));
    return w[0] ^ w[1] ^ w[2] ^ w[3];
}

__attribute__((target("avx512f"))) static uint64_t read_avx512(const uint8_t *p, int streams, int ahead)
{
    __m512i a = _mm512_setzero_si512(), b = a;
    const int64_t length = PIECE / streams;
    for (int64_t i = 0; i < length; i += 2 * LINE)
        for (int s = 0; s < streams; s++) {
            const uint8_t *q = p + s * length + i;
            if (ahead) {
                __builtin_prefetch(q + ahead);
                __builtin_prefetch(q + ahead + LINE);
            }
            a = _mm512_xor_si512(a, _mm512_load_si512(q));
            b = _mm512_xor_si512(b, _mm512_load_si512(q + LINE));
        }
    uint64_t w[8];
    _mm512_storeu_si512(w, _mm512_xor_si512(a, b));
    return w[0] ^ w[1] ^ w[2] ^ w[3] ^ w[4] ^ w[5] ^ w[6] ^ w[7];
}
#endif

static read_fn best_loads(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return read_avx512;
    if (__builtin_cpu_supports("avx2")) return read_avx2;
#endif
    return read_words;
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
