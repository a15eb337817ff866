#include "lab/published/onedecode.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "geometry/pca.h"
#include "geometry/space.h"
#include "linalg/blas.h"
#include "linalg/counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 128, DENSE = 8192, LEAST = 2 * GROUPS, BLOCK = 64 };
static const double SPEED = 0.08, RIDGE = 1e-8;

void geodec_onedecode_published_clear(geodec_onedecode_published *t)
{
    geodec_artifact_clear(&geodec_onedecode_published_kind, t);
    GEODEC_FREE(t->entry, t->length);
    *t = (geodec_onedecode_published){0};
}

/* Mean metric g [k][k] and slopes dg [k][k][k] (dg[a][i][j] = d_a g_ij) over groups of consecutive points. */
static geodec_status global_metric(int64_t n, int64_t k, const double *p, double *g, double *dg, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *centre = NULL, *metric = NULL, *mean = NULL, *spread = NULL;
    GEODEC_NEW(centre, GROUPS * k);
    GEODEC_NEW(metric, GROUPS * k * k);
    GEODEC_NEW_EACH(k, mean, spread);
    for (int64_t m = 0; m < GROUPS; m++) {
        const int64_t from = m * n / GROUPS, to = (m + 1) * n / GROUPS;
        double *c = centre + m * k, *cov = metric + m * k * k;
        for (int64_t i = from; i < to; i++)
            for (int64_t a = 0; a < k; a++) c[a] += p[i * k + a] / (double)(to - from);
        for (int64_t i = from; i < to; i++)
            for (int64_t a = 0; a < k; a++)
                for (int64_t b = 0; b < k; b++)
                    cov[a * k + b] += (p[i * k + a] - c[a]) * (p[i * k + b] - c[b]) / (double)(to - from - 1);
        for (int64_t a = 0; a < k; a++) cov[a * k + a] += RIDGE;
        for (int64_t a = 0; a < k; a++) mean[a] += c[a] / GROUPS;
        for (int64_t i = 0; i < k * k; i++) g[i] += cov[i] / GROUPS;
    }
    for (int64_t m = 0; m < GROUPS; m++)
        for (int64_t a = 0; a < k; a++) {
            const double off = centre[m * k + a] - mean[a];
            spread[a] += off * off;
            for (int64_t i = 0; i < k * k; i++) dg[a * k * k + i] += off * (metric[m * k * k + i] - g[i]);
        }
    for (int64_t a = 0; a < k; a++)
        for (int64_t i = 0; i < k * k; i++) dg[a * k * k + i] = spread[a] > 0 ? dg[a * k * k + i] / spread[a] : 0;
done:
    GEODEC_FREE(centre, metric, mean, spread);
    return st;
}

/* Endpoint of one step from p [k] with the given speed. */
static void endpoint_of(int64_t k, const double *gamma, const double *p, double speed, double *v, double *end)
{
    const double length = sqrt(geodec_blas_dot(k, p, p));
    for (int64_t a = 0; a < k; a++) v[a] = length > 0 ? p[a] / length * speed : 0;
    for (int64_t a = 0; a < k; a++) end[a] = p[a] + v[a];
    if (!gamma) return;
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++)
            for (int64_t c = 0; c < k; c++) end[c] -= 0.5 * gamma[(i * k + j) * k + c] * v[i] * v[j];
}

static geodec_status lay_out(geodec_onedecode_published *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t all = t->vocab, most = GEODEC_ONEDECODE_PUBLISHED_ENTRIES;
    t->n = all < most ? all : most;
    GEODEC_NEW(t->id, t->n);
    for (int64_t i = 0; i < t->n; i++)
        t->id[i] = (int32_t)(all <= most || i < DENSE ? i : DENSE + (i - DENSE) * (all - DENSE) / (most - DENSE));
    GEODEC_NEW_EACH(t->n * t->k, t->source, t->endpoint);
    GEODEC_NEW_EACH(t->n, t->token, t->margin);
done:
    return st;
}

/* Computed from the stored arrays. */
static geodec_status finish(geodec_onedecode_published *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW(t->entry, t->vocab);
    GEODEC_NEW(t->length, t->n);
    for (int64_t v = 0; v < t->vocab; v++) t->entry[v] = -1;
    for (int64_t i = 0; i < t->n; i++) {
        double square = 0;
        for (int64_t a = 0; a < t->k; a++)
            square += (double)t->endpoint[i * t->k + a] * (double)t->endpoint[i * t->k + a];
        t->length[i] = (float)sqrt(square);
        t->entry[t->id[i]] = (int32_t)i;
    }
done:
    return st;
}

