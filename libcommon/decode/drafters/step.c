#include "drafters/step.h"

#include "base/mem.h"
#include "base/rng.h"
#include "geometry/pca.h"
#include "linalg/chol.h"

#include <math.h>
#include <string.h>

enum { SLAB = 2048, LEAST = 16 };

geodec_step_part geodec_step_part_of(uint64_t seed, int32_t text)
{
    const double u = geodec_rng_uniform_at(seed, geodec_rng_id("step part", 0), (uint64_t)(uint32_t)text);
    return u < 0.1 ? GEODEC_STEP_TEST : u < 0.2 ? GEODEC_STEP_CALIBRATE : GEODEC_STEP_FIT;
}

geodec_step_options geodec_step_defaults(void) { return (geodec_step_options){.k = 32, .ridge = 10}; }

void geodec_step_clear(geodec_step *s)
{
    GEODEC_FREE(s->basis, s->mean, s->map, s->after, s->seen);
    *s = (geodec_step){0};
}

void geodec_step_rows_clear(geodec_step_rows *r)
{
    GEODEC_FREE(r->token, r->sequence, r->argmax, r->next, r->z);
    *r = (geodec_step_rows){0};
}

geodec_status geodec_step_texts(const geodec_activations *a, int64_t *vocab, int32_t **token, int32_t **sequence,
                                int32_t **position, geodec_err *err)
{
    const char *name = geodec_artifact_path(a->file);
    GEODEC_PASS(geodec_artifact_get_i64(a->file, "n_vocab", vocab, err));
    if (*vocab < 1 || *vocab >= INT32_MAX) GEODEC_FAIL(GEODEC_FORMAT, "%s: no vocabulary", name);
    GEODEC_PASS(geodec_artifact_read(a->file, "/token", token, err));
    GEODEC_PASS(geodec_artifact_read(a->file, "/position", position, err));
    GEODEC_PASS(geodec_artifact_read(a->file, "/sequence", sequence, err));
    for (int64_t i = 0; i < a->rows; i++) {
        const bool start = i == 0 || (*sequence)[i] != (*sequence)[i - 1];
        if ((*token)[i] < 0 || (*token)[i] >= *vocab)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: row %lld has a token outside the vocabulary", name, (long long)i);
        if ((*position)[i] != (start ? 0 : (*position)[i - 1] + 1))
            GEODEC_FAIL(GEODEC_FORMAT, "%s: row %lld does not continue its text", name, (long long)i);
    }
    return GEODEC_OK;
}

static geodec_status read_columns(const geodec_activations *a, geodec_step_rows *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *name = geodec_artifact_path(a->file);
    int32_t *position = NULL;
    if (!geodec_artifact_has(a->file, "/argmax"))
        GEODEC_THROW(GEODEC_NOTFOUND, "%s: exported without the model's argmax", name);
    GEODEC_TRY(geodec_step_texts(a, &r->vocab, &r->token, &r->sequence, &position, err));
    GEODEC_TRY(geodec_artifact_read(a->file, "/argmax", &r->argmax, err));
    GEODEC_TRY(geodec_artifact_read(a->file, "/next_token", &r->next, err));
    r->rows = a->rows;
    r->d = a->d;
    for (int64_t i = 0; i < r->rows; i++)
        if (r->argmax[i] < 0 || r->argmax[i] >= r->vocab || r->next[i] < -1 || r->next[i] >= r->vocab)
            GEODEC_THROW(GEODEC_FORMAT, "%s: row %lld has a token outside the vocabulary", name, (long long)i);
done:
    geodec_mem_free(position);
    return st;
}

