#include "drafters/rollout.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/metric.h"
#include "drafters/rollout_ablation.h"
#include "geometry/geodesic.h"
#include "linalg/counts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 4, DIMS = GEODEC_STEP_DIMS_MAX, DEPTHS = GEODEC_ROLLOUT_DEPTHS, ROUNDS = 24 };
static const double LEAST_BETA = 0.02, MOST_BETA = 4;
static const double PRIOR = 4; /* weight of the mean confidence in a shrinkage, in places */

geodec_rollout_options geodec_rollout_defaults(void)
{
    geodec_rollout_options o = {
        .step = geodec_step_defaults(), .words = 4096, .dims = 8, .sites = 300, .calibration = 600};
    o.step.k = 64;
    return o;
}

void geodec_rollout_clear(geodec_rollout *r)
{
    geodec_step_clear(&r->step);
    geodec_step_clear(&r->blind);
    GEODEC_FREE(r->word, r->weight, r->bias, r->site, r->log_g, r->tensor);
    geodec_rbf_destroy(r->field);
    *r = (geodec_rollout){0};
}

/* ---- connections ------------------------------------------------------------------------------------------------ */

/* The fitted metric with its connection replaced by another tensor. */
typedef struct random_space {
    geodec_space base;
    const geodec_space *fitted;
    const double *tensor;
} random_space;

static geodec_status random_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                               geodec_err *err)
{
    const random_space *r = (const random_space *)s;
    const int64_t n = s->n, all = n * n * n;
    const geodec_status st = r->fitted->at(r->fitted, x, g, dg, gamma, err);
    if (st != GEODEC_OK || !gamma) return st;
    double norm = 0;
    for (int64_t i = 0; i < all; i++) norm += gamma[i] * gamma[i];
    norm = sqrt(norm);
    for (int64_t i = 0; i < all; i++) gamma[i] = norm * r->tensor[i];
    return st;
}

/* end [dims] of the path from x with velocity v after one unit of time; false when it diverged. */
static bool follow(const geodec_rollout *r, geodec_rollout_connection c, const double *x, const double *v, double *end)
{
    geodec_geodesic_options o = geodec_geodesic_defaults();
    double xs[(STEPS + 1) * DIMS], vs[(STEPS + 1) * DIMS];
    geodec_path_report report;
    const geodec_space *fitted = geodec_rbf_space(r->field);
    const random_space random = {
        .base = {.n = fitted->n, .name = "random", .at = random_at, .fd_step = fitted->fd_step},
        .fitted = fitted,
        .tensor = r->tensor};
    o.steps = STEPS;
    o.dl = 1.0 / STEPS;
    o.drift_max = 1e300; /* inaccurate paths are kept: their value is measured */
    const geodec_space *s = c == GEODEC_ROLLOUT_RANDOM ? &random.base : fitted;
    if (geodec_geodesic_path(s, &o, x, v, xs, vs, NULL, &report, NULL) != GEODEC_OK ||
        report.status == GEODEC_PATH_NONFINITE)
        return false;
    memcpy(end, xs + STEPS * r->dims, (size_t)r->dims * sizeof *end);
    return true;
}

int geodec_rollout_next(const geodec_rollout *r, geodec_rollout_velocity v, geodec_rollout_connection c,
                        const float *before, const float *z, int32_t token, float *after)
{
    const int64_t k = r->step.k;
    float end[DIMS];
    double x[DIMS], velocity[DIMS], bent[DIMS];
    if (v == GEODEC_ROLLOUT_PREVIOUS) {
        if (!before) return 0;
        for (int64_t i = 0; i < k; i++) end[i] = z[i] + (z[i] - before[i]);
    } else if (!geodec_step_advance(v == GEODEC_ROLLOUT_BLIND ? &r->blind : &r->step, z, token, end))
        return 0;
    memcpy(after, end, (size_t)k * sizeof *after);
    if (c == GEODEC_ROLLOUT_FLAT) return 1;
    for (int64_t i = 0; i < r->dims; i++) {
        x[i] = (double)z[i];
        velocity[i] = (double)end[i] - (double)z[i];
    }
    if (!follow(r, c, x, velocity, bent)) return 2;
    for (int64_t i = 0; i < r->dims; i++) after[i] = (float)bent[i];
    return 1;
}

