#include "lab/perspective/memory/hv_internal.h"

#include "base/rng.h"
#include "kernels/isa_internal.h"

/* ---- the reference ----------------------------------------------------------------------------------------------- */

static int32_t distance_scalar(const uint64_t *a, const uint64_t *b)
{
    int32_t n = 0;
    for (int i = 0; i < GEODEC_HV_WORDS; i++) {
        uint64_t x = a[i] ^ b[i]; /* sums of 2, 4, 8 bits, then of all bytes */
        x -= x >> 1 & UINT64_C(0x5555555555555555);
        x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
        x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
        n += (int32_t)((x * UINT64_C(0x0101010101010101)) >> 56);
    }
    return n;
}

static void add_scalar(int16_t *count, const uint64_t *v)
{
    for (int i = 0; i < GEODEC_HV_BITS; i++) {
        if (v[i / 64] >> (i % 64) & 1u)
            count[i] = (int16_t)(count[i] + (count[i] < GEODEC_HV_COUNT_MAX));
        else
            count[i] = (int16_t)(count[i] - (count[i] > -GEODEC_HV_COUNT_MAX));
    }
}

static void majority_scalar(const int16_t *count, const uint64_t *tie, uint64_t *out)
{
    for (int w = 0; w < GEODEC_HV_WORDS; w++) {
        uint64_t more = 0, none = 0;
        for (int i = 0; i < 64; i++) {
            more |= (uint64_t)(count[64 * w + i] > 0) << i;
            none |= (uint64_t)(count[64 * w + i] == 0) << i;
        }
        out[w] = more | (none & tie[w]);
    }
    out[GEODEC_HV_WORDS - 1] &= GEODEC__HV_LAST;
}

const geodec__hv_ops geodec__hv_scalar = {"scalar", distance_scalar, add_scalar, majority_scalar};

const geodec__hv_ops *geodec__hv_for(geodec_isa isa)
{
#if defined(__x86_64__)
    const unsigned has = geodec__isa_cpu(isa);
    if (has & GEODEC__CPU_POPCOUNT) return &geodec__hv_avx512;
    if (has & GEODEC__CPU_AVX2) return &geodec__hv_avx2;
#endif
    (void)isa;
    return &geodec__hv_scalar;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

void geodec_hv_code(uint64_t seed, uint64_t stream, uint64_t index, geodec_hv *out)
{
    geodec_rng_fill(seed, stream ^ geodec_rng_id("hypervector", index), GEODEC_HV_WORDS, out->word);
    out->word[GEODEC_HV_WORDS - 1] &= GEODEC__HV_LAST;
}

void geodec_hv_bind(const geodec_hv *a, const geodec_hv *b, geodec_hv *out)
{
    for (int i = 0; i < GEODEC_HV_WORDS; i++) out->word[i] = a->word[i] ^ b->word[i];
}

void geodec_hv_noise(double probability, uint64_t seed, uint64_t stream, uint64_t index, geodec_hv *v)
{
    const uint64_t id = stream ^ geodec_rng_id("hypervector noise", index);
    for (int i = 0; i < GEODEC_HV_BITS; i++)
        if (geodec_rng_uniform_at(seed, id, (uint64_t)i) < probability) v->word[i / 64] ^= UINT64_C(1) << (i % 64);
}

int32_t geodec_hv_distance(const geodec_hv *a, const geodec_hv *b, geodec_isa isa)
{
    return geodec__hv_for(isa)->distance(a->word, b->word);
}

double geodec_hv_similarity(int32_t distance) { return 1 - 2.0 * distance / GEODEC_HV_BITS; }

void geodec_hv_add(int16_t *count, const geodec_hv *v, geodec_isa isa) { geodec__hv_for(isa)->add(count, v->word); }

void geodec_hv_majority(const int16_t *count, const geodec_hv *tie, geodec_hv *out, geodec_isa isa)
{
    geodec__hv_for(isa)->majority(count, tie->word, out->word);
}
