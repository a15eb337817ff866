#include "foresight/history.h"

#include "base/mem.h"
#include "linalg/blas.h"
#include "linalg/chol.h"
#include "session/router.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEAREST = 16, SLAB = 256, LEAST = 16 };
static const float PRIOR = 2;

struct geodec_history {
    int32_t layers, experts, used, d, vocab;
    int64_t n, room_token, room_before, room_expert; /* positions */
    int32_t *token, *before;                         /* [n] */
    int16_t *expert;                                 /* [n][layers used]; -1: none */
    int64_t *by_token, *first;                       /* [n] positions by (token, before, position); [vocab + 1] */
    float *popular;                                  /* [layers experts] */
    double *gram, *target;                           /* [F][F], [F][layers experts]; F = 2 d + 1; while adding */
    double *slab, *slab_target;                      /* [SLAB][F], [SLAB][layers experts] */
    int64_t in_slab;
    float *map;       /* [F][layers experts] */
    float *maps;      /* [n_maps][layers experts] of unit length */
    int64_t *maps_at; /* [n_maps] position after the map's */
    int64_t n_maps;
};

geodec_history_options geodec_history_defaults(void)
{
    return (geodec_history_options){.maps = 8192, .every = 16, .ridge = 10};
}

void geodec_history_free(geodec_history *h)
{
    if (!h) return;
    GEODEC_FREE(h->token, h->before, h->expert, h->by_token, h->first, h->popular);
    GEODEC_FREE(h->gram, h->target, h->slab, h->slab_target, h->map, h->maps, h->maps_at, h);
}

int64_t geodec_history_positions(const geodec_history *h) { return h->n; }

static int64_t cells_of(const geodec_history *h) { return (int64_t)h->layers * h->experts; }
static int64_t features_of(const geodec_history *h) { return 2 * (int64_t)h->d + 1; }

/* ---- adding ----------------------------------------------------------------------------------------------------- */

static double unit_factor(const float *x, int64_t n)
{
    double square = 0;
    for (int64_t i = 0; i < n; i++) square += (double)x[i] * (double)x[i];
    return 1 / sqrt(square / (double)n + 1e-5);
}

static void features(const geodec_history *h, const float *state, const float *embedding, double *out)
{
    const double a = unit_factor(state, h->d), b = unit_factor(embedding, h->d);
    for (int64_t i = 0; i < h->d; i++) {
        out[i] = a * (double)state[i];
        out[h->d + i] = b * (double)embedding[i];
    }
    out[2 * (int64_t)h->d] = 1;
}

static void empty_slab(geodec_history *h)
{
    const int64_t f = features_of(h), cells = cells_of(h);
    geodec_blas_syrk(h->in_slab, f, 1, h->slab, f, 1, h->gram, f);
    geodec_blas_gemm(true, false, f, cells, h->in_slab, 1, h->slab, f, h->slab_target, cells, 1, h->target, cells);
    h->in_slab = 0;
}

/* Keeps the gate probabilities of the row before position `at`. */
static void keep_map(geodec_history *h, const float *logit, int64_t at)
{
    float *m = h->maps + h->n_maps * cells_of(h);
    double square = 0;
    memcpy(m, logit, (size_t)cells_of(h) * sizeof *m);
    for (int32_t l = 0; l < h->layers; l++) geodec_router_softmax(m + (int64_t)l * h->experts, h->experts);
    for (int64_t i = 0; i < cells_of(h); i++) square += (double)m[i] * (double)m[i];
    for (int64_t i = 0; i < cells_of(h); i++) m[i] *= (float)(1 / sqrt(square));
    h->maps_at[h->n_maps++] = at;
}

static geodec_status add(geodec_history *h, const geodec_history_options *o, const geodec_routes *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t k = (int64_t)h->layers * h->used, cells = cells_of(h), d = h->d;
    GEODEC_GROW(h->token, h->n, h->room_token, w->n);
    GEODEC_GROW(h->before, h->n, h->room_before, w->n);
    GEODEC_GROW(h->expert, h->n * k, h->room_expert, w->n * k);
    for (int64_t i = 1; i < w->n; i++, h->n++) {
        h->token[h->n] = w->token[i];
        h->before[h->n] = w->token[i - 1];
        for (int64_t e = 0; e < k; e++) {
            const int32_t x = w->expert[i * k + e];
            h->expert[h->n * k + e] = (int16_t)(x >= 0 && x < h->experts ? x : -1);
        }
        features(h, w->state + (i - 1) * d, w->embedding + i * d, h->slab + h->in_slab * features_of(h));
        for (int64_t c = 0; c < cells; c++)
            h->slab_target[h->in_slab * cells + c] = (double)w->logit[GEODEC_ROUTES_NOW][i * cells + c];
        if (++h->in_slab == SLAB) empty_slab(h);
        if (h->n % o->every == 0 && h->n_maps < o->maps)
            keep_map(h, w->logit[GEODEC_ROUTES_NOW] + (i - 1) * cells, h->n);
    }
done:
    return st;
}

