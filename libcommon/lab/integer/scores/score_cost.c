#include "lab/integer/scores/score_cost.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lab/integer/ntt/negacyclic.h"
#include "linalg/stats.h"

#include <math.h>

enum { FEW = 32 /* keys of a call of the slow methods */, STATES = 2, PLANS = 2, MOST_CONTEXT = 1 << 20 };
static const double LEAST_SECONDS = 5e-4; /* of a sample, hot */

typedef enum layout { INT16, INT32, BLOCK_P60, BLOCK_CRT, LAYOUTS } layout;
typedef enum action { DIRECT16, DIRECT32, CACHED, PRODUCT, KEY, QUERY } action;

typedef struct method {
    const char *name;
    action action;
    layout layout; /* of the keys that it reads */
    int plan;      /* 0: p60, 1: the pair */
} method;
static const method methods[] = {{"direct-int16", DIRECT16, INT16, 0}, {"direct-int32", DIRECT32, INT32, 0},
                                 {"ntt-p60", CACHED, BLOCK_P60, 0},    {"ntt-crt", CACHED, BLOCK_CRT, 1},
                                 {"product-p60", PRODUCT, INT32, 0},   {"product-crt", PRODUCT, INT32, 1},
                                 {"key-p60", KEY, INT32, 0},           {"key-crt", KEY, INT32, 1},
                                 {"query-p60", QUERY, INT32, 0},       {"query-crt", QUERY, INT32, 1}};
enum { METHODS = sizeof methods / sizeof *methods, SCORES = 6 /* the first ones; the others are transforms */ };

/* Copies of the keys of a context. */
typedef struct area {
    uint8_t *data;
    int64_t key_bytes, copies, bytes, at;
} area;

typedef struct bench {
    const geodec_score_cost_options *o;
    int64_t length; /* N */
    int16_t *q16;
    int32_t *q32;
    area area[LAYOUTS];
    geodec_scores_of16 direct16;
    geodec_scores_of32 direct32;
    geodec_scores *plan[PLANS];
    geodec_scores_query *work[PLANS];
    geodec_negacyclic *product[PLANS];
    int64_t *wanted, *c, *query, *star, *out; /* [context] twice, [length] */
    int32_t *c16;                             /* [context] */
    uint8_t *block;                           /* a transformed key */
} bench;

/* ---- the methods ------------------------------------------------------------------------------------------------- */

static geodec_status product(bench *b, int plan, const int32_t *k, int64_t *c, geodec_err *err)
{
    const int64_t dim = b->o->dim, n = b->length;
    memset(b->star, 0, (size_t)n * sizeof *b->star);
    b->star[0] = k[0];
    for (int64_t j = 1; j < dim; j++) b->star[n - j] = -(int64_t)k[j];
    geodec_negacyclic_load(b->product[plan], b->query);
    GEODEC_PASS(geodec_negacyclic_multiply(b->product[plan], b->star, b->out, NULL, err));
    *c = b->out[0];
    return GEODEC_OK;
}

/* Scores, or transforms, of the first n keys; scores go to c, or c16 of direct16. */
static geodec_status call(bench *b, const method *m, const uint8_t *keys, int64_t n, geodec_err *err)
{
    const int64_t dim = b->o->dim;
    const int32_t *k = (const int32_t *)(const void *)keys;
    switch (m->action) {
    case DIRECT16:
        b->direct16(b->q16, (const int16_t *)(const void *)keys, n, dim, b->c16);
        break;
    case DIRECT32:
        b->direct32(b->q32, k, n, dim, b->c);
        break;
    case CACHED:
        geodec_scores_sums(b->plan[m->plan], b->work[m->plan], keys, n, b->c);
        break;
    case PRODUCT:
        for (int64_t i = 0; i < n; i++) GEODEC_PASS(product(b, m->plan, k + i * dim, &b->c[i], err));
        break;
    case KEY:
        for (int64_t i = 0; i < n; i++) geodec_scores_key(b->plan[m->plan], b->work[m->plan], k + i * dim, b->block);
        break;
    case QUERY:
        for (int64_t i = 0; i < n; i++) geodec_scores_load(b->plan[m->plan], b->work[m->plan], b->q32);
        break;
    }
    return GEODEC_OK;
}

static int64_t keys_of(const bench *b, const method *m)
{
    return m->action >= PRODUCT && b->o->context > FEW ? FEW : b->o->context;
}

