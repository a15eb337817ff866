/* One small model of every architecture (golden/arch of the shared folder): drafts in chains and in trees, greedy and
 * sampled, give the tokens of plain decoding; and so do the experts of a mixture that are read on demand, with the
 * smallest budget, whatever is foretold. */
#include "base/mem.h"
#include "decode/loop.h"
#include "drafters/ngram_drafter.h"
#include "session/model.h"
#include "session/streamed.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

enum { PROMPT = 12, TOKENS = 28, TEXT = PROMPT + TOKENS, CTX = 64, PATH_BYTES = 4096 };
enum { LEAST_FILES = 98, LEAST_MIXTURES = 35 /* that opened when this was written */ };

/* Greedy and sampled; plain, in chains, in trees. */
enum { SAMPLED = 2, DRAFTS = 3 };
static const char *const drafted[DRAFTS] = {"plain", "chains", "trees"};

typedef struct counts {
    int64_t texts, wrong, accepted, rejected, missed;
} counts;

typedef struct text {
    int32_t token[TEXT];
} text;

static geodec_sampling sampling_of(int sampled)
{
    return sampled ? (geodec_sampling){.temperature = 0.7, .top_p = 1, .seed = 5} : geodec_sampler_default();
}

static geodec_session *open_session(const geodec_model *m)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    test_ok(geodec_session_create(m, &(geodec_session_options){.n_ctx = CTX, .max_batch = 16}, &s, &err), &err);
    return s;
}

/* A pass a token, without the loop of decoding. */
static text plain_text(const geodec_model *m, int sampled)
{
    geodec_err err = {0};
    geodec_sampler *sampler = NULL;
    geodec_session *s = open_session(m);
    const int32_t v = geodec_model_size_of(m).n_vocab;
    const geodec_sampling o = sampling_of(sampled);
    float *row = geodec_mem_new(v, sizeof *row);
    text t;
    test_ok(geodec_sampler_create(&o, v, &sampler, &err), &err);
    for (int i = 0; i < PROMPT; i++) t.token[i] = (i * 37 + 11) % v;
    for (int i = 0; i + 1 < TEXT; i++) {
        test_ok(geodec_forward(s, &(geodec_batch){.n = 1, .token = t.token + i}, row, NULL, &err), &err);
        if (i + 1 >= PROMPT) test_ok(geodec_sampler_next(sampler, i + 1 - PROMPT, row, t.token + i + 1, &err), &err);
    }
    geodec_sampler_destroy(sampler);
    geodec_session_destroy(s);
    geodec_mem_free(row);
    return t;
}

/* Remembers the text twice, each time with other tokens wrong: chains are accepted in part, trees have siblings. */
static geodec_ngram *memory_of(const text *t, int32_t v)
{
    geodec_err err = {0};
    geodec_ngram *out = NULL;
    int32_t token[2 * TEXT], sequence[2 * TEXT], argmax[2 * TEXT];
    for (int i = 0; i < 2 * TEXT; i++) {
        const int at = i % TEXT;
        token[i] = t->token[at];
        sequence[i] = i / TEXT;
        argmax[i] = -1;
        if (at > PROMPT && at % 7 == (i < TEXT ? 2 : 5)) token[i] = (token[i] + 1) % v;
    }
    test_ok(geodec_ngram_create(token, sequence, argmax, 2 * TEXT, 4, &out, &err), &err);
    return out;
}

/* The loop of decoding gives the text. */
static void check_text(const geodec_model *m, const text *want, int sampled, int how, const char *what, counts *k)
{
    geodec_err err = {0};
    geodec_decoded got;
    geodec_session *s = open_session(m);
    geodec_drafter *d = NULL;
    geodec_ngram *memory = memory_of(want, geodec_model_size_of(m).n_vocab);
    const geodec_target target = geodec_target_session(s, 16);
    geodec_decode_options o = geodec_decode_options_default();
    o.sampling = sampling_of(sampled);
    o.max_tokens = TOKENS;
    o.gamma = 5;
    o.budget = how == 2 ? 9 : 0;
    test_ok(geodec_ngram_drafter_create(memory, 4, &d, &err), &err);
    test_ok(geodec_decode(&target, want->token, PROMPT, how ? d : NULL, &o, &got, &err), &err);
    const bool same = got.n == TOKENS && memcmp(got.token, want->token + PROMPT, sizeof *got.token * TOKENS) == 0;
    cr_expect(same, "%s: another text, %s, %s", what, sampled ? "sampled" : "greedy", drafted[how]);
    k->texts++;
    k->wrong += !same;
    k->accepted += got.counters.total.accepted;
    k->rejected += got.counters.total.rejected;
    geodec_decode_free(&got);
    geodec_drafter_destroy(d);
    geodec_ngram_destroy(memory);
    geodec_session_destroy(s);
}

