#include "lab/perspective/memory/encoder.h"

#include "base/finite.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lab/perspective/memory/hv_internal.h"

#include <string.h>

enum { LANES = 8, BLOCK = 64 /* columns of a word of signs */ };

struct geodec_hv_encoder {
    geodec_hv_projection kind;
    int64_t width, blocks;
    float *mean;             /* [width] */
    uint64_t *signs;         /* [10,000][blocks], a set bit is +1 */
    uint64_t (*turn)[LANES]; /* [256]: the sign bit of a double where a bit of the byte is 0 */
    float *normal;           /* [10,000][width] */
    geodec_hv tie;
};

static geodec_status fill_normal(geodec_hv_encoder *e, uint64_t seed, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW(e->normal, GEODEC_HV_BITS * e->width);
    for (int64_t i = 0; i < GEODEC_HV_BITS; i++) {
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("hypervector normal", (uint64_t)i));
        for (int64_t j = 0; j < e->width; j++) e->normal[i * e->width + j] = (float)geodec_rng_normal(&r);
    }
done:
    return st;
}

geodec_status geodec_hv_encoder_create(geodec_hv_projection kind, uint64_t seed, int64_t width, const float *mean,
                                       geodec_hv_encoder **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_hv_encoder *e = NULL;
    if (width < 1 || width > GEODEC_HV_WIDTH_MAX) GEODEC_THROW(GEODEC_LIMIT, "states of width %lld", (long long)width);
    if ((unsigned)kind >= GEODEC_HV_PROJECTIONS) GEODEC_THROW(GEODEC_RANGE, "projection %d", (int)kind);
    if (geodec_finite_first_not_f32(mean, width) >= 0) GEODEC_THROW(GEODEC_NUMERIC, "the mean state is not finite");
    GEODEC_NEW(e, 1);
    e->kind = kind;
    e->width = width;
    e->blocks = (width + BLOCK - 1) / BLOCK;
    GEODEC_NEW_COPY(e->mean, mean, width);
    geodec_hv_code(seed, geodec_rng_id("hypervector tie", 0), 0, &e->tie);
    if (kind == GEODEC_HV_SIGNS) {
        GEODEC_NEW(e->signs, GEODEC_HV_BITS * e->blocks);
        for (int64_t i = 0; i < GEODEC_HV_BITS; i++)
            geodec_rng_fill(seed, geodec_rng_id("hypervector signs", (uint64_t)i), e->blocks, e->signs + i * e->blocks);
        GEODEC_NEW(e->turn, 256);
        for (int byte = 0; byte < 256; byte++)
            for (int j = 0; j < LANES; j++) e->turn[byte][j] = byte >> j & 1 ? 0 : UINT64_C(1) << 63;
    } else {
        GEODEC_TRY(fill_normal(e, seed, err));
    }
    GEODEC_MOVE(*out, e);
done:
    geodec_hv_encoder_destroy(e);
    return st;
}

void geodec_hv_encoder_destroy(geodec_hv_encoder *e)
{
    if (!e) return;
    GEODEC_FREE(e->mean, e->signs, e->turn, e->normal, e);
}

static double total(const double lane[LANES])
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* x [blocks][BLOCK], zero beyond the width. Signs are turned by their bit: a branch for each would be guessed wrong
 * half of the time. */
static double signed_sum(const geodec_hv_encoder *e, int64_t row, const double *x)
{
    double lane[LANES] = {0};
    for (int64_t b = 0; b < e->blocks; b++)
        for (int byte = 0; byte < BLOCK / LANES; byte++, x += LANES) {
            const uint64_t *const turn = e->turn[e->signs[row * e->blocks + b] >> LANES * byte & 255];
            uint64_t bits[LANES];
            double turned[LANES];
            memcpy(bits, x, sizeof bits);
            for (int j = 0; j < LANES; j++) bits[j] ^= turn[j];
            memcpy(turned, bits, sizeof turned);
            for (int j = 0; j < LANES; j++) lane[j] += turned[j];
        }
    return total(lane);
}

static double normal_sum(const geodec_hv_encoder *e, int64_t row, const double *x)
{
    const float *p = e->normal + row * e->width;
    double lane[LANES] = {0};
    for (int64_t j = 0; j < e->width; j++) lane[j % LANES] += (double)p[j] * x[j];
    return total(lane);
}

typedef struct encoding {
    const geodec_hv_encoder *e;
    const float *state;
    double *centred; /* [threads][blocks][BLOCK] */
    geodec_hv *out;
} encoding;

static void encode_one(void *ctx, int64_t task, int worker)
{
    const encoding *const c = ctx;
    const geodec_hv_encoder *const e = c->e;
    double *const x = c->centred + worker * e->blocks * BLOCK;
    geodec_hv *const out = &c->out[task];
    const float *const state = c->state + task * e->width;
    for (int64_t j = 0; j < e->width; j++) x[j] = (double)state[j] - (double)e->mean[j];
    for (int w = 0; w < GEODEC_HV_WORDS; w++) {
        uint64_t bits = 0;
        for (int i = 0; i < 64 && 64 * w + i < GEODEC_HV_BITS; i++) {
            const int64_t row = 64 * w + i;
            const double sum = e->kind == GEODEC_HV_SIGNS ? signed_sum(e, row, x) : normal_sum(e, row, x);
            const uint64_t tie = e->tie.word[w] >> i & 1u;
            bits |= (sum > 0 ? 1u : sum < 0 ? 0u : tie) << i;
        }
        out->word[w] = bits;
    }
}

geodec_status geodec_hv_encode(const geodec_hv_encoder *e, int64_t n, const float *state, geodec_hv *out,
                               geodec_pool *pool, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    encoding c = {.e = e, .state = state, .out = out};
    if (geodec_finite_first_not_f32(state, n * e->width) >= 0) GEODEC_THROW(GEODEC_NUMERIC, "a state is not finite");
    GEODEC_NEW(c.centred, geodec_pool_threads(pool) * e->blocks * BLOCK);
    geodec_pool_run(pool, n, encode_one, &c);
done:
    geodec_mem_free(c.centred);
    return st;
}