/* s = h / rms(h) of rows; GEODEC_NUMERIC when not finite. */
static geodec_status scaled(int64_t n, int64_t d, const float *h, double *s, geodec_err *err)
{
    for (int64_t i = 0; i < n; i++) {
        double square = 0;
        for (int64_t c = 0; c < d; c++) square += (double)h[i * d + c] * (double)h[i * d + c];
        if (!isfinite(square)) GEODEC_FAIL(GEODEC_NUMERIC, "a state is not finite");
        const double factor = 1 / sqrt(square / (double)d + 1e-5);
        for (int64_t c = 0; c < d; c++) s[i * d + c] = (double)h[i * d + c] * factor;
    }
    return GEODEC_OK;
}

static bool fits(const geodec_step_rows *r, const geodec_step_options *o, int64_t row)
{
    return geodec_step_part_of(o->seed, r->sequence[row]) == GEODEC_STEP_FIT;
}

/* Two passes over the states: the moments of the texts of the fit, then the coordinates of all texts. */
static geodec_status chart(const geodec_activations *a, const geodec_step_options *o, int64_t index, geodec_pool *pool,
                           geodec_step *s, geodec_step_rows *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = a->d;
    geodec_pca_moments mo = {0};
    geodec_pca pca = {0};
    float *h = NULL;
    double *x = NULL, *z = NULL;
    uint8_t *scratch = NULL;
    GEODEC_TRY(geodec_pca_moments_init(&mo, d, NULL, err));
    GEODEC_NEW_EACH(SLAB * d, h, x);
    GEODEC_NEW(z, SLAB * s->k);
    GEODEC_NEW(scratch, (int64_t)geodec_activations_scratch(a, SLAB) + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t row = 0; row < r->rows; row += SLAB) {
            const int64_t n = r->rows - row < SLAB ? r->rows - row : SLAB;
            int64_t kept = 0;
            GEODEC_TRY(geodec_activations_read(a, index, row, n, h, scratch, err));
            GEODEC_TRY(scaled(n, d, h, x, err));
            if (pass == 1) {
                GEODEC_TRY(geodec_pca_project(d, s->k, pca.basis, pca.mean, n, x, z, pool, err));
                for (int64_t i = 0; i < n * s->k; i++) r->z[row * s->k + i] = (float)z[i];
                continue;
            }
            for (int64_t i = 0; i < n; i++)
                if (fits(r, o, row + i)) memmove(x + kept++ * d, x + i * d, (size_t)d * sizeof *x);
            if (kept > 0) GEODEC_TRY(geodec_pca_moments_add(&mo, kept, x, pool, err));
        }
        if (pass == 1) break;
        if (mo.count < LEAST)
            GEODEC_THROW(GEODEC_SCARCE, "%lld states in the texts of the fit; at least %d are needed",
                         (long long)mo.count, LEAST);
        GEODEC_TRY(geodec_pca_from_moments(&mo, 1, &pca, err));
        if (pca.k < s->k) s->k = pca.k; /* the states span fewer dimensions than their width */
        r->k = s->k;
        GEODEC_NEW(r->z, r->rows * s->k);
        GEODEC_NEW(s->basis, s->k * d);
        GEODEC_NEW(s->mean, d);
        for (int64_t i = 0; i < s->k * d; i++) s->basis[i] = (float)pca.basis[i];
        for (int64_t i = 0; i < d; i++) s->mean[i] = (float)pca.mean[i];
    }
done:
    geodec_pca_moments_clear(&mo);
    geodec_pca_clear(&pca);
    GEODEC_FREE(h, x, z, scratch);
    return st;
}