void geodec_rollout_logits(const geodec_rollout *r, const float *z, float *logit)
{
    const int64_t k = r->step.k;
    for (int64_t w = 0; w < r->words; w++) {
        const float *row = r->weight + w * k;
        float sum = r->bias[w];
        for (int64_t i = 0; i < k; i++) sum += row[i] * z[i];
        logit[w] = sum;
    }
}

/* ---- calibration ------------------------------------------------------------------------------------------------ */

static double cross_entropy(const geodec_rollout *r, int64_t n, const float *logit, const int32_t *right, double beta)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const float *x = logit + i * r->words;
        double most = -INFINITY, total = 0;
        for (int64_t w = 0; w < r->words; w++) most = fmax(most, (double)x[w]);
        for (int64_t w = 0; w < r->words; w++) total += exp(beta * ((double)x[w] - most));
        sum += log(total) - beta * ((double)x[right[i]] - most);
    }
    return sum;
}

/* Golden section over ln beta; the cross entropy is convex in beta. */
static double best_beta(const geodec_rollout *r, int64_t n, const float *logit, const int32_t *right)
{
    const double ratio = (sqrt(5) - 1) / 2;
    double a = log(LEAST_BETA), b = log(MOST_BETA);
    double p = b - ratio * (b - a), q = a + ratio * (b - a);
    double fp = cross_entropy(r, n, logit, right, exp(p)), fq = cross_entropy(r, n, logit, right, exp(q));
    for (int round = 0; round < ROUNDS && n > 0; round++)
        if (fp <= fq) {
            b = q;
            q = p;
            fq = fp;
            p = b - ratio * (b - a);
            fp = cross_entropy(r, n, logit, right, exp(p));
        } else {
            a = p;
            p = q;
            fp = fq;
            q = a + ratio * (b - a);
            fq = cross_entropy(r, n, logit, right, exp(q));
        }
    return n > 0 ? exp((a + b) / 2) : 1;
}

/* The state after row i, rolled out from `ahead` + 1 rows back; `start` is the first row of its text. */
static bool roll(const geodec_rollout *r, const geodec_step_rows *rows, geodec_rollout_velocity v,
                 geodec_rollout_connection c, int64_t start, int64_t i, int64_t ahead, float *z)
{
    const int64_t k = r->step.k, from = i - 1 - ahead;
    float ring[3][DIMS];
    if (from < start) return false;
    memcpy(ring[1], rows->z + from * k, (size_t)k * sizeof **ring);
    if (from > start) memcpy(ring[0], rows->z + (from - 1) * k, (size_t)k * sizeof **ring);
    for (int64_t j = from + 1; j <= i; j++) {
        const bool first = j == from + 1;
        if (geodec_rollout_next(r, v, c, first && from == start ? NULL : ring[0], ring[1], rows->token[j], ring[2]) ==
            0)
            return false;
        memcpy(ring[0], ring[1], sizeof ring[0]);
        memcpy(ring[1], ring[2], sizeof ring[0]);
    }
    memcpy(z, ring[1], (size_t)k * sizeof *z);
    return true;
}

/* Accuracy of the first candidates divided by their mean confidence. */
static double share_right(const geodec_rollout *r, int64_t n, const float *logit, const int32_t *right, double beta,
                          double missed)
{
    double hits = PRIOR, claimed = PRIOR;
    for (int64_t i = 0; i < n; i++) {
        const float *x = logit + i * r->words;
        int64_t best = 0;
        double total = 0;
        for (int64_t w = 1; w < r->words; w++)
            if (x[w] > x[best]) best = w;
        for (int64_t w = 0; w < r->words; w++) total += exp(beta * ((double)x[w] - (double)x[best]));
        claimed += 1 / total;
        hits += right[i] == best;
    }
    return fmin(1, (1 - missed) * hits / claimed);
}