/* ---- fitting ---------------------------------------------------------------------------------------------------- */

typedef struct keyed {
    int64_t token, before, at;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->token != y->token) return x->token < y->token ? -1 : 1;
    if (x->before != y->before) return x->before < y->before ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static geodec_status sort_positions(geodec_history *h, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    keyed *key = NULL;
    GEODEC_NEW(key, h->n);
    GEODEC_NEW(h->by_token, h->n);
    GEODEC_NEW(h->first, h->vocab + 1);
    for (int64_t i = 0; i < h->n; i++) key[i] = (keyed){h->token[i], h->before[i], i};
    qsort(key, (size_t)h->n, sizeof *key, by_key);
    for (int64_t i = 0; i < h->n; i++) {
        h->by_token[i] = key[i].at;
        h->first[key[i].token + 1]++;
    }
    for (int64_t t = 0; t < h->vocab; t++) h->first[t + 1] += h->first[t];
done:
    geodec_mem_free(key);
    return st;
}

static void count(const geodec_history *h, int64_t at, float weight, float *score)
{
    const int16_t *e = h->expert + at * h->layers * h->used;
    for (int32_t l = 0; l < h->layers; l++, e += h->used)
        for (int32_t k = 0; k < h->used; k++)
            if (e[k] >= 0) score[(int64_t)l * h->experts + e[k]] += weight;
}

static geodec_status fit_popular(geodec_history *h, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW(h->popular, cells_of(h));
    for (int64_t i = 0; i < h->n; i++) count(h, i, 1, h->popular); /* exact below 2^24 uses of an expert */
    for (int32_t l = 0; l < h->layers; l++) {
        float *p = h->popular + (int64_t)l * h->experts;
        double sum = 0;
        for (int32_t e = 0; e < h->experts; e++) sum += (double)p[e];
        for (int32_t e = 0; e < h->experts && sum > 0; e++) p[e] = (float)((double)p[e] / sum);
    }
done:
    return st;
}

static geodec_status fit_map(geodec_history *h, double ridge, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t f = features_of(h), cells = cells_of(h);
    double *b = NULL;
    if (h->in_slab > 0) empty_slab(h);
    for (int64_t i = 0; i < f; i++) h->gram[i * f + i] += ridge;
    GEODEC_TRY(geodec_chol_factor(f, h->gram, err));
    GEODEC_NEW(b, cells * f);
    GEODEC_NEW(h->map, f * cells);
    for (int64_t i = 0; i < f; i++)
        for (int64_t c = 0; c < cells; c++) b[c * f + i] = h->target[i * cells + c];
    geodec_chol_solve(f, h->gram, cells, b);
    for (int64_t i = 0; i < f; i++)
        for (int64_t c = 0; c < cells; c++) h->map[i * cells + c] = (float)b[c * f + i];
done:
    GEODEC_FREE(b, h->gram, h->target, h->slab, h->slab_target);
    h->gram = h->target = h->slab = h->slab_target = NULL;
    return st;
}

