/* The scheduler compared with the best of its drafters: bench-auto MODEL.gguf DIR TEXT [options], TSV on stdout.
 *
 *     --rounds N (5)  --prompts N (6)  --prompt-tokens N (16)  --tokens N (96)  --arithmetic exact|fast  --drafters
 * LIST  --threads N (1)  --temperature T (0)  --prices on|off
 *
 * Adaptive length; with --prices off without the prices of a mixture (session/resident_price.h), which start anew with
 * every text. In a round every drafter starts without state and decodes the same prompts.
 * Within a prompt the drafters run one after the other, with plain decoding before and after each. The measure is the
 * time of a drafter divided by that of the two plain runs, because the speed of a machine drifts. Times are CPU times
 * of the thread (with several threads: by the clock), without the prompt: the median over the rounds for a prompt, then
 * the mean over the prompts. Rows of a drafter: speed over plain decoding, tokens a pass, requests a round, the share
 * of the time in drafts and that outside drafts and passes. `none` is plain decoding as one of the drafters, and shows
 * the noise. Row `ratio`: speed of auto divided by that of the best of the others, and its 95 % interval (bootstrap
 * over rounds). The status is 4 if an output differs from plain decoding. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "decode/loop.h"
#include "decode/prompts.h"
#include "drafters/drafting.h"
#include "io/file.h"
#include "linalg/stats.h"
#include "session/resident_price.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAFTERS = 8, GAMMA = 8, BATCH = GEODEC_DRAFT_MAX + 1, COST_REPEATS = 2, RESAMPLES = 400 };

typedef struct options {
    const char *model, *dir, *text;
    int64_t rounds, prompts, length, tokens;
    int threads;
    bool prices;
    float temperature;
    geodec_arithmetic arithmetic;
    const char *name[DRAFTERS]; /* the first is plain decoding, the last auto */
    int n;
} options;

typedef struct bench {
    geodec_model *model;
    geodec_session *session;
    geodec_pool *pool;
    geodec_target target;
    geodec_drafting *drafting;
    geodec_prompts prompts;
    double *time;                         /* [drafters][prompts][rounds] over plain decoding */
    geodec_decode_counters sum[DRAFTERS]; /* of all rounds */
    int32_t stop[GEODEC_STOP_TOKENS];
    geodec_decode_options decode;
    geodec_adapt memory[DRAFTERS];
} bench;

static bool read_options(int argc, char **argv, options *o)
{
    static char list[256] = "ngram,lookup,flowmap";
    *o = (options){
        .rounds = 5, .prompts = 6, .length = 16, .tokens = 96, .threads = 1, .prices = true, .n = 1, .name = {"none"}};
    const char **const file[] = {&o->model, &o->dir, &o->text};
    size_t files = 0;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (argv[i][0] != '-') {
            if (files == sizeof file / sizeof *file) return false;
            *file[files++] = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--rounds") == 0) o->rounds = atoi(value);
        if (strcmp(argv[i], "--prompts") == 0) o->prompts = atoi(value);
        if (strcmp(argv[i], "--prompt-tokens") == 0) o->length = atoi(value);
        if (strcmp(argv[i], "--tokens") == 0) o->tokens = atoi(value);
        if (strcmp(argv[i], "--threads") == 0) o->threads = atoi(value);
        if (strcmp(argv[i], "--temperature") == 0) o->temperature = strtof(value, NULL);
        if (strcmp(argv[i], "--prices") == 0) o->prices = strcmp(value, "off") != 0;
        if (strcmp(argv[i], "--arithmetic") == 0)
            o->arithmetic = strcmp(value, "fast") == 0 ? GEODEC_FAST : GEODEC_EXACT;
        if (strcmp(argv[i], "--drafters") == 0) (void)snprintf(list, sizeof list, "%s", value);
        i++;
    }
    for (char *word = strtok(list, ","); word && o->n < DRAFTERS - 1; word = strtok(NULL, ",")) o->name[o->n++] = word;
    o->name[o->n++] = "auto";
    return files == 3 && o->rounds > 0 && o->prompts > 0 && o->length > 0 && o->tokens > 0;
}

