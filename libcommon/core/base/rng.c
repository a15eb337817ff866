#include "base/rng.h"

#include <math.h>

static void philox4x32_10(const uint32_t ctr[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = ctr[0], c1 = ctr[1], c2 = ctr[2], c3 = ctr[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

geodec_rng geodec_rng_stream(uint64_t seed, uint64_t stream) { return (geodec_rng){seed, stream, 0}; }

uint64_t geodec_rng_id(const char *name, uint64_t index)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    h ^= index * 0x9E3779B97F4A7C15u; /* splitmix64 finaliser */
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBu;
    return h ^ (h >> 31);
}

/* Values 2 block and 2 block + 1 of a stream. */
static void pair_at(uint64_t seed, uint64_t stream, uint64_t block, uint64_t pair[2])
{
    const uint32_t ctr[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t out[4];
    philox4x32_10(ctr, key, out);
    pair[0] = (uint64_t)out[1] << 32 | out[0];
    pair[1] = (uint64_t)out[3] << 32 | out[2];
}

uint64_t geodec_rng_at(uint64_t seed, uint64_t stream, uint64_t i)
{
    uint64_t pair[2];
    pair_at(seed, stream, i / 2, pair);
    return pair[i & 1];
}

void geodec_rng_fill(uint64_t seed, uint64_t stream, int64_t n, uint64_t *out)
{
    for (int64_t i = 0; i < n; i += 2) {
        uint64_t pair[2];
        pair_at(seed, stream, (uint64_t)i / 2, pair);
        out[i] = pair[0];
        if (i + 1 < n) out[i + 1] = pair[1];
    }
}

static double to_unit(uint64_t u) { return (double)(u >> 11) * 0x1p-53; }

double geodec_rng_uniform_at(uint64_t seed, uint64_t stream, uint64_t i)
{
    return to_unit(geodec_rng_at(seed, stream, i));
}

uint64_t geodec_rng_u64(geodec_rng *r) { return geodec_rng_at(r->seed, r->stream, r->next++); }

double geodec_rng_uniform(geodec_rng *r) { return to_unit(geodec_rng_u64(r)); }

uint64_t geodec_rng_below(geodec_rng *r, uint64_t n)
{
    const uint64_t limit = UINT64_MAX - UINT64_MAX % n; /* largest multiple of n */
    uint64_t u;
    do {
        u = geodec_rng_u64(r);
    } while (u >= limit);
    return u % n;
}

double geodec_rng_normal(geodec_rng *r)
{
    const double u = 1.0 - geodec_rng_uniform(r), v = geodec_rng_uniform(r);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586476925286766559 * v);
}