/* A and c from rows in the chart. */
static geodec_status regress(const geodec_step_rows *r, const geodec_step_options *o, geodec_step *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t k = s->k, v = o->blind ? 1 : s->vocab;
    double *before = NULL, *after = NULL, *square = NULL, *cross = NULL, *u = NULL, trace = 0;
    int64_t *count = NULL, pairs = 0;
    GEODEC_NEW_EACH(v * k, before, after);
    GEODEC_NEW(count, v);
    GEODEC_NEW_EACH(k * k, square, cross);
    GEODEC_NEW(u, 2 * k);
    GEODEC_NEW(s->map, k * k);
    GEODEC_NEW(s->after, s->vocab * k);
    GEODEC_NEW(s->seen, s->vocab);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 1; i < r->rows; i++) {
            if (r->sequence[i] != r->sequence[i - 1] || !fits(r, o, i)) continue;
            const int64_t x = o->blind ? 0 : r->token[i];
            const float *z0 = r->z + (i - 1) * k, *z1 = r->z + i * k;
            if (pass == 0) {
                for (int64_t c = 0; c < k; c++) {
                    before[x * k + c] += (double)z0[c];
                    after[x * k + c] += (double)z1[c];
                }
                count[x]++;
                s->seen[r->token[i]]++;
                pairs++;
                continue;
            }
            for (int64_t c = 0; c < k; c++) {
                u[c] = (double)z0[c] - before[x * k + c];
                u[k + c] = (double)z1[c] - after[x * k + c];
            }
            for (int64_t p = 0; p < k; p++)
                for (int64_t q = 0; q < k; q++) {
                    if (q <= p) square[p * k + q] += u[p] * u[q];
                    cross[q * k + p] += u[p] * u[k + q]; /* row = output */
                }
        }
        if (pass == 1) break;
        if (pairs < LEAST)
            GEODEC_THROW(GEODEC_SCARCE, "%lld steps in the texts of the fit; at least %d are needed", (long long)pairs,
                         LEAST);
        for (int64_t x = 0; x < v; x++)
            for (int64_t c = 0; c < k && count[x] > 0; c++) {
                before[x * k + c] /= (double)count[x];
                after[x * k + c] /= (double)count[x];
            }
    }
    for (int64_t c = 0; c < k; c++) trace += square[c * k + c];
    if (!(trace > 0)) GEODEC_THROW(GEODEC_SCARCE, "states of one token are all equal; the step needs different ones");
    for (int64_t c = 0; c < k; c++) square[c * k + c] += o->ridge * trace / (double)(k * pairs);
    GEODEC_TRY(geodec_chol_factor(k, square, err));
    geodec_chol_solve(k, square, k, cross);
    for (int64_t i = 0; i < k * k; i++) s->map[i] = (float)cross[i];
    for (int64_t x = 0; x < s->vocab; x++) {
        const int64_t from = o->blind ? 0 : x;
        if (count[from] == 0) continue;
        if (o->blind && s->seen[x] == 0) s->seen[x] = 1; /* any token gives the same result */
        for (int64_t c = 0; c < k; c++) {
            double at = after[from * k + c];
            for (int64_t q = 0; q < k; q++) at -= cross[c * k + q] * before[from * k + q];
            s->after[x * k + c] = (float)at;
        }
    }
done:
    GEODEC_FREE(before, after, count, square, cross, u);
    return st;
}

static geodec_status check(const geodec_step_options *o, geodec_err *err)
{
    if (o->k < 1 || o->k > GEODEC_STEP_DIMS_MAX)
        GEODEC_FAIL(GEODEC_RANGE, "%lld coordinates (1..%d)", (long long)o->k, GEODEC_STEP_DIMS_MAX);
    if (!(o->ridge > 0)) GEODEC_FAIL(GEODEC_RANGE, "ridge %g", o->ridge);
    return GEODEC_OK;
}

geodec_status geodec_step_fit(const geodec_activations *a, const geodec_step_options *o, geodec_pool *pool,
                              geodec_step *out, geodec_step_rows *rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_step s = {0};
    geodec_step_rows r = {0};
    int64_t n_layer, index;
    GEODEC_TRY(check(o, err));
    GEODEC_TRY(geodec_artifact_get_i64(a->file, "n_layer", &n_layer, err));
    GEODEC_TRY(geodec_activations_find_layer(a, n_layer, &index, err));
    GEODEC_TRY(read_columns(a, &r, err));
    s.vocab = r.vocab;
    s.d = a->d;
    s.k = o->k < a->d ? o->k : a->d;
    GEODEC_TRY(chart(a, o, index, pool, &s, &r, err));
    GEODEC_TRY(regress(&r, o, &s, err));
    GEODEC_MOVE(*out, s);
    if (rows) {
        GEODEC_MOVE(*rows, r);
    }
done:
    geodec_step_clear(&s);
    geodec_step_rows_clear(&r);
    return st;
}