geodec_status geodec_onedecode_published_bake(int64_t vocab, int64_t d, const float *embedding, bool flat,
                                              geodec_pool *pool, geodec_onedecode_published *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_onedecode_published t = {.vocab = vocab};
    geodec_pca_moments mo = {0};
    geodec_pca pca = {0};
    double *x = NULL, *p = NULL, *g = NULL, *dg = NULL, *gamma = NULL, *end = NULL, *dot = NULL, *v = NULL, mean = 0;
    if (vocab < LEAST)
        GEODEC_THROW(GEODEC_SCARCE, "a vocabulary of %lld tokens; the table needs at least %d", (long long)vocab,
                     LEAST);
    GEODEC_NEW(x, vocab * d);
    for (int64_t i = 0; i < vocab * d; i++) x[i] = (double)embedding[i];
    GEODEC_TRY(geodec_pca_moments_init(&mo, d, NULL, err));
    GEODEC_TRY(geodec_pca_moments_add(&mo, vocab, x, pool, err));
    GEODEC_TRY(geodec_pca_from_moments(&mo, 1, &pca, err));
    t.k = pca.k < GEODEC_ONEDECODE_PUBLISHED_DIMS ? pca.k : GEODEC_ONEDECODE_PUBLISHED_DIMS;
    const int64_t k = t.k;
    GEODEC_NEW(p, vocab * k);
    GEODEC_TRY(geodec_pca_project(d, k, pca.basis, pca.mean, vocab, x, p, pool, err));
    for (int64_t a = 0; a < k; a++) mean += pca.eigenvalue[a] / (double)k;
    if (!flat) {
        GEODEC_NEW(g, k * k);
        GEODEC_NEW_EACH(k * k * k, dg, gamma);
        GEODEC_TRY(global_metric(vocab, k, p, g, dg, err));
        GEODEC_TRY(geodec_space_christoffel((int32_t)k, g, dg, gamma, err));
    }
    GEODEC_TRY(lay_out(&t, err));
    GEODEC_NEW(end, BLOCK * k);
    GEODEC_NEW(dot, BLOCK * vocab);
    GEODEC_NEW(v, k);
    for (int64_t i = 0; i < t.n; i += BLOCK) {
        const int64_t n = t.n - i < BLOCK ? t.n - i : BLOCK;
        for (int64_t b = 0; b < n; b++) {
            const double *from = p + t.id[i + b] * k;
            endpoint_of(k, gamma, from, SPEED * mean, v, end + b * k);
            for (int64_t a = 0; a < k; a++) {
                t.source[(i + b) * k + a] = (float)from[a];
                t.endpoint[(i + b) * k + a] = (float)end[b * k + a];
            }
        }
        geodec_blas_gemm(false, true, n, vocab, k, 1, end, k, p, k, 0, dot, vocab);
        for (int64_t b = 0; b < n; b++) {
            const double *row = dot + b * vocab;
            int64_t best = 0;
            double second = -INFINITY;
            for (int64_t u = 1; u < vocab; u++) {
                if (row[u] > row[best]) {
                    second = row[best];
                    best = u;
                } else if (row[u] > second)
                    second = row[u];
            }
            t.token[i + b] = (int32_t)best;
            t.margin[i + b] = (float)(row[best] - second);
        }
    }
    GEODEC_TRY(finish(&t, err));
    GEODEC_MOVE(*out, t);
done:
    geodec_onedecode_published_clear(&t);
    geodec_pca_moments_clear(&mo);
    geodec_pca_clear(&pca);
    GEODEC_FREE(x, p, g, dg, gamma, end, dot, v);
    return st;
}

int32_t geodec_onedecode_published_after(const geodec_onedecode_published *t, int32_t before, int32_t newest)
{
    if (before < 0 || before >= t->vocab || newest < 0 || newest >= t->vocab) return -1;
    const int64_t k = t->k, a = t->entry[before], b = t->entry[newest];
    if (a < 0 || b < 0) return -1;
    float query[GEODEC_ONEDECODE_PUBLISHED_DIMS], most = -INFINITY;
    int64_t best = -1;
    for (int64_t c = 0; c < k; c++) query[c] = t->source[b * k + c] + (t->source[b * k + c] - t->source[a * k + c]) / 2;
    for (int64_t i = 0; i < t->n; i++) {
        const float *e = t->endpoint + i * k;
        float dot = 0;
        for (int64_t c = 0; c < k; c++) dot += e[c] * query[c];
        const float cosine = t->length[i] > 0 ? dot / t->length[i] : -INFINITY;
        if (cosine > most) {
            most = cosine;
            best = i;
        }
    }
    return best < 0 ? -1 : t->token[best];
}

