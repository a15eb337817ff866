#include "measure/gain.h"

#include "base/mem.h"
#include "base/rng.h"
#include "io/tsv.h"
#include "linalg/stats.h"
#include "measure/bench_file.h"
#include "measure/bench_internal.h"

#include <math.h>
#include <string.h>

/* Sums over the texts of a row, as integers so that they stay exact. */
#define COUNT_MAX ((int64_t)1 << 52)

/* The counts by text of one artifact. */
typedef struct counts {
    geodec_artifact *file;
    int32_t which; /* drafter */
    geodec_bench_counts of;
} counts;

static void clear(counts *c)
{
    geodec_artifact_close(c->file);
    geodec_bench_counts_free(&c->of);
}

/* Place of a word in a list joined by commas, -1 = not there. */
static int32_t place_of(const char *list, const char *word)
{
    const size_t n = strlen(word);
    int32_t i = 0;
    for (const char *at = list;; i++) {
        const size_t length = strcspn(at, ",");
        if (length == n && strncmp(at, word, n) == 0) return i;
        if (at[length] == '\0') return -1;
        at += length + 1;
    }
}

static geodec_status read_counts(const char *path, const char *name, counts *c, geodec_err *err)
{
    const char *names = NULL;
    GEODEC_PASS(geodec_artifact_open(&geodec_bench_decode_kind, path, &c->file, err));
    GEODEC_PASS(geodec_artifact_get_str(c->file, "drafters", &names, err));
    c->which = place_of(names, name);
    if (c->which < 0) GEODEC_FAIL(GEODEC_NOTFOUND, "%s: no drafter %s among %s", path, name, names);
    static const char *const newer[] = {"/budget", "/texts/accepted", "/texts/rounds", "/texts/decided",
                                        "/texts/passes"};
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
        if (!geodec_artifact_has(c->file, newer[i]))
            GEODEC_FAIL(GEODEC_VERSION, "%s: no counts by text (%s), made by an older version", path, newer[i]);
    GEODEC_PASS(geodec__bench_read_counts(c->file, &c->of, err));
    const geodec_bench_counts *of = &c->of;
    for (int64_t i = 0; i < of->n * of->prompts; i++) {
        const int64_t all[] = {of->accepted[i], of->rounds[i], of->decided[i], of->passes[i]};
        for (int k = 0; k < 4; k++)
            if (all[k] < 0 || all[k] > COUNT_MAX / of->prompts)
                GEODEC_FAIL(GEODEC_FORMAT, "%s: row %lld, text %lld: a count of %lld", path,
                            (long long)(i / of->prompts), (long long)(i % of->prompts), (long long)all[k]);
    }
    return GEODEC_OK;
}

/* Tokens per pass of row r over the texts index[0..n). NaN without a pass. */
static double tokens(const geodec_bench_counts *c, int64_t r, const int64_t *index, int64_t n)
{
    const bool every = c->row[r].every_position;
    const int64_t *top = (every ? c->accepted : c->decided) + r * c->prompts;
    const int64_t *bottom = (every ? c->rounds : c->passes) + r * c->prompts;
    int64_t t = 0, b = 0;
    for (int64_t i = 0; i < n; i++) {
        t += top[index[i]];
        b += bottom[index[i]];
    }
    return b > 0 ? (double)t / (double)b + (every ? 1 : 0) : (double)NAN;
}

static geodec_estimate interval(double value, double *x, int64_t n)
{
    geodec_estimate v = {value, NAN, NAN};
    if (n < 1) return v;
    geodec_stats_sort(n, x);
    v.low = geodec_stats_percentile(n, x, 0.025);
    v.high = geodec_stats_percentile(n, x, 0.975);
    return v;
}