geodec_status geodec_rollout_calibrate(const geodec_rollout *r, const geodec_step_rows *rows,
                                       const geodec_rollout_options *o, geodec_rollout_velocity v,
                                       geodec_rollout_connection c, geodec_rollout_trust *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_rollout_trust trust;
    float *logit = NULL, z[DIMS];
    int32_t *right = NULL, *place_of = NULL;
    int64_t all = 0;
    GEODEC_NEW(logit, o->calibration * r->words);
    GEODEC_NEW(right, o->calibration);
    GEODEC_NEW(place_of, rows->vocab);
    for (int64_t t = 0; t < rows->vocab; t++) place_of[t] = -1;
    for (int64_t w = 0; w < r->words; w++) place_of[r->word[w]] = (int32_t)w;
    for (int64_t i = 0; i < rows->rows; i++)
        all += geodec_step_part_of(o->step.seed, rows->sequence[i]) == GEODEC_STEP_CALIBRATE;
    const int64_t every = all / o->calibration + 1;
    for (int64_t ahead = 0; ahead < DEPTHS; ahead++) {
        int64_t n = 0, start = 0, seen = 0;
        for (int64_t i = 0; i < rows->rows && n < o->calibration; i++) {
            if (i == 0 || rows->sequence[i] != rows->sequence[i - 1]) start = i;
            if (geodec_step_part_of(o->step.seed, rows->sequence[i]) != GEODEC_STEP_CALIBRATE || seen++ % every != 0 ||
                place_of[rows->argmax[i]] < 0 || !roll(r, rows, v, c, start, i, ahead, z))
                continue;
            geodec_rollout_logits(r, z, logit + n * r->words);
            right[n++] = place_of[rows->argmax[i]];
        }
        const double beta = best_beta(r, n, logit, right);
        trust.beta[ahead] = (float)beta;
        trust.shrink[ahead] = (float)share_right(r, n, logit, right, beta, 1 - r->covered);
    }
    *out = trust;
done:
    GEODEC_FREE(logit, right, place_of);
    return st;
}

/* ---- baking ----------------------------------------------------------------------------------------------------- */

static geodec_status random_tensor(geodec_rollout *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = r->dims;
    double norm = 0;
    geodec_rng rng = geodec_rng_stream(r->seed, geodec_rng_id("rollout tensor", 0));
    GEODEC_NEW(r->tensor, n * n * n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++)
            for (int64_t k = 0; k < n; k++)
                r->tensor[(i * n + j) * n + k] = r->tensor[(j * n + i) * n + k] = geodec_rng_normal(&rng);
    for (int64_t i = 0; i < n * n * n; i++) norm += r->tensor[i] * r->tensor[i];
    for (int64_t i = 0; i < n * n * n; i++) r->tensor[i] /= sqrt(norm);
done:
    return st;
}

static geodec_status fit_field(geodec_rollout *r, const geodec_step_rows *rows, const geodec_rollout_options *o,
                               geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric m = {0};
    const geodec_metric_options mo = geodec_metric_defaults();
    int64_t *row = NULL, n = 0;
    r->dims = o->dims < r->step.k ? o->dims : r->step.k;
    GEODEC_NEW(row, rows->rows);
    for (int64_t i = 1; i < rows->rows; i++) /* the first state is the same in all texts */
        if (rows->sequence[i] == rows->sequence[i - 1] &&
            geodec_step_part_of(o->step.seed, rows->sequence[i]) == GEODEC_STEP_FIT)
            row[n++] = i;
    r->sites = o->sites < n ? o->sites : n;
    GEODEC_NEW(r->site, r->sites * r->dims);
    for (int64_t p = 0; p < r->sites; p++)
        for (int64_t c = 0; c < r->dims; c++)
            r->site[p * r->dims + c] = (double)rows->z[row[p * n / r->sites] * r->step.k + c];
    GEODEC_TRY(geodec_metric_fit(r->sites, r->dims, r->site, &mo, pool, hooks, &m, err));
    r->sigma = m.sigma;
    GEODEC_MOVE(r->log_g, m.log_g);
    GEODEC_TRY(geodec_rbf_create(r->sites, r->dims, r->site, r->log_g, r->sigma, &r->field, err));
    r->seed = o->step.seed;
    GEODEC_TRY(random_tensor(r, err));
done:
    geodec_metric_clear(&m);
    geodec_mem_free(row);
    return st;
}

