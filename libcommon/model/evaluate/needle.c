#include "evaluate/needle.h"

#include "base/mem.h"
#include "base/rng.h"
#include "io/tsv.h"
#include "linalg/stats.h"

#include <string.h>

enum { REPLICATES = 1000, MOST = 1 << 16 };

geodec_needle_options geodec_needle_defaults(void)
{
    return (geodec_needle_options){.window = 256, .needle = 16, .cue = 6, .depths = 10, .trials = 40, .seed = 1};
}

void geodec_needle_free(geodec_needle_result *r)
{
    geodec_mem_free(r->depth);
    *r = (geodec_needle_result){0};
}

typedef struct work {
    const geodec_needle_options *o;
    geodec_scorer *scorer;
    int64_t n_vocab, n;
    const int32_t *text; /* [n] tokens */
    int32_t bos;         /* -1: none */
    int32_t *token;      /* [window] */
    double *row;         /* [n_vocab] */
    double *hit[2];      /* [depths][trials] share of the rest that was predicted: with the needle, and without */
} work;

/* Position of the needle in the text; it is not within the slice. */
static int64_t place_needle(const work *k, geodec_rng *r, int64_t slice, int64_t length)
{
    for (;;) {
        const int64_t at = (int64_t)geodec_rng_below(r, (uint64_t)(k->n - k->o->needle + 1));
        if (at + k->o->needle <= slice || at >= slice + length) return at;
    }
}

static geodec_status read_trial(work *k, const int32_t *text, const int32_t *needle, int64_t before, bool there,
                                double *out, geodec_err *err)
{
    const geodec_needle_options *o = k->o;
    const int32_t lead = k->bos >= 0, fill = o->window - lead - o->needle; /* text with the needle */
    int32_t n = 0, hits = 0;
    if (lead) k->token[n++] = k->bos;
    if (there) {
        memcpy(k->token + n, text, (size_t)before * sizeof *text);
        memcpy(k->token + n + before, needle, (size_t)o->needle * sizeof *text);
        memcpy(k->token + n + before + o->needle, text + before, (size_t)(fill - o->needle - before) * sizeof *text);
    } else {
        memcpy(k->token + n, text, (size_t)fill * sizeof *text);
    }
    n += fill;
    memcpy(k->token + n, needle, (size_t)o->needle * sizeof *text);
    n += o->needle;
    const int32_t first = n - o->needle + o->cue; /* the first token to predict */
    GEODEC_PASS(geodec_scorer_begin(k->scorer, k->token, n, err));
    for (int32_t at = 0; at + 1 < n; at += GEODEC_SCORER_ROWS) {
        const int32_t rows = n - 1 - at < GEODEC_SCORER_ROWS ? n - 1 - at : GEODEC_SCORER_ROWS;
        bool want[GEODEC_SCORER_ROWS];
        for (int32_t i = 0; i < rows; i++) want[i] = at + i + 1 >= first;
        GEODEC_PASS(geodec_scorer_step(k->scorer, rows, want, err));
        for (int32_t i = 0; i < rows; i++) {
            if (!want[i]) continue;
            geodec_scorer_row(k->scorer, i, k->row);
            hits += geodec_stats_argmax(k->n_vocab, k->row) == k->token[at + i + 1];
        }
    }
    *out = (double)hits / (double)(o->needle - o->cue);
    return GEODEC_OK;
}

static geodec_status trial(work *k, int32_t depth, int32_t number, geodec_err *err)
{
    const geodec_needle_options *o = k->o;
    const int64_t index = (int64_t)depth * o->trials + number, length = o->window;
    geodec_rng r = geodec_rng_stream(o->seed, geodec_rng_id("needle", (uint64_t)index));
    const int64_t slice = (int64_t)geodec_rng_below(&r, (uint64_t)(k->n - length + 1));
    const int32_t *needle = k->text + place_needle(k, &r, slice, length);
    const int64_t room = o->window - (k->bos >= 0) - 2 * (int64_t)o->needle;
    const int64_t before = o->depths > 1 ? room * depth / (o->depths - 1) : room / 2;
    for (int control = 0; control < 2; control++)
        GEODEC_PASS(read_trial(k, k->text + slice, needle, before, control == 0, &k->hit[control][index], err));
    return GEODEC_OK;
}

