#include "prepare/trial.h"

#include "base/clock.h"
#include "base/mem.h"
#include "decode/loop.h"
#include "decode/sample.h"

#include <string.h>

enum {
    FIRST = 1000000 /* number of the text of the first prompt, which the store does not use */,
    LEAST = 2,
    BATCH = 65,
    REPEATS = 2
};

static const char *const names[GEODEC_TRIAL_DRAFTERS] = {"ngram", "flowmap", "auto"};

const char *geodec_trial_choose(const geodec_trial *t)
{
    const geodec_trial_row *best = NULL;
    for (int i = 0; i < GEODEC_TRIAL_DRAFTERS; i++) {
        const geodec_trial_row *r = &t->row[i];
        if (t->prompts > 0 && r->speedup >= GEODEC_TRIAL_GAIN && 2 * r->faster >= t->prompts &&
            (!best || r->speedup > best->speedup))
            best = r;
    }
    return best ? best->drafter : "none";
}

/* ---- prompts ---------------------------------------------------------------------------------------------------- */

static geodec_status take(void *ctx, int64_t text, const int32_t *token, int32_t n, geodec_err *err)
{
    geodec_prompts *p = ctx;
    (void)text;
    (void)err;
    memcpy(p->token + p->offset[p->n], token, (size_t)n * sizeof *token);
    p->offset[p->n + 1] = p->offset[p->n] + n;
    p->n++;
    return GEODEC_OK;
}

geodec_status geodec_trial_prompts(const geodec_model *m, uint64_t seed, geodec_arithmetic arithmetic,
                                   geodec_pool *pool, geodec_prompts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_prompts p = {0};
    const int32_t n_ctx = geodec_model_configuration(m)->n_ctx;
    const int32_t length = n_ctx / 2 < GEODEC_TRIAL_PROMPT ? n_ctx / 2 : GEODEC_TRIAL_PROMPT;
    const geodec_sample_options o = {.texts = GEODEC_TRIAL_PROMPTS,
                                     .first = FIRST,
                                     .length = length,
                                     .temperature = 1,
                                     .top_p = 1,
                                     .seed = seed,
                                     .arithmetic = arithmetic};
    GEODEC_NEW(p.token, GEODEC_TRIAL_PROMPTS * GEODEC_TRIAL_PROMPT);
    GEODEC_NEW(p.offset, GEODEC_TRIAL_PROMPTS + 1);
    if (geodec_tokenizer_bos(geodec_model_tokenizer(m)) >= 0 && length >= 2)
        GEODEC_TRY(geodec_sample_run(m, &o, take, &p, pool, NULL, err));
    *out = p;
done:
    if (st != GEODEC_OK) geodec_prompts_free(&p);
    return st;
}

/* ---- rounds ----------------------------------------------------------------------------------------------------- */

typedef struct sums {
    int64_t decided, passes;
} sums;

typedef struct rig {
    geodec_session *s;
    geodec_target target;
    geodec_drafting *drafting;
    geodec_drafter *drafter[GEODEC_TRIAL_DRAFTERS];
    geodec_decode_options o;
    int32_t stop[GEODEC_STOP_TOKENS];
} rig;

static geodec_status rig_open(rig *r, const geodec_model *m, const char *dir, const geodec_session_options *how,
                              geodec_err *err)
{
    geodec_session_options o = *how;
    o.max_batch = BATCH;
    GEODEC_PASS(geodec_drafting_open(m, dir, names, GEODEC_TRIAL_DRAFTERS, &r->drafting, err));
    GEODEC_PASS(geodec_session_create(m, &o, &r->s, err));
    o.n_ctx = geodec_session_n_ctx(r->s);
    GEODEC_PASS(geodec_drafting_sessions(r->drafting, &o, NULL, err));
    for (int i = 0; i < GEODEC_TRIAL_DRAFTERS; i++)
        GEODEC_PASS(geodec_drafting_create(r->drafting, names[i], &r->drafter[i], err));
    r->target = geodec_target_session(r->s, BATCH);
    r->o = geodec_decode_options_default();
    r->o.gamma = GEODEC_TRIAL_GAMMA;
    r->o.adaptive = true;
    r->o.stop = r->stop;
    r->o.n_stop = geodec_drafting_stop_tokens(geodec_model_tokenizer(m), r->stop);
    GEODEC_PASS(
        geodec_cost_measure(&r->target, GEODEC_TRIAL_PROMPT, GEODEC_TRIAL_GAMMA + 1, REPEATS, NULL, &r->o.cost, err));
    return GEODEC_OK;
}

static void rig_close(rig *r)
{
    for (int i = 0; i < GEODEC_TRIAL_DRAFTERS; i++) geodec_drafter_destroy(r->drafter[i]);
    geodec_drafting_close(r->drafting);
    geodec_session_destroy(r->s);
}