static void keep_plan(void *ctx, const geodec_streamed_plan *plan) { *(geodec_streamed_plan *)ctx = *plan; }

static geodec_streamed_plan plan_of(const char *path)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    geodec_streamed_plan plan = {0};
    const geodec_streaming o = {.ram = 1, .planned = keep_plan, .planned_ctx = &plan};
    test_ok(geodec_model_open(path, &m, &err), &err);
    test_ok(geodec_streamed_begin(m, &o, &err), &err);
    cr_assert_eq(geodec_session_create(m, &(geodec_session_options){.n_ctx = CTX, .max_batch = 16}, &s, &err),
                 GEODEC_LIMIT);
    geodec_err_clear(&err);
    geodec_model_close(m);
    return plan;
}

static void check_streamed(const char *path, const text want[SAMPLED], geodec_lookahead ahead, counts *k)
{
    const geodec_streamed_plan plan = plan_of(path);
    char what[200];
    (void)snprintf(what, sizeof what, "%s, %d of %lld experts in memory, %s", strrchr(path, '/') + 1, plan.least,
                   (long long)plan.experts, geodec_streamed_lookahead_name(ahead));
    for (int sampled = 0; sampled < SAMPLED; sampled++)
        for (int how = 0; how < DRAFTS; how++) {
            geodec_err err = {0};
            geodec_model *m = NULL;
            geodec_stream_counters c;
            const geodec_streaming o = {
                .ram = plan.smallest, .lookahead = ahead, .prefetch_least = 0.2F, .prefetch_most = 2};
            test_ok(geodec_model_open(path, &m, &err), &err);
            test_ok(geodec_streamed_begin(m, &o, &err), &err);
            check_text(m, &want[sampled], sampled, how, what, k);
            cr_assert(geodec_streamed_counted(m, &c));
            k->missed += c.slots.missed + c.slots.late + c.slots.in_time;
            geodec_model_close(m);
        }
}

typedef struct whole {
    int models, mixtures, apart; /* of the models, those whose sampled text is another than the greedy one */
    counts resident, streamed;
} whole;

static void check_file(const char *path, whole *all)
{
    const char *name = strrchr(path, '/') + 1;
    geodec_err err = {0};
    geodec_model *m = NULL;
    text want[SAMPLED];
    counts resident = {0}, streamed = {0};
    if (geodec_model_open(path, &m, &err) != GEODEC_OK) {
        (void)fprintf(stderr, "%s does not open: %.200s\n", name, err.frame[0].text);
        geodec_err_clear(&err);
        return;
    }
    const bool mixture = geodec_model_size_of(m).n_expert > 0;
    for (int sampled = 0; sampled < SAMPLED; sampled++) {
        want[sampled] = plain_text(m, sampled);
        for (int how = 0; how < DRAFTS; how++) check_text(m, &want[sampled], sampled, how, name, &resident);
    }
    geodec_model_close(m);
    cr_expect(resident.accepted > 0 && resident.rejected > 0, "%s: drafts of one kind alone", name);
    if (mixture) {
        check_streamed(path, want, GEODEC_LOOKAHEAD_NONE, &streamed);
        check_streamed(path, want, GEODEC_LOOKAHEAD_ROUTER2, &streamed);
        cr_expect_gt(streamed.missed, 0, "%s: nothing was read", name);
    }
    (void)fprintf(stderr, "row\ttexts\t%s\t%lld\t%lld\nrow\tstreamed\t%s\t%lld\t%lld\n", name,
                  (long long)resident.texts, (long long)resident.wrong, name, (long long)streamed.texts,
                  (long long)streamed.wrong);
    all->models++;
    all->mixtures += mixture;
    all->apart += memcmp(&want[0], &want[1], sizeof *want) != 0;
    all->resident.texts += resident.texts;
    all->streamed.texts += streamed.texts;
}

Test(architectures, drafts_and_streamed_experts_give_the_plain_text, .timeout = 600)
{
    char pattern[PATH_BYTES];
    glob_t found = {0};
    whole all = {0};
    (void)snprintf(pattern, sizeof pattern, "%s/*.gguf", test_shared("golden/arch"));
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "no models");
    for (size_t i = 0; i < found.gl_pathc; i++) check_file(found.gl_pathv[i], &all);
    globfree(&found);
    (void)fprintf(stderr, "%d models with %lld texts, %d mixtures with %lld streamed texts\n", all.models,
                  (long long)all.resident.texts, all.mixtures, (long long)all.streamed.texts);
    cr_assert_gt(all.apart, all.models / 2);
    cr_assert(all.models >= LEAST_FILES && all.mixtures >= LEAST_MIXTURES, "%d, %d", all.models, all.mixtures);
}