static int falling(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* Figures that depend only on the table. */
static geodec_status table_rates(const geodec_onedecode_published *t, geodec_onedecode_rates *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *count = NULL;
    GEODEC_NEW(count, t->vocab);
    for (int64_t i = 0; i < t->n; i++) {
        count[t->token[i]]++;
        r->self_loop += t->token[i] == t->id[i];
    }
    r->self_loop /= (double)t->n;
    qsort(count, (size_t)t->vocab, sizeof *count, falling);
    r->hub = (double)count[0] / (double)t->n;
    for (int64_t v = 0; v < t->vocab && count[v] > 0; v++) {
        const double share = (double)count[v] / (double)t->n;
        if (v < 10) r->hub10 += share;
        r->entropy -= share * log2(share);
    }
done:
    geodec_mem_free(count);
    return st;
}

geodec_status geodec_onedecode_published_rates(const geodec_onedecode_published *t, const geodec_step_rows *rows,
                                               uint64_t seed, geodec_onedecode_rates *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_onedecode_rates r = {0};
    geodec_counts bigram = {0}, unigram = {0};
    if (rows->vocab != t->vocab)
        GEODEC_THROW(GEODEC_RANGE, "texts of %lld tokens, a table of %lld", (long long)rows->vocab,
                     (long long)t->vocab);
    GEODEC_TRY(table_rates(t, &r, err));
    GEODEC_TRY(geodec_step_count(rows, seed, rows->argmax, true, &bigram, err));
    GEODEC_TRY(geodec_step_count(rows, seed, rows->argmax, false, &unigram, err));
    for (int64_t i = 1; i < rows->rows; i++) {
        if (rows->sequence[i] != rows->sequence[i - 1] ||
            geodec_step_part_of(seed, rows->sequence[i]) != GEODEC_STEP_TEST)
            continue;
        const int32_t x = rows->token[i], truth = rows->argmax[i];
        r.places++;
        r.entry_top1 += t->entry[x] >= 0 && t->token[t->entry[x]] == truth;
        r.lookup_top1 += geodec_onedecode_published_after(t, rows->token[i - 1], x) == truth;
        r.bigram_top1 += geodec_counts_rank(&bigram, x, truth) == 0;
        r.unigram_top1 += geodec_counts_rank(&unigram, 0, truth) == 0;
    }
    if (r.places == 0) GEODEC_THROW(GEODEC_SCARCE, "the test split has no texts; more texts are needed");
    double *const share[] = {&r.entry_top1, &r.lookup_top1, &r.bigram_top1, &r.unigram_top1};
    for (int i = 0; i < 4; i++) *share[i] /= (double)r.places;
    *out = r;
done:
    geodec_counts_clear(&bigram);
    geodec_counts_clear(&unigram);
    return st;
}

/* ---- the artifact ----------------------------------------------------------------------------------------------- */

#define AT(m) GEODEC_AT(geodec_onedecode_published, m)
#define IN(m) GEODEC_IN(geodec_onedecode_published, m)
static const geodec_rows rates = {"2", sizeof(geodec_onedecode_rates), offsetof(geodec_onedecode_published, rates),
                                  true};
#define RATE(first) GEODEC_OF_ROWS(&rates, geodec_onedecode_rates, first, sizeof(double), 0)
static const geodec_field fields[] = {
    {"/one_decode/id", GEODEC_I32, "n", 0, "1", "token of an entry", 0, AT(id)},
    {"/one_decode/source", GEODEC_F32, "n,k", GEODEC_FIELD_COMPRESS, "1", "p: its embedding's coordinates", 0,
     AT(source)},
    {"/one_decode/endpoint", GEODEC_F32, "n,k", GEODEC_FIELD_COMPRESS, "1", "p' = p + v - Gamma(v, v) / 2", 0,
     AT(endpoint)},
    {"/one_decode/token", GEODEC_I32, "n", 0, "1", "argmax over all tokens u of p' . p_u", 0, AT(token)},
    {"/one_decode/margin", GEODEC_F32, "n", 0, "1", "over the runner-up", 0, AT(margin)},
    {"/rates/table", GEODEC_F64, "2,4", 0, "1",
     "self-loops, most frequent token, ten most frequent (shares of entries), entropy in bits; rows: as published, "
     "Gamma = 0",
     0, RATE(self_loop)},
    {"/rates/top1", GEODEC_F64, "2,2", 0, "1",
     "right on held-out texts: entry of the newest token, lookup of the last two; rows: as published, Gamma = 0", 0,
     RATE(entry_top1)},
};

static const geodec_attr attrs[] = {
    {"vocab", GEODEC_ATTR_I64, 0, "tokens of the model", IN(vocab)},
    {"places", GEODEC_ATTR_I64, 0, "of held-out texts, for the figures", IN(rates[0].places)},
    {"right", GEODEC_ATTR_F64, 0, "share of lookups that were right", IN(rates[0].lookup_top1)},
    {"bigram_top1", GEODEC_ATTR_F64, 0, "control: counts by newest token", IN(rates[0].bigram_top1)},
    {"unigram_top1", GEODEC_ATTR_F64, 0, "control: counts", IN(rates[0].unigram_top1)},
};

static const geodec_extent extents[] = {{"n", IN(n)}, {"k", IN(k)}};

const geodec_kind geodec_onedecode_published_kind = {
    .name = "onedecode-ref",
    .major = 1,
    .tool = "geodec-published onedecode",
    .purpose = "OneDecode as published: one radial step from each embedding, and its next token",
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_onedecode_published_write(const geodec_onedecode_published *t, const geodec_onedecode_rates *r,
                                               const geodec_onedecode_rates *flat, geodec_artifact *out,
                                               geodec_err *err)
{
    geodec_onedecode_published file = *t;
    file.rates[0] = *r;
    file.rates[1] = *flat;
    return geodec_artifact_save(out, &file, err);
}