static geodec_status read_out(geodec_rollout *r, const geodec_step_rows *rows, const geodec_rollout_options *o,
                              geodec_rollout_head head, void *ctx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t k = r->step.k, d = r->step.d;
    geodec_counts labels = {0};
    float *w = NULL;
    double found = 0, all = 0;
    GEODEC_NEW(w, d);
    GEODEC_TRY(geodec_step_count(rows, o->step.seed, rows->argmax, false, &labels, err));
    r->words = labels.entries < o->words ? labels.entries : o->words;
    if (r->words < 1) GEODEC_THROW(GEODEC_SCARCE, "the texts of the fit have no token; at least 1 is needed");
    GEODEC_NEW(r->word, r->words);
    GEODEC_NEW(r->weight, r->words * k);
    GEODEC_NEW(r->bias, r->words);
    for (int64_t i = 0; i < r->words; i++) {
        r->word[i] = labels.token[i];
        GEODEC_TRY(head(ctx, r->word[i], 1, w, err));
        double bias = 0;
        for (int64_t c = 0; c < d; c++) bias += (double)w[c] * (double)r->step.mean[c];
        r->bias[i] = (float)bias;
        for (int64_t q = 0; q < k; q++) {
            double sum = 0;
            for (int64_t c = 0; c < d; c++) sum += (double)w[c] * (double)r->step.basis[q * d + c];
            r->weight[i * k + q] = (float)sum;
        }
    }
    for (int64_t i = 0; i < rows->rows; i++) {
        if (geodec_step_part_of(o->step.seed, rows->sequence[i]) != GEODEC_STEP_CALIBRATE) continue;
        all++;
        for (int64_t q = 0; q < r->words; q++)
            if (r->word[q] == rows->argmax[i]) {
                found++;
                break;
            }
    }
    r->covered = all > 0 ? found / all : 1;
done:
    geodec_counts_clear(&labels);
    geodec_mem_free(w);
    return st;
}

geodec_status geodec_rollout_bake(const geodec_activations *a, const geodec_rollout_options *o,
                                  geodec_rollout_head head, void *ctx, geodec_pool *pool, const geodec_hooks *hooks,
                                  geodec_rollout *out, geodec_step_rows *rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_rollout r = {0};
    geodec_step_rows x = {0};
    geodec_step_options blind = o->step;
    if (o->words < 1 || o->words > GEODEC_ROLLOUT_WORDS_MAX || o->dims < 1 || o->dims > GEODEC_RBF_MAX_N ||
        o->sites < 2 || o->calibration < 1 || o->step.blind)
        GEODEC_THROW(GEODEC_RANGE, "%lld words, %lld dimensions, %lld sites, %lld places", (long long)o->words,
                     (long long)o->dims, (long long)o->sites, (long long)o->calibration);
    GEODEC_TRY(geodec_step_fit(a, &o->step, pool, &r.step, &x, err));
    blind.blind = true;
    GEODEC_TRY(geodec_step_refit(&r.step, &x, &blind, &r.blind, err));
    GEODEC_TRY(read_out(&r, &x, o, head, ctx, err));
    GEODEC_TRY(fit_field(&r, &x, o, pool, hooks, err));
    for (int c = 0; c < GEODEC_ROLLOUT_CONNECTIONS; c++)
        GEODEC_TRY(
            geodec_rollout_calibrate(&r, &x, o, GEODEC_ROLLOUT_TOKEN, (geodec_rollout_connection)c, &r.trust[c], err));
    GEODEC_MOVE(*out, r);
    if (rows) {
        GEODEC_MOVE(*rows, x);
    }
done:
    geodec_rollout_clear(&r);
    geodec_step_rows_clear(&x);
    return st;
}

/* ---- the artifact ----------------------------------------------------------------------------------------------- */

typedef struct variant_row {
    geodec_ablation_figures f;
    int32_t base;
    double broken;
} variant_row;