static geodec_status read_prompts(bench *b, const options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_file_map map = {0};
    geodec_documents text = {0};
    const geodec_tokenizer *t = geodec_model_tokenizer(b->model);
    const geodec_documents_options how = {.separator = GEODEC_SEPARATOR_AUTO, .tokenizer = t};
    const geodec_prompts_options cut = {.count = o->prompts, .length = o->length, .most = 4 * o->length};
    GEODEC_TRY(geodec_file_map_open(o->text, &map, err));
    GEODEC_TRY(geodec_documents_read(o->text, (const char *)map.data, map.size, &how, &text, err));
    GEODEC_TRY(geodec_prompts_make(t, &text, &cut, &b->prompts, err));
done:
    geodec_documents_free(&text);
    geodec_file_map_close(&map);
    return st;
}

static geodec_status set_up(bench *b, const options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (o->threads > 1) GEODEC_TRY(geodec_pool_create(o->threads, &b->pool, err));
    GEODEC_TRY(geodec_model_open(o->model, &b->model, err));
    GEODEC_TRY(read_prompts(b, o, err));
    GEODEC_TRY(geodec_drafting_open(b->model, o->dir, o->name, o->n, &b->drafting, err));
    const int64_t longest = geodec_prompts_longest(&b->prompts);
    const geodec_session_options so = {
        .n_ctx = (int32_t)(longest + o->tokens), .max_batch = BATCH, .arithmetic = o->arithmetic, .pool = b->pool};
    GEODEC_TRY(geodec_session_create(b->model, &so, &b->session, err));
    GEODEC_TRY(geodec_drafting_sessions(b->drafting, &so, NULL, err));
    b->target = geodec_target_session(b->session, BATCH);
    b->decode = geodec_decode_options_default();
    b->decode.max_tokens = o->tokens;
    b->decode.gamma = GAMMA;
    b->decode.adaptive = true;
    b->decode.clock = o->threads > 1 ? geodec_clock_seconds : geodec_clock_thread_seconds;
    b->decode.sampling.temperature = o->temperature;
    if (!o->prices) b->target.price = NULL;
    b->decode.stop = b->stop;
    b->decode.n_stop = geodec_drafting_stop_tokens(geodec_model_tokenizer(b->model), b->stop);
    GEODEC_NEW(b->time, o->n * b->prompts.n * o->rounds);
done:
    return st;
}

/* Time of one prompt with one drafter, NULL = plain. want: the expected tokens, filled if empty. */
static geodec_status one(bench *b, int k, int64_t prompt, geodec_drafter *drafter, geodec_decoded *want,
                         double *seconds, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_decoded got = {0};
    const int32_t *ids = b->prompts.token + b->prompts.offset[prompt];
    b->decode.memory = drafter ? &b->memory[k] : NULL;
    geodec_resident_price_follow(b->session); /* forgets the run before, which had the same text */
    GEODEC_TRY(geodec_decode(&b->target, ids, b->prompts.offset[prompt + 1] - b->prompts.offset[prompt], drafter,
                             &b->decode, &got, err));
    *seconds = got.counters.total_seconds - got.counters.prompt_seconds;
    if (k >= 0) geodec_decode_counters_add(&b->sum[k], &got.counters);
    if (!want->token) {
        *want = got;
        return st;
    }
    if (got.n != want->n || memcmp(got.token, want->token, (size_t)got.n * sizeof *got.token) != 0)
        GEODEC_THROW(GEODEC_CHECK, "prompt %lld: the output differs from plain decoding", (long long)prompt);
done:
    geodec_decode_free(&got);
    return st;
}

static geodec_status one_round(bench *b, const options *o, int64_t round, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_drafter *drafter[DRAFTERS] = {0};
    geodec_decoded plain = {0};
    const int64_t n = b->prompts.n;
    memset(b->memory, 0, sizeof b->memory);
    GEODEC_TRY(geodec_cost_measure(&b->target, (int32_t)o->length, GAMMA + 1, COST_REPEATS, b->decode.clock,
                                   &b->decode.cost, err));
    for (int k = 0; k < o->n; k++) GEODEC_TRY(geodec_drafting_create(b->drafting, o->name[k], &drafter[k], err));
    for (int64_t p = 0; p < n; p++) {
        double before, during, after;
        GEODEC_TRY(one(b, -1, p, NULL, &plain, &before, err));
        for (int turn = 0; turn < o->n; turn++, before = after) {
            const int k = (int)((turn + p + round) % o->n);
            GEODEC_TRY(one(b, k, p, drafter[k], &plain, &during, err));
            GEODEC_TRY(one(b, -1, p, NULL, &plain, &after, err));
            b->time[(k * n + p) * o->rounds + round] = during / (0.5 * (before + after));
        }
        geodec_decode_free(&plain);
    }
done:
    geodec_decode_free(&plain);
    for (int k = 0; k < o->n; k++) geodec_drafter_destroy(drafter[k]);
    return st;
}