static geodec_status summarise(const work *k, geodec_needle_result *r, geodec_err *err)
{
    const geodec_needle_options *o = k->o;
    const uint64_t stream = geodec_rng_id("needle-bootstrap", 0);
    for (int control = 0; control < 2; control++) {
        for (int32_t d = 0; d < o->depths; d++) {
            geodec_needle_depth *y = &r->depth[d];
            y->depth = o->depths > 1 ? (double)d / (o->depths - 1) : 0.5;
            GEODEC_PASS(geodec_stats_ratio(o->trials, k->hit[control] + (int64_t)d * o->trials, NULL, REPLICATES,
                                           o->seed, stream, control ? &y->control : &y->hits, err));
        }
        GEODEC_PASS(geodec_stats_ratio((int64_t)o->depths * o->trials, k->hit[control], NULL, REPLICATES, o->seed,
                                       stream, control ? &r->control : &r->hits, err));
    }
    return GEODEC_OK;
}

static geodec_status check(const geodec_needle_options *o, geodec_err *err)
{
    if (o->window < 8 || o->cue < 1 || o->needle <= o->cue || o->needle > o->window / 4)
        GEODEC_FAIL(GEODEC_RANGE, "a needle of %d tokens, %d of them the cue, in a window of %d", o->needle, o->cue,
                    o->window);
    if (o->depths < 1 || o->depths > MOST || o->trials < 1 || o->trials > MOST)
        GEODEC_FAIL(GEODEC_RANGE, "%d depths of %d trials", o->depths, o->trials);
    return GEODEC_OK;
}

geodec_status geodec_needle_run(const geodec_scorer_evaluation *e, const geodec_needle_options *o, const char *text,
                                size_t n, const geodec_hooks *hooks, geodec_needle_result *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_tokenizer *t = geodec_model_tokenizer(e->model);
    geodec_needle_result r = {.depths = o->depths};
    work k = {.o = o, .n_vocab = geodec_model_configuration(e->model)->n_vocab, .bos = geodec_tokenizer_start(t)};
    int32_t *ids = NULL;
    GEODEC_TRY(check(o, err));
    GEODEC_TRY(geodec_scorer_tokens(t, text, n, false, &ids, &k.n, err));
    k.text = ids;
    if (k.n < 2 * (int64_t)o->window + 2 * (int64_t)o->needle)
        GEODEC_THROW(k.n == 0 ? GEODEC_FORMAT : GEODEC_SCARCE,
                     "%lld tokens; windows of %d with needles of %d need at least %lld", (long long)k.n, o->window,
                     o->needle, 2 * ((long long)o->window + o->needle));
    GEODEC_TRY(geodec_scorer_create(e, o->window, &k.scorer, err));
    GEODEC_NEW(k.token, o->window);
    GEODEC_NEW(k.row, k.n_vocab);
    GEODEC_NEW_EACH((int64_t)o->depths * o->trials, k.hit[0], k.hit[1]);
    GEODEC_NEW(r.depth, o->depths);
    for (int32_t d = 0; d < o->depths; d++) {
        GEODEC_TRY(geodec_hooks_progress(hooks, "searching", d, o->depths, err));
        for (int32_t i = 0; i < o->trials; i++) GEODEC_TRY(trial(&k, d, i, err));
    }
    GEODEC_TRY(summarise(&k, &r, err));
    GEODEC_MOVE(*out, r);
done:
    geodec_needle_free(&r);
    geodec_scorer_destroy(k.scorer);
    GEODEC_FREE(k.token, k.row, k.hit[0], k.hit[1], ids);
    return st;
}

static geodec_status put_row(geodec_tsv *t, const char *depth, const geodec_estimate *hits,
                             const geodec_estimate *control, geodec_err *err)
{
    geodec_tsv_str(t, depth);
    geodec_tsv_f64s(t, 3, &hits->value);
    geodec_tsv_f64s(t, 3, &control->value);
    return geodec_tsv_end_row(t, err);
}

geodec_status geodec_needle_table(FILE *out, const geodec_needle_result *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_tsv_on(out, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "depth hits hits_low hits_high control control_low control_high", err));
    for (int32_t d = 0; d < r->depths; d++) {
        char depth[32];
        (void)snprintf(depth, sizeof depth, "%.3g", r->depth[d].depth);
        GEODEC_TRY(put_row(t, depth, &r->depth[d].hits, &r->depth[d].control, err));
    }
    GEODEC_TRY(put_row(t, "all", &r->hits, &r->control, err));
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}
