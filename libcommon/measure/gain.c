#include "measure/gain.h"

#include "base/mem.h"
#include "base/rng.h"
#include "linalg/stats.h"
#include "measure/bench_file.h"

#include <math.h>
#include <string.h>

/* Of a row's texts together, so that sums stay exact. */
#define COUNT_MAX ((int64_t)1 << 52)

/* The counts by text of one artifact. */
typedef struct counts {
    geodec_artifact *file;
    int32_t which; /* drafter */
    int64_t rows, texts;
    int32_t *drafter, *gamma, *budget;             /* [rows] */
    uint8_t *sampled, *every;                      /* [rows] */
    int64_t *accepted, *rounds, *decided, *passes; /* [rows][texts] */
} counts;

static void clear(counts *c)
{
    geodec_artifact_close(c->file);
    geodec_mem_free(c->drafter);
    geodec_mem_free(c->gamma);
    geodec_mem_free(c->budget);
    geodec_mem_free(c->sampled);
    geodec_mem_free(c->every);
    geodec_mem_free(c->accepted);
    geodec_mem_free(c->rounds);
    geodec_mem_free(c->decided);
    geodec_mem_free(c->passes);
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
    geodec_status st = GEODEC_OK;
    const char *names = NULL;
    GEODEC_TRY(geodec_artifact_open(&geodec_kind_benchdecode, path, &c->file, err));
    GEODEC_TRY(geodec_artifact_get_str(c->file, "drafters", &names, err));
    c->which = place_of(names, name);
    if (c->which < 0) GEODEC_THROW(GEODEC_NOTFOUND, "%s: no drafter %s among %s", path, name, names);
    static const char *const newer[] = {"/budget", "/texts/accepted", "/texts/rounds", "/texts/decided",
                                        "/texts/passes"};
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
        if (!geodec_artifact_has(c->file, newer[i]))
            GEODEC_THROW(GEODEC_VERSION, "%s: no counts by text (%s), made by an older version", path, newer[i]);
    GEODEC_TRY(geodec_artifact_dim(c->file, "C", &c->rows, err));
    GEODEC_TRY(geodec_artifact_dim(c->file, "P", &c->texts, err));
    GEODEC_TRY(geodec_artifact_read(c->file, "/drafter", &c->drafter, err));
    GEODEC_TRY(geodec_artifact_read(c->file, "/gamma", &c->gamma, err));
    GEODEC_TRY(geodec_artifact_read(c->file, "/budget", &c->budget, err));
    GEODEC_TRY(geodec_artifact_read(c->file, "/sampled", &c->sampled, err));
    GEODEC_TRY(geodec_artifact_read(c->file, "/every_position", &c->every, err));
    GEODEC_TRY(geodec_artifact_read(c->file, "/texts/accepted", &c->accepted, err));
    GEODEC_TRY(geodec_artifact_read(c->file, "/texts/rounds", &c->rounds, err));
    GEODEC_TRY(geodec_artifact_read(c->file, "/texts/decided", &c->decided, err));
    GEODEC_TRY(geodec_artifact_read(c->file, "/texts/passes", &c->passes, err));
    for (int64_t i = 0; i < c->rows * c->texts; i++) {
        const int64_t all[] = {c->accepted[i], c->rounds[i], c->decided[i], c->passes[i]};
        for (int k = 0; k < 4; k++)
            if (all[k] < 0 || all[k] > COUNT_MAX / c->texts)
                GEODEC_THROW(GEODEC_FORMAT, "%s: row %lld, text %lld: a count of %lld", path, (long long)(i / c->texts),
                             (long long)(i % c->texts), (long long)all[k]);
    }
done:
    return st;
}

/* Tokens a pass of row r over the texts index[0..n). NaN without a pass. */
static double tokens(const counts *c, int64_t r, const int64_t *index, int64_t n)
{
    const int64_t *top = (c->every[r] ? c->accepted : c->decided) + r * c->texts;
    const int64_t *bottom = (c->every[r] ? c->rounds : c->passes) + r * c->texts;
    int64_t t = 0, b = 0;
    for (int64_t i = 0; i < n; i++) {
        t += top[index[i]];
        b += bottom[index[i]];
    }
    return b > 0 ? (double)t / (double)b + (c->every[r] ? 1 : 0) : (double)NAN;
}

static geodec_interval interval(double value, double *x, int64_t n)
{
    geodec_interval v = {value, NAN, NAN};
    if (n < 1) return v;
    geodec_stats_sort(n, x);
    v.low = geodec_stats_percentile(n, x, 0.025);
    v.high = geodec_stats_percentile(n, x, 0.975);
    return v;
}

static geodec_status compare(const counts *a, int64_t ra, const counts *b, int64_t rb, uint64_t seed, int32_t resamples,
                             geodec_gain *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *index = NULL, n = 0;
    double *x = NULL, *y = NULL, *d = NULL;
    GEODEC_NEW(index, a->texts);
    GEODEC_NEW(x, resamples);
    GEODEC_NEW(y, resamples);
    GEODEC_NEW(d, resamples);
    for (int64_t i = 0; i < a->texts; i++) index[i] = i;
    const double whole = tokens(a, ra, index, a->texts), control = tokens(b, rb, index, a->texts);
    for (int32_t r = 0; r < resamples; r++) {
        geodec_stats_resample(seed, geodec_rng_id("gain-bootstrap", 0), (uint64_t)r, a->texts, index);
        x[n] = tokens(a, ra, index, a->texts);
        y[n] = tokens(b, rb, index, a->texts);
        d[n] = x[n] - y[n];
        n += isfinite(d[n]); /* a resample of texts too short to ask about says nothing */
    }
    *out = (geodec_gain){.gamma = a->gamma[ra],
                         .budget = a->budget[ra],
                         .sampled = a->sampled[ra],
                         .every_position = a->every[ra],
                         .tokens = interval(whole, x, n),
                         .control = interval(control, y, n),
                         .difference = interval(whole - control, d, n)};
done:
    geodec_mem_free(index);
    geodec_mem_free(x);
    geodec_mem_free(y);
    geodec_mem_free(d);
    return st;
}

/* The row of b like row r of a, -1 = none. */
static int64_t like(const counts *a, int64_t r, const counts *b)
{
    for (int64_t i = 0; i < b->rows; i++)
        if (b->drafter[i] == b->which && b->gamma[i] == a->gamma[r] && b->budget[i] == a->budget[r] &&
            b->sampled[i] == a->sampled[r] && b->every[i] == a->every[r])
            return i;
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
    if (a.texts != b.texts)
        GEODEC_THROW(GEODEC_INVAL, "%s has %lld texts, %s %lld", path, (long long)a.texts, control_path,
                     (long long)b.texts);
    GEODEC_NEW(gain, a.rows);
    for (int64_t r = 0; r < a.rows; r++) {
        const int64_t other = a.drafter[r] == a.which ? like(&a, r, &b) : -1;
        if (other < 0) continue;
        if (memcmp(a.decided + r * a.texts, b.decided + other * a.texts, (size_t)a.texts * sizeof *a.decided) != 0)
            GEODEC_THROW(GEODEC_INVAL, "%s and %s are about different texts", path, control_path);
        GEODEC_TRY(compare(&a, r, &b, other, seed, resamples, &gain[count++], err));
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
