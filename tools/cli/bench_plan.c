#include "cli/bench_plan.h"

#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct lists {
    geodec_bench_plan *plan;
    bench_request *requests;
} lists;

/* Calls take(ctx, word) for every word of a list separated by commas. */
static geodec_status each(const char *what, const char *list,
                          geodec_status (*take)(lists *, const char *, geodec_err *), lists *l, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char word[32];
    for (const char *at = list; at;) {
        const char *end = strchr(at, ',');
        const size_t n = end ? (size_t)(end - at) : strlen(at);
        if (n == 0 || n >= sizeof word) GEODEC_THROW(GEODEC_INVAL, "--%s %s: an empty or overlong word", what, list);
        memcpy(word, at, n);
        word[n] = '\0';
        GEODEC_TRY_MSG(take(l, word, err), "--%s", what);
        at = end ? end + 1 : NULL;
    }
done:
    return st;
}

static geodec_status create(void *ctx, geodec_drafter **out, geodec_err *err)
{
    const bench_request *r = ctx;
    return geodec_drafting_create(r->drafting, r->name, out, err);
}

static geodec_status take_drafter(lists *l, const char *word, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (strcmp(word, "none") == 0) goto done; /* plain decoding is measured in any case */
    bool oracle = strcmp(word, "oracle") == 0;
    double alpha = 1;
    if (strncmp(word, "oracle:", 7) == 0) {
        char *end;
        alpha = strtod(word + 7, &end);
        if (end == word + 7 || *end != '\0' || !(alpha > 0 && alpha <= 1))
            GEODEC_THROW(GEODEC_INVAL, "'%s': the share of right drafts lies above 0 and up to 1", word);
        oracle = true;
    }
    if (!oracle && !geodec_drafting_knows(word)) GEODEC_THROW(GEODEC_INVAL, "unknown drafter '%s'", word);
    if (l->plan->n_drafters == GEODEC_BENCH_DRAFTERS)
        GEODEC_THROW(GEODEC_INVAL, "more than %d drafters", GEODEC_BENCH_DRAFTERS);
    const int32_t i = l->plan->n_drafters++;
    (void)snprintf(l->requests[i].name, sizeof l->requests[i].name, "%s", word);
    l->plan->drafter[i] = (geodec_bench_drafter){l->requests[i].name, oracle ? NULL : create, &l->requests[i], alpha};
done:
    return st;
}

static geodec_status take_gamma(lists *l, const char *word, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *end;
    const long v = strtol(word, &end, 10);
    if (*end != '\0' || v < 1 || v > GEODEC_BENCH_GAMMA || l->plan->n_gammas == GEODEC_BENCH_GAMMAS)
        GEODEC_THROW(GEODEC_INVAL, "'%s' is no draft length of 1 to %d", word, GEODEC_BENCH_GAMMA);
    if (l->plan->n_gammas > 0 && v <= l->plan->gamma[l->plan->n_gammas - 1])
        GEODEC_THROW(GEODEC_INVAL, "draft lengths must rise: %s", word);
    l->plan->gamma[l->plan->n_gammas++] = (int32_t)v;
done:
    return st;
}

static geodec_status take_budget(lists *l, const char *word, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *end;
    const long v = strtol(word, &end, 10);
    if (*end != '\0' || v < 1 || v > GEODEC_DRAFT_MAX || l->plan->n_budgets == GEODEC_BENCH_GAMMAS)
        GEODEC_THROW(GEODEC_INVAL, "'%s' is no tree of 1 to %d drafts", word, GEODEC_DRAFT_MAX);
    if (l->plan->n_budgets > 0 && v <= l->plan->budget[l->plan->n_budgets - 1])
        GEODEC_THROW(GEODEC_INVAL, "sizes of trees must rise: %s", word);
    l->plan->budget[l->plan->n_budgets++] = (int32_t)v;
done:
    return st;
}

static geodec_status take_mode(lists *l, const char *word, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (strcmp(word, "greedy") == 0)
        l->plan->greedy = true;
    else if (strcmp(word, "sampled") == 0)
        l->plan->sampled = true;
    else
        GEODEC_THROW(GEODEC_INVAL, "unknown mode '%s'", word);
done:
    return st;
}

geodec_status bench_plan_lists(geodec_bench_plan *plan, bench_request requests[GEODEC_BENCH_DRAFTERS],
                               const char *drafters, const char *gammas, const char *trees, const char *modes,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    lists l = {plan, requests};
    memset(requests, 0, GEODEC_BENCH_DRAFTERS * sizeof *requests);
    GEODEC_TRY(each("drafters", drafters, take_drafter, &l, err));
    GEODEC_TRY(each("gammas", gammas, take_gamma, &l, err));
    if (trees) GEODEC_TRY(each("trees", trees, take_budget, &l, err));
    GEODEC_TRY(each("modes", modes, take_mode, &l, err));
done:
    return st;
}

geodec_status bench_prompts(const cli *c, const geodec_model *m, const char *path, const char *separator, bool lines,
                            int64_t count, int64_t length, int64_t max_tokens, geodec_prompts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    text_file file = {.run = NULL};
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    const int64_t left = geodec_model_configuration(m)->n_ctx - max_tokens;
    geodec_prompts_options o = {
        .count = count, .length = length, .most = left > length ? left : length, .whole = lines};
    if (geodec_chat_template_of(geodec_model_gguf(m), &o.chat, NULL) != GEODEC_OK) o.chat = NULL;
    GEODEC_TRY(text_open(path, lines ? "line" : separator, t, false, &file, err));
    GEODEC_TRY_MSG(geodec_prompts_make(t, &file.documents, &o, out, err), "%s", path);
    cli_say(c, "%s: %lld documents by the rule '%s' (%s)", path, (long long)file.documents.n,
            geodec_documents_separator_name(file.documents.rule), file.documents.why);
    if (out->n < count)
        cli_say(c, "%lld prompts in place of %lld: the text has no more%s", (long long)out->n, (long long)count,
                out->too_long ? " that leave room for the reply" : "");
    if (!lines && file.documents.rule != GEODEC_SEPARATOR_JSONL && geodec_prompts_longest(out) < length)
        cli_say(c, "prompts of %lld tokens in place of %lld: the text is short", (long long)geodec_prompts_longest(out),
                (long long)length);
done:
    text_close(&file);
    return st;
}