static geodec_status sample(bench *b, const method *m, bool streamed, int64_t repeats, double *seconds, geodec_err *err)
{
    area *a = &b->area[m->layout];
    const int64_t n = keys_of(b, m), copy = a->key_bytes * b->o->context;
    const double began = geodec_clock_thread_seconds();
    for (int64_t i = 0; i < repeats; i++) {
        if (streamed) a->at = (a->at + 1) % a->copies;
        GEODEC_PASS(call(b, m, a->data + (streamed ? a->at : 0) * copy, n, err));
    }
    *seconds = geodec_clock_thread_seconds() - began;
    return GEODEC_OK;
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static geodec_status new_area(bench *b, layout l, int64_t key_bytes, geodec_err *err)
{
    area *a = &b->area[l];
    const int64_t copy = key_bytes * b->o->context;
    a->key_bytes = key_bytes;
    a->copies = b->o->stream_bytes / copy > 1 ? b->o->stream_bytes / copy : 1;
    a->bytes = a->copies * copy;
    a->data = geodec_mem_map(a->bytes);
    if (!a->data) GEODEC_FAIL(GEODEC_NOMEM, "no memory for %lld bytes of keys", (long long)a->bytes);
    return GEODEC_OK;
}

static void repeat(const bench *b, layout l)
{
    const area *a = &b->area[l];
    const int64_t copy = a->key_bytes * b->o->context;
    for (int64_t i = 1; i < a->copies; i++) memcpy(a->data + i * copy, a->data, (size_t)copy);
}

/* Random numbers whose Euclidean length is at most 2^15 - 1. */
static int32_t draw(geodec_rng *r, int64_t dim)
{
    const int64_t most = (int64_t)floor(INT16_MAX / sqrt((double)dim));
    return (int32_t)((int64_t)(geodec_rng_u64(r) % (uint64_t)(2 * most + 1)) - most);
}

static geodec_status fill(bench *b, geodec_err *err)
{
    const int64_t dim = b->o->dim, n = b->o->context;
    geodec_rng r = geodec_rng_stream(b->o->seed, geodec_rng_id("score-cost", 0));
    GEODEC_PASS(new_area(b, INT16, dim * (int64_t)sizeof(int16_t), err));
    GEODEC_PASS(new_area(b, INT32, dim * (int64_t)sizeof(int32_t), err));
    GEODEC_PASS(new_area(b, BLOCK_P60, geodec_scores_block(dim), err));
    GEODEC_PASS(new_area(b, BLOCK_CRT, geodec_scores_block(dim), err));
    int16_t *k16 = (int16_t *)(void *)b->area[INT16].data;
    int32_t *k32 = (int32_t *)(void *)b->area[INT32].data;
    for (int64_t i = 0; i < dim; i++) {
        b->q32[i] = draw(&r, dim);
        b->q16[i] = (int16_t)b->q32[i];
        b->query[i] = b->q32[i];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < dim; d++) {
            k32[i * dim + d] = draw(&r, dim);
            k16[i * dim + d] = (int16_t)k32[i * dim + d];
            b->wanted[i] += (int64_t)b->q32[d] * k32[i * dim + d];
        }
    for (int p = 0; p < PLANS; p++) {
        area *a = &b->area[p ? BLOCK_CRT : BLOCK_P60];
        for (int64_t i = 0; i < n; i++)
            geodec_scores_key(b->plan[p], b->work[p], k32 + i * dim, a->data + i * a->key_bytes);
        geodec_scores_load(b->plan[p], b->work[p], b->q32);
    }
    for (int l = 0; l < LAYOUTS; l++) repeat(b, (layout)l);
    return GEODEC_OK;
}

static geodec_status open_bench(bench *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_score_cost_options *o = b->o;
    if (o->dim < 1 || o->dim > GEODEC_SCORES_MOST || o->context < 1 || o->context > MOST_CONTEXT || o->rounds < 1 ||
        o->stream_bytes < 0)
        GEODEC_THROW(GEODEC_INVAL, "%d numbers, %lld keys, %d rounds, %lld bytes", o->dim, (long long)o->context,
                     o->rounds, (long long)o->stream_bytes);
    b->length = geodec_scores_length(o->dim);
    for (int p = 0; p < PLANS; p++) {
        const geodec_scores_by by = p ? GEODEC_SCORES_NTT_CRT : GEODEC_SCORES_NTT_P60;
        GEODEC_TRY(geodec_scores_create(by, o->dim, o->isa, &b->plan[p], err));
        GEODEC_TRY(geodec_scores_query_create(b->plan[p], &b->work[p], err));
        GEODEC_TRY(geodec_negacyclic_create(b->length, p ? GEODEC_NEGACYCLIC_AUTO : GEODEC_NEGACYCLIC_P60,
                                            geodec_ntt_path_of(o->isa), &b->product[p], err));
    }
    b->direct16 = geodec_scores_direct16(o->isa); /* the plans know that the set is there */
    b->direct32 = geodec_scores_direct32(o->isa);
    GEODEC_NEW(b->q16, o->dim);
    GEODEC_NEW(b->q32, o->dim);
    GEODEC_NEW_EACH(o->context, b->wanted, b->c, b->c16);
    GEODEC_NEW_EACH(b->length, b->query, b->star, b->out);
    GEODEC_NEW(b->block, geodec_scores_block(o->dim));
    GEODEC_TRY(fill(b, err));
done:
    return st;
}

static void close_bench(bench *b)
{
    for (int p = 0; p < PLANS; p++) {
        geodec_negacyclic_destroy(b->product[p]);
        geodec_scores_query_destroy(b->work[p]);
        geodec_scores_destroy(b->plan[p]);
    }
    for (int l = 0; l < LAYOUTS; l++) geodec_mem_unmap(b->area[l].data, b->area[l].bytes);
    GEODEC_FREE(b->q16, b->q32, b->wanted, b->c, b->c16, b->query, b->star, b->out, b->block);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Scores of the last copy against plain sums; a transform of a key against its block, of the query by its scores. */
static geodec_status check(bench *b, const method *m, bool *exact, geodec_err *err)
{
    const area *a = &b->area[m->layout], *blocks = &b->area[m->plan ? BLOCK_CRT : BLOCK_P60];
    const int64_t n = keys_of(b, m);
    const uint8_t *last = a->data + (a->copies - 1) * a->key_bytes * b->o->context;
    GEODEC_PASS(call(b, m, last, n, err));
    if (m->action == QUERY) geodec_scores_sums(b->plan[m->plan], b->work[m->plan], blocks->data, n, b->c);
    bool ok = true;
    if (m->action == KEY)
        ok = memcmp(b->block, blocks->data + (n - 1) * blocks->key_bytes, (size_t)blocks->key_bytes) == 0;
    for (int64_t i = 0; m->action != KEY && i < n; i++)
        ok &= (m->action == DIRECT16 ? (int64_t)b->c16[i] : b->c[i]) == b->wanted[i];
    *exact = ok;
    return GEODEC_OK;
}

static int64_t multiplications(const bench *b, const method *m)
{
    const int64_t n = b->length, moduli = m->plan + 1;
    int64_t butterflies = 0; /* of a transform */
    for (int64_t half = 1; half < n; half *= 2) butterflies += n / 2;
    switch (m->action) {
    case CACHED:
        return moduli * n;
    case PRODUCT:
        return moduli * (3 * butterflies + n);
    case KEY:
    case QUERY:
        return moduli * butterflies;
    default:
        return b->o->dim;
    }
}

static geodec_status row_of(bench *b, const method *m, bool streamed, const double *seconds, int64_t repeats,
                            geodec_score_cost_row *r, geodec_err *err)
{
    double median;
    GEODEC_PASS(geodec_stats_median(b->o->rounds, seconds, &median, err));
    *r = (geodec_score_cost_row){.method = m->name,
                                 .state = streamed ? "streamed" : "hot",
                                 .multiplications = multiplications(b, m),
                                 .bytes = b->area[m->layout].key_bytes,
                                 .ns = median * 1e9 / (double)(repeats * keys_of(b, m))};
    return check(b, m, &r->exact, err);
}

/* Repeats of a sample. The shortest of three counts: the first touch of memory takes long. */
static geodec_status calibrate(bench *b, const method *m, int64_t *repeats, geodec_err *err)
{
    for (*repeats = 1;; *repeats *= 2) {
        double least = INFINITY, seconds = 0;
        for (int i = 0; i < 3; i++) {
            GEODEC_PASS(sample(b, m, false, *repeats, &seconds, err));
            least = fmin(least, seconds);
        }
        if (least >= LEAST_SECONDS || *repeats > 1 << 24) return GEODEC_OK;
    }
}

geodec_status geodec_score_cost_measure(const geodec_score_cost_options *o, geodec_score_cost_row *rows,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bench b = {.o = o};
    int64_t repeats[METHODS];
    double *seconds = NULL; /* [STATES][METHODS][rounds] */
    GEODEC_TRY(open_bench(&b, err));
    GEODEC_NEW(seconds, (int64_t)STATES * METHODS * o->rounds);
    for (int m = 0; m < METHODS; m++) GEODEC_TRY(calibrate(&b, &methods[m], &repeats[m], err));
    for (int32_t round = 0; round < o->rounds; round++)
        for (int state = 0; state < STATES; state++)
            for (int m = 0; m < (state ? SCORES : METHODS); m++)
                GEODEC_TRY(sample(&b, &methods[m], state, repeats[m],
                                  &seconds[((int64_t)state * METHODS + m) * o->rounds + round], err));
    geodec_score_cost_row *r = rows;
    for (int m = 0; m < METHODS; m++)
        for (int state = 0; state < (m < SCORES ? STATES : 1); state++, r++) {
            GEODEC_TRY(row_of(&b, &methods[m], state, &seconds[((int64_t)state * METHODS + m) * o->rounds], repeats[m],
                              r, err));
            r->ratio = r->ns / rows[state].ns;
        }
done:
    close_bench(&b);
    geodec_mem_free(seconds);
    return st;
}