static double seconds_of(const geodec_decoded *d) { return d->counters.total_seconds - d->counters.prompt_seconds; }

static void keep_least(double *least, bool first, double seconds)
{
    if (first || seconds < *least) *least = seconds;
}

/* Decodes one prompt, plainly and with every drafter. time[0]: plain. */
static geodec_status one(rig *r, const int32_t *prompt, int64_t n, bool first, geodec_trial *t, int64_t *plain,
                         sums drafted[GEODEC_TRIAL_DRAFTERS], double time[GEODEC_TRIAL_DRAFTERS + 1], geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_decoded want = {0}, got = {0};
    const int64_t room = geodec_session_n_ctx(r->s) - n;
    r->o.max_tokens = room < GEODEC_TRIAL_TOKENS ? room : GEODEC_TRIAL_TOKENS;
    GEODEC_TRY(geodec_decode(&r->target, prompt, n, NULL, &r->o, &want, err));
    keep_least(&time[0], first, seconds_of(&want));
    if (first) *plain += want.counters.decided;
    if (first) t->tokens += want.n;
    for (int i = 0; i < GEODEC_TRIAL_DRAFTERS; i++) {
        GEODEC_TRY(geodec_decode(&r->target, prompt, n, r->drafter[i], &r->o, &got, err));
        keep_least(&time[i + 1], first, seconds_of(&got));
        drafted[i].decided += got.counters.decided;
        drafted[i].passes += got.counters.target_passes;
        const int64_t longest = got.n > want.n ? got.n : want.n;
        for (int64_t k = 0; k < longest; k++)
            t->row[i].mismatches += k >= got.n || k >= want.n || got.token[k] != want.token[k];
        if (t->row[i].mismatches)
            GEODEC_THROW(GEODEC_CHECK, "drafter %s: %lld tokens differ from plain decoding", names[i],
                         (long long)t->row[i].mismatches);
        geodec_decode_free(&got);
    }
done:
    geodec_decode_free(&want);
    geodec_decode_free(&got);
    return st;
}

static void sum_up(geodec_trial *t, const double time[][GEODEC_TRIAL_DRAFTERS + 1], int64_t plain,
                   const sums drafted[GEODEC_TRIAL_DRAFTERS])
{
    double all = 0;
    for (int64_t p = 0; p < t->prompts; p++) all += time[p][0];
    if (all > 0) t->tok_per_s = (double)plain / all;
    for (int i = 0; i < GEODEC_TRIAL_DRAFTERS; i++) {
        double its = 0;
        for (int64_t p = 0; p < t->prompts; p++) {
            its += time[p][i + 1];
            t->row[i].faster += time[p][i + 1] < time[p][0];
        }
        if (its > 0) t->row[i].speedup = all / its;
        if (drafted[i].passes > 0) t->row[i].tokens_per_pass = (double)drafted[i].decided / (double)drafted[i].passes;
    }
    t->choice = geodec_trial_choose(t);
}

geodec_status geodec_trial_run(const geodec_model *m, const char *dir, const geodec_session_options *how,
                               const geodec_prompts *prompts, double seconds, const geodec_hooks *hooks,
                               geodec_trial *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    rig r = {0};
    geodec_trial t = {.choice = "none"};
    int64_t plain = 0;
    sums drafted[GEODEC_TRIAL_DRAFTERS] = {{0}};
    double time[GEODEC_TRIAL_PROMPTS][GEODEC_TRIAL_DRAFTERS + 1] = {{0}};
    const int64_t n = prompts->n < GEODEC_TRIAL_PROMPTS ? prompts->n : GEODEC_TRIAL_PROMPTS;
    const double begun = geodec_clock_seconds();
    for (int i = 0; i < GEODEC_TRIAL_DRAFTERS; i++) t.row[i].drafter = names[i];
    GEODEC_TRY(rig_open(&r, m, dir, how, err));
    for (int64_t i = 0; i < n * GEODEC_TRIAL_ROUNDS; i++) {
        const int64_t p = i % n;
        if (i >= LEAST && geodec_clock_seconds() - begun >= seconds) break;
        if (p == 0) t.rounds++;
        GEODEC_TRY(geodec_hooks_progress(hooks, "trying drafters", i, n * GEODEC_TRIAL_ROUNDS, err));
        GEODEC_TRY(one(&r, prompts->token + prompts->offset[p], prompts->offset[p + 1] - prompts->offset[p], i < n, &t,
                       &plain, drafted, time[p], err));
        if (i < n) t.prompts++;
    }
    sum_up(&t, (const double(*)[GEODEC_TRIAL_DRAFTERS + 1]) time, plain, drafted);
    *out = t;
done:
    rig_close(&r);
    return st;
}