typedef struct rollout_file {
    geodec_rollout r;
    int64_t triangle; /* dims (dims + 1) / 2 */
    int64_t variants, places;
    variant_row *variant;
    const char *names;
} rollout_file;
#define AT(m) GEODEC_AT(rollout_file, m)
#define IN(m) GEODEC_IN(rollout_file, m)
static const geodec_rows trusts = {"3", sizeof(geodec_rollout_trust), offsetof(rollout_file, r.trust), true};
#define TRUST(m) GEODEC_OF_ROWS(&trusts, geodec_rollout_trust, m, sizeof(float), 0)
#define VARIANT(m) GEODEC_OF_ROW(variant_row, m)

static const geodec_field fields[] = {
    GEODEC_STEP_FIELDS(rollout_file, r.step),
    {"/readout/word", GEODEC_I32, "W", 0, "1", "tokens of the shortlist, most frequent first", 0, AT(r.word)},
    {"/readout/weight", GEODEC_F32, "W,k", GEODEC_FIELD_COMPRESS, "1", "logit = weight z + bias", 0, AT(r.weight)},
    {"/readout/bias", GEODEC_F32, "W", 0, "1", "logit = weight z + bias", 0, AT(r.bias)},
    {"/field/site", GEODEC_F64, "P,m", 0, "1", "sites of the metric field, leading coordinates", 0, AT(r.site)},
    {"/field/log_g", GEODEC_F64, "P,t", 0, "1", "logarithms of the metric there, upper triangles", 0, AT(r.log_g)},
    {"/calibration/beta", GEODEC_F32, "3,4", 0, "1",
     "confidence = shrink softmax(beta logits); flat, fitted, random; 0, 1, 2, 3+ drafts ahead", 0, TRUST(beta[0])},
    {"/calibration/shrink", GEODEC_F32, "3,4", 0, "1", "confidence = shrink softmax(beta logits)", 0, TRUST(shrink[0])},
    {"/ladder/top1", GEODEC_F64, "L,3", 0, "1",
     "share of held-out places whose truth is the variant's first: value and 95 % bootstrap interval over texts", 0,
     VARIANT(f.top1.value)},
    {"/ladder/top8", GEODEC_F64, "L,3", 0, "1", "the same, among the first eight", 0, VARIANT(f.top8.value)},
    {"/ladder/claimed", GEODEC_F64, "L,3", 0, "1", "calibrated alpha: mean confidence of the first", 0,
     VARIANT(f.claimed.value)},
    {"/ladder/gain1", GEODEC_F64, "L,3", 0, "1", "top1 less that of the base variant, paired by text", 0,
     VARIANT(f.gain1.value)},
    {"/ladder/gain8", GEODEC_F64, "L,3", 0, "1", "top8 less that of the base variant, paired by text", 0,
     VARIANT(f.gain8.value)},
    {"/ladder/base", GEODEC_I32, "L", 0, "1", "base variant, -1 = none", 0, VARIANT(base)},
    {"/ladder/broken", GEODEC_F64, "L", 0, "1", "share of steps whose geodesic diverged; they went straight", 0,
     VARIANT(broken)},
};
static const geodec_attr attrs[] = {
    {"sigma", GEODEC_ATTR_F64, 0, "width of the metric field", IN(r.sigma)},
    {"covered", GEODEC_ATTR_F64, 0, "share of labels in the shortlist", IN(r.covered)},
    {"tensor_seed", GEODEC_ATTR_I64, 0, "of the random tensor", IN(r.seed)},
    {"rungs", GEODEC_ATTR_STR, 0, "names along L, separated by commas", IN(names)},
    {"places", GEODEC_ATTR_I64, 0, "held-out places of the figures", IN(places)},
};
static const geodec_extent extents[] = {
    GEODEC_STEP_EXTENTS(rollout_file, r.step),
    {"W", IN(r.words)},
    {"P", IN(r.sites)},
    {"m", IN(r.dims)},
    {"t", IN(triangle)},
    {"L", IN(variants)},
};

const geodec_kind geodec_rollout_kind = {
    .name = "rollout",
    .major = 1,
    .tool = "geodec-rollout",
    .purpose = "the geometric rollout: step, field and readout of its drafters, and their ablation",
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"L", sizeof(variant_row), offsetof(rollout_file, variant), false},
};