geodec_status geodec_history_read(geodec_routes_recorder *r, const geodec_model_config *c,
                                  const geodec_history_options *o, const geodec_hooks *hooks, geodec_history **out,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_history *h = NULL;
    const geodec_routes *w;
    int64_t rows = 0;
    if (o->maps < 0 || o->every < 1 || !(o->ridge > 0))
        GEODEC_THROW(GEODEC_RANGE, "%lld maps of one position in %lld, ridge %g", (long long)o->maps,
                     (long long)o->every, o->ridge);
    GEODEC_NEW(h, 1);
    h->layers = c->n_layer;
    h->experts = c->n_expert;
    h->used = c->n_expert_used;
    h->d = c->d_model;
    h->vocab = c->n_vocab;
    const int64_t f = features_of(h), cells = cells_of(h);
    GEODEC_NEW(h->gram, f * f);
    GEODEC_NEW(h->target, f * cells);
    GEODEC_NEW(h->slab, SLAB * f);
    GEODEC_NEW(h->slab_target, SLAB * cells);
    GEODEC_NEW(h->maps, o->maps * cells);
    GEODEC_NEW(h->maps_at, o->maps);
    do {
        GEODEC_TRY(geodec_routes_next(r, &w, err));
        if (!w) break;
        GEODEC_TRY(add(h, o, w, err));
        rows += w->n;
        GEODEC_TRY(geodec_hooks_progress(hooks, "routes of the store", rows, o->max_tokens, err));
    } while (o->max_tokens == 0 || rows < o->max_tokens);
    if (h->n < LEAST)
        GEODEC_THROW(GEODEC_SCARCE, "%lld positions after the first of a text; at least %d are needed", (long long)h->n,
                     LEAST);
    GEODEC_TRY(sort_positions(h, err));
    GEODEC_TRY(fit_popular(h, err));
    GEODEC_TRY(fit_map(h, o->ridge, err));
    *out = h;
    h = NULL;
done:
    geodec_history_free(h);
    return st;
}

/* ---- scores ----------------------------------------------------------------------------------------------------- */

void geodec_history_popular(const geodec_history *h, float *score)
{
    memcpy(score, h->popular, (size_t)cells_of(h) * sizeof *score);
}

void geodec_history_token(const geodec_history *h, int32_t token, float *score)
{
    memset(score, 0, (size_t)cells_of(h) * sizeof *score);
    for (int64_t i = h->first[token]; i < h->first[token + 1]; i++) count(h, h->by_token[i], 1, score);
    for (int32_t l = 0; l < h->layers; l++) {
        float *of = score + (int64_t)l * h->experts, sum = PRIOR;
        for (int32_t e = 0; e < h->experts; e++) sum += of[e];
        for (int32_t e = 0; e < h->experts; e++)
            of[e] = (of[e] + PRIOR * h->popular[(int64_t)l * h->experts + e]) / sum;
    }
}

void geodec_history_pair(const geodec_history *h, int32_t before, int32_t token, float *score)
{
    int64_t low = h->first[token], high = h->first[token + 1];
    geodec_history_token(h, token, score);
    for (int64_t i = 0; i < cells_of(h); i++) score[i] *= PRIOR;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (h->before[h->by_token[middle]] < before)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < h->first[token + 1] && h->before[h->by_token[low]] == before; low++)
        count(h, h->by_token[low], 1, score);
}

void geodec_history_linear(const geodec_history *h, const float *state, const float *embedding, float *score)
{
    const int64_t cells = cells_of(h);
    const float a = (float)unit_factor(state, h->d), b = (float)unit_factor(embedding, h->d);
    memcpy(score, h->map + 2 * (int64_t)h->d * cells, (size_t)cells * sizeof *score);
    for (int64_t i = 0; i < 2 * (int64_t)h->d; i++) {
        const float x = i < h->d ? a * state[i] : b * embedding[i - h->d];
        const float *row = h->map + i * cells;
        for (int64_t c = 0; c < cells; c++) score[c] += x * row[c];
    }
}

void geodec_history_maps(const geodec_history *h, const float *gate, float *score)
{
    const int64_t cells = cells_of(h);
    float best[NEAREST];
    int64_t at[NEAREST], n = 0;
    double square = 0;
    for (int64_t i = 0; i < cells; i++) square += (double)gate[i] * (double)gate[i];
    const float unit = square > 0 ? (float)(1 / sqrt(square)) : 0;
    for (int64_t m = 0; m < h->n_maps; m++) {
        const float *x = h->maps + m * cells;
        float part[8] = {0};
        int64_t i = 0;
        for (; i + 8 <= cells; i += 8)
            for (int64_t j = 0; j < 8; j++) part[j] += x[i + j] * gate[i + j];
        for (; i < cells; i++) part[0] += x[i] * gate[i];
        const float cosine =
            unit * (((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7])));
        if (n == NEAREST && cosine <= best[n - 1]) continue;
        int64_t place = n < NEAREST ? n++ : n - 1;
        for (; place > 0 && best[place - 1] < cosine; place--) {
            best[place] = best[place - 1];
            at[place] = at[place - 1];
        }
        best[place] = cosine;
        at[place] = h->maps_at[m];
    }
    for (int64_t i = 0; i < cells; i++) score[i] = 1e-3F * h->popular[i];
    for (int64_t i = 0; i < n; i++) count(h, at[i], best[i], score);
}