/* Speed of each drafter over plain decoding, from these rounds: mean over prompts of the median. Returns the best
 * drafter except auto. */
static geodec_status speeds(const bench *b, const options *o, const int64_t *round, double *work, double *speed,
                            int *best, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *best = 0;
    for (int k = 0; k < o->n; k++) {
        double sum = 0;
        for (int64_t p = 0; p < b->prompts.n; p++) {
            double median;
            for (int64_t r = 0; r < o->rounds; r++) work[r] = b->time[(k * b->prompts.n + p) * o->rounds + round[r]];
            GEODEC_TRY(geodec_stats_median(o->rounds, work, &median, err));
            sum += median;
        }
        speed[k] = (double)b->prompts.n / sum;
        if (k + 1 < o->n && speed[k] > speed[*best]) *best = k;
    }
done:
    return st;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static geodec_status print(const bench *b, const options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *model = file_name(o->model), *text = file_name(o->text);
    double *work = NULL, ratio[RESAMPLES], speed[DRAFTERS], again[DRAFTERS];
    int64_t *round = NULL;
    int best, other;
    GEODEC_NEW(work, o->rounds);
    GEODEC_NEW(round, o->rounds);
    for (int64_t r = 0; r < o->rounds; r++) round[r] = r;
    GEODEC_TRY(speeds(b, o, round, work, speed, &best, err));
    for (int i = 0; i < RESAMPLES; i++) {
        geodec_stats_resample(1, geodec_rng_id("bench-auto", 0), (uint64_t)i, o->rounds, round);
        GEODEC_TRY(speeds(b, o, round, work, again, &other, err));
        ratio[i] = again[o->n - 1] / again[best];
    }
    geodec_stats_sort(RESAMPLES, ratio);
    for (int k = 0; k < o->n; k++) {
        const geodec_decode_counters *c = &b->sum[k];
        const double seconds = c->total_seconds - c->prompt_seconds;
        (void)printf("%s\t%s\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\n", model, text, o->name[k], speed[k],
                     (double)c->decided / (double)c->target_passes, (double)c->asks / (double)c->rounds,
                     c->draft_seconds / seconds, 1 - (c->draft_seconds + c->verify_seconds) / seconds);
    }
    (void)printf("%s\t%s\tratio\t%.3f\t%.3f\t%.3f\t%s\t\n", model, text, speed[o->n - 1] / speed[best],
                 geodec_stats_percentile(RESAMPLES, ratio, 0.025), geodec_stats_percentile(RESAMPLES, ratio, 0.975),
                 o->name[best]);
done:
    geodec_mem_free(work);
    geodec_mem_free(round);
    return st;
}

int main(int argc, char **argv)
{
    geodec_status st = GEODEC_OK;
    geodec_err err = {0};
    options o;
    bench b = {0};
    if (!read_options(argc, argv, &o)) {
        (void)fprintf(stderr,
                      "usage: bench-auto MODEL.gguf DIR TEXT [--rounds N] [--prompts N] [--prompt-tokens N] "
                      "[--tokens N] [--arithmetic exact|fast] [--drafters LIST] [--threads N] [--temperature T] "
                      "[--prices on|off]\n");
        return 2;
    }
    st = set_up(&b, &o, &err);
    for (int64_t r = 0; st == GEODEC_OK && r < o.rounds; r++) st = one_round(&b, &o, r, &err);
    if (st == GEODEC_OK) st = print(&b, &o, &err);
    if (st != GEODEC_OK) {
        char line[GEODEC_ERR_TEXT];
        (void)fprintf(stderr, "bench-auto: %s\n", geodec_err_line(&err, line, sizeof line));
    }
    geodec_mem_free(b.time);
    geodec_prompts_free(&b.prompts);
    geodec_session_destroy(b.session);
    geodec_drafting_close(b.drafting);
    geodec_model_close(b.model);
    geodec_pool_destroy(b.pool);
    return st == GEODEC_OK ? 0 : st == GEODEC_CHECK ? 4 : 1;
}