geodec_status geodec_rollout_ablation_write(const geodec_rollout *r, const geodec_ablation_variant *variant,
                                            const geodec_ablation_figures *f, const double *broken, int32_t n,
                                            geodec_artifact *out, geodec_err *err)
{
    char names[GEODEC_ABLATION_MAX * 64] = "";
    variant_row row[GEODEC_ABLATION_MAX];
    const rollout_file file = {.r = *r,
                               .triangle = r->dims * (r->dims + 1) / 2,
                               .variants = n,
                               .places = f[0].places,
                               .variant = row,
                               .names = names};
    size_t used = 0;
    for (int32_t k = 0; k < n; k++) {
        row[k] = (variant_row){f[k], variant[k].base, broken[k]};
        const int length = snprintf(names + used, sizeof names - used, "%s%s", k ? "," : "", variant[k].name);
        if (length < 0 || (size_t)length >= sizeof names - used)
            GEODEC_FAIL(GEODEC_LIMIT, "the names of %d variants are too long", n);
        used += (size_t)length;
    }
    GEODEC_PASS(geodec_artifact_save(out, &file, err));
    return GEODEC_OK;
}

static geodec_status check_file(const rollout_file *file, const char *name, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_rollout *r = &file->r;
    bool *met = NULL;
    GEODEC_TRY(geodec_step_check(&r->step, name, err));
    if (r->words < 1 || r->words > GEODEC_ROLLOUT_WORDS_MAX || r->dims < 1 || r->dims > GEODEC_RBF_MAX_N ||
        r->dims > r->step.k || !(r->sigma > 0 && isfinite(r->sigma)) || file->triangle != r->dims * (r->dims + 1) / 2 ||
        !(r->covered >= 0 && r->covered <= 1))
        GEODEC_THROW(GEODEC_FORMAT, "%s: sizes or shares that cannot be", name);
    for (int64_t i = 0; i < r->sites * r->dims; i++)
        if (!isfinite(r->site[i]))
            GEODEC_THROW(GEODEC_FORMAT, "%s: site %lld is not finite", name, (long long)(i / r->dims));
    for (int64_t i = 0; i < r->sites * file->triangle; i++)
        if (!isfinite(r->log_g[i]))
            GEODEC_THROW(GEODEC_FORMAT, "%s: the metric of site %lld is not finite", name,
                         (long long)(i / file->triangle));
    GEODEC_NEW(met, r->step.vocab);
    for (int64_t i = 0; i < r->words; i++) {
        if (r->word[i] < 0 || r->word[i] >= r->step.vocab || met[r->word[i]])
            GEODEC_THROW(GEODEC_FORMAT, "%s: word %lld is not a token or is repeated", name, (long long)i);
        met[r->word[i]] = true;
    }
    for (int c = 0; c < GEODEC_ROLLOUT_CONNECTIONS; c++)
        for (int d = 0; d < DEPTHS; d++) {
            const float x = r->trust[c].beta[d], y = r->trust[c].shrink[d];
            const bool sane = x > 0 && x < 1e6F && y >= 0 && y <= 1;
            if (!sane) GEODEC_THROW(GEODEC_FORMAT, "%s: a confidence is out of range", name);
        }
done:
    geodec_mem_free(met);
    return st;
}

geodec_status geodec_rollout_read(const geodec_artifact *in, geodec_rollout *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    rollout_file file = {.variants = 0};
    geodec_rollout *r = &file.r;
    const char *name = geodec_artifact_path(in);
    GEODEC_TRY(geodec_artifact_load(in, &file, err));
    GEODEC_TRY(check_file(&file, name, err));
    GEODEC_TRY_MSG(geodec_rbf_create(r->sites, r->dims, r->site, r->log_g, r->sigma, &r->field, err), "%s", name);
    GEODEC_TRY(random_tensor(r, err));
    GEODEC_MOVE(*out, *r);
done:
    geodec_mem_free(file.variant);
    geodec_rollout_clear(r);
    return st;
}