geodec_status geodec_step_refit(const geodec_step *chart_of, const geodec_step_rows *rows, const geodec_step_options *o,
                                geodec_step *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_step s = {.vocab = chart_of->vocab, .d = chart_of->d, .k = chart_of->k};
    GEODEC_TRY(check(o, err));
    GEODEC_NEW_COPY(s.basis, chart_of->basis, s.k * s.d);
    GEODEC_NEW_COPY(s.mean, chart_of->mean, s.d);
    GEODEC_TRY(regress(rows, o, &s, err));
    GEODEC_MOVE(*out, s);
done:
    geodec_step_clear(&s);
    return st;
}

geodec_status geodec_step_count(const geodec_step_rows *rows, uint64_t seed, const int32_t *label, bool by_token,
                                geodec_counts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *cell = NULL;
    GEODEC_NEW(cell, rows->rows);
    for (int64_t i = 0; i < rows->rows; i++) {
        const bool fit = geodec_step_part_of(seed, rows->sequence[i]) == GEODEC_STEP_FIT;
        cell[i] = !fit ? -1 : by_token ? rows->token[i] : 0;
    }
    GEODEC_TRY(geodec_counts_make(by_token ? rows->vocab : 1, rows->rows, cell, label, out, err));
done:
    geodec_mem_free(cell);
    return st;
}

int32_t geodec_step_children(const geodec_drafter *d, int32_t node, const geodec_counts *c, int64_t cell,
                             int32_t source, double factor, int32_t most, geodec_draft *out)
{
    int32_t n = 0;
    for (int64_t i = c->start[cell]; i < c->start[cell + 1] && n < most; i++) {
        if (geodec_drafter_forbids(d, node, c->token[i])) continue;
        out[n++] = (geodec_draft){.token = c->token[i],
                                  .source = source,
                                  .confidence = factor * (double)c->count[i] / (double)c->total[cell]};
    }
    return n;
}

void geodec_step_state(const geodec_step *s, const float *h, float *z)
{
    double square = 0;
    for (int64_t i = 0; i < s->d; i++) square += (double)h[i] * (double)h[i];
    const float factor = (float)(1 / sqrt(square / (double)s->d + 1e-5));
    for (int64_t c = 0; c < s->k; c++) {
        const float *u = s->basis + c * s->d;
        float sum = 0;
        for (int64_t i = 0; i < s->d; i++) sum += u[i] * (h[i] * factor - s->mean[i]);
        z[c] = sum;
    }
}

bool geodec_step_advance(const geodec_step *s, const float *z, int32_t token, float *after)
{
    if (token < 0 || token >= s->vocab || s->seen[token] == 0) return false;
    const float *c = s->after + (int64_t)token * s->k;
    for (int64_t i = 0; i < s->k; i++) {
        const float *row = s->map + i * s->k;
        float sum = c[i];
        for (int64_t j = 0; j < s->k; j++) sum += row[j] * z[j];
        after[i] = sum;
    }
    return true;
}

geodec_status geodec_step_check(const geodec_step *s, const char *path, geodec_err *err)
{
    if (s->k < 1 || s->k > GEODEC_STEP_DIMS_MAX || s->k > s->d || s->vocab >= INT32_MAX)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: %lld coordinates of %lld, %lld tokens", path, (long long)s->k, (long long)s->d,
                    (long long)s->vocab);
    return GEODEC_OK;
}