static geodec_status compare(const geodec_bench_counts *a, int64_t ra, const geodec_bench_counts *b, int64_t rb,
                             uint64_t seed, int32_t resamples, geodec_gain *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *index = NULL, n = 0;
    double *x = NULL, *y = NULL, *d = NULL;
    GEODEC_NEW(index, a->prompts);
    GEODEC_NEW_EACH(resamples, x, y, d);
    for (int64_t i = 0; i < a->prompts; i++) index[i] = i;
    const double whole = tokens(a, ra, index, a->prompts), control = tokens(b, rb, index, a->prompts);
    for (int32_t r = 0; r < resamples; r++) {
        geodec_stats_resample(seed, geodec_rng_id("gain-bootstrap", 0), (uint64_t)r, a->prompts, index);
        x[n] = tokens(a, ra, index, a->prompts);
        y[n] = tokens(b, rb, index, a->prompts);
        d[n] = x[n] - y[n];
        n += isfinite(d[n]); /* resamples that contain only texts too short for a draft give no value */
    }
    *out = (geodec_gain){.gamma = a->row[ra].gamma,
                         .budget = a->row[ra].budget,
                         .sampled = a->row[ra].sampled,
                         .every_position = a->row[ra].every_position,
                         .tokens = interval(whole, x, n),
                         .control = interval(control, y, n),
                         .difference = interval(whole - control, d, n)};
done:
    GEODEC_FREE(index, x, y, d);
    return st;
}

/* The row of b with the settings of row x, -1 = none. */
static int64_t like(const geodec_bench_row *x, const counts *b)
{
    for (int64_t i = 0; i < b->of.n; i++) {
        const geodec_bench_row *y = &b->of.row[i];
        if (y->drafter == b->which && y->gamma == x->gamma && y->budget == x->budget && y->sampled == x->sampled &&
            y->every_position == x->every_position)
            return i;
    }
    return -1;
}

geodec_status geodec_gain_measure(const char *path, const char *name, const char *control_path, const char *control,
                                  uint64_t seed, int32_t resamples, geodec_gain **out, int64_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    counts a = {0}, b = {0};
    geodec_gain *gain = NULL;
    int64_t count = 0;
    if (resamples < 1) GEODEC_THROW(GEODEC_INVAL, "%d bootstrap resamples", resamples);
    GEODEC_TRY(read_counts(path, name, &a, err));
    GEODEC_TRY(read_counts(control_path, control, &b, err));
    if (a.of.prompts != b.of.prompts)
        GEODEC_THROW(GEODEC_INVAL, "%s has %lld texts, %s %lld", path, (long long)a.of.prompts, control_path,
                     (long long)b.of.prompts);
    GEODEC_NEW(gain, a.of.n);
    for (int64_t r = 0; r < a.of.n; r++) {
        const int64_t other = a.of.row[r].drafter == a.which ? like(&a.of.row[r], &b) : -1;
        if (other < 0) continue;
        if (memcmp(a.of.decided + r * a.of.prompts, b.of.decided + other * a.of.prompts,
                   (size_t)a.of.prompts * sizeof *a.of.decided) != 0)
            GEODEC_THROW(GEODEC_INVAL, "%s and %s are about different texts", path, control_path);
        GEODEC_TRY(compare(&a.of, r, &b.of, other, seed, resamples, &gain[count++], err));
    }
    if (count == 0)
        GEODEC_THROW(GEODEC_NOTFOUND, "%s and %s: %s and %s have no row in common", path, control_path, name, control);
    *out = gain;
    *n = count;
    gain = NULL;
done:
    geodec_mem_free(gain);
    clear(&a);
    clear(&b);
    return st;
}

geodec_status geodec_gain_print(FILE *out, const geodec_gain *gain, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_tsv_on(out, &t, err));
    GEODEC_TRY(geodec_tsv_names(
        t, "mode setting drafts tokens tokens_low tokens_high control control_low control_high gain gain_low gain_high",
        err));
    for (int64_t i = 0; i < n; i++) {
        const geodec_gain *g = &gain[i];
        geodec_tsv_str(t, g->sampled ? "sampled" : "greedy");
        geodec_tsv_str(t, g->every_position ? g->budget > 0 ? "tree-every-position" : "every-position"
                          : g->budget > 0   ? "tree"
                                            : "loop");
        geodec_tsv_i64(t, g->budget > 0 ? g->budget : g->gamma);
        geodec_tsv_f64s(t, 3, &g->tokens.value);
        geodec_tsv_f64s(t, 3, &g->control.value);
        geodec_tsv_f64s(t, 3, &g->difference.value);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}
