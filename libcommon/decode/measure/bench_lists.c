#include "base/numbers.h"
#include "drafters/drafting.h"
#include "measure/bench.h"

#include <stdlib.h>
#include <string.h>

typedef struct lists {
    geodec_bench_plan *plan;
    geodec_bench_request *requests;
} lists;

/* Calls take(ctx, word) for every word of a comma-separated list. */
static geodec_status each(const char *what, const char *list,
                          geodec_status (*take)(lists *, const char *, geodec_err *), lists *l, geodec_err *err)
{
    char word[32];
    for (const char *at = list; at;) {
        const char *end = strchr(at, ',');
        const size_t n = end ? (size_t)(end - at) : strlen(at);
        if (n == 0 || n >= sizeof word) GEODEC_FAIL(GEODEC_INVAL, "--%s %s: an empty or overlong word", what, list);
        memcpy(word, at, n);
        word[n] = '\0';
        GEODEC_PASS_MSG(take(l, word, err), "--%s", what);
        at = end ? end + 1 : NULL;
    }
    return GEODEC_OK;
}

static geodec_status create(void *ctx, geodec_drafter **out, geodec_err *err)
{
    const geodec_bench_request *r = ctx;
    return geodec_drafting_create(r->drafting, r->drafter, out, err);
}

static geodec_status take_drafter(lists *l, const char *word, geodec_err *err)
{
    if (strcmp(word, "none") == 0) return GEODEC_OK; /* plain decoding is always measured */
    static const char knowing[] = "oracle+";
    const bool known = strncmp(word, knowing, sizeof knowing - 1) == 0;
    bool oracle = strcmp(word, "oracle") == 0;
    double alpha = 1;
    if (strncmp(word, "oracle:", 7) == 0) {
        char *end;
        alpha = strtod(word + 7, &end);
        if (end == word + 7 || *end != '\0' || !(alpha > 0 && alpha <= 1))
            GEODEC_FAIL(GEODEC_INVAL, "'%s': the share of right drafts must be above 0 and at most 1", word);
        oracle = true;
    }
    const char *drafter = known ? word + sizeof knowing - 1 : word;
    if (!oracle && !geodec_drafting_knows(drafter)) GEODEC_FAIL(GEODEC_INVAL, "unknown drafter '%s'", drafter);
    if (l->plan->n_drafters == GEODEC_BENCH_DRAFTERS)
        GEODEC_FAIL(GEODEC_INVAL, "more than %d drafters", GEODEC_BENCH_DRAFTERS);
    const int32_t i = l->plan->n_drafters++;
    geodec_bench_request *r = &l->requests[i];
    (void)snprintf(r->name, sizeof r->name, "%s", word);
    r->drafter = r->name + (drafter - word);
    l->plan->drafter[i] = (geodec_bench_drafter){r->name, oracle ? NULL : create, r, alpha, known};
    return GEODEC_OK;
}

/* Parses rising integers from 1 to most. */
static geodec_status numbers(const char *option, const char *list, int32_t most, int32_t *n, int32_t *out,
                             geodec_err *err)
{
    double v[GEODEC_BENCH_GAMMAS];
    int64_t count;
    GEODEC_PASS(geodec_numbers_parse(list, option, 1, most, GEODEC_BENCH_GAMMAS, v, &count, err));
    for (int64_t i = 0; i < count; i++) {
        out[i] = (int32_t)v[i];
        if (out[i] != v[i] || (i > 0 && v[i] <= v[i - 1]))
            GEODEC_FAIL(GEODEC_INVAL, "%s: '%.80s' are not whole numbers that rise", option, list);
    }
    *n = (int32_t)count;
    return GEODEC_OK;
}

static geodec_status take_mode(lists *l, const char *word, geodec_err *err)
{
    if (strcmp(word, "greedy") == 0)
        l->plan->greedy = true;
    else if (strcmp(word, "sampled") == 0)
        l->plan->sampled = true;
    else
        GEODEC_FAIL(GEODEC_INVAL, "unknown mode '%s'", word);
    return GEODEC_OK;
}

geodec_status geodec_bench_lists(geodec_bench_plan *plan, geodec_bench_request *requests, const char *drafters,
                                 const char *gammas, const char *trees, const char *modes, geodec_err *err)
{
    lists l = {plan, requests};
    memset(requests, 0, GEODEC_BENCH_DRAFTERS * sizeof *requests);
    GEODEC_PASS(each("drafters", drafters, take_drafter, &l, err));
    GEODEC_PASS(numbers("--gammas", gammas, GEODEC_BENCH_GAMMA, &plan->n_gammas, plan->gamma, err));
    if (trees) GEODEC_PASS(numbers("--trees", trees, GEODEC_DRAFT_MAX, &plan->n_budgets, plan->budget, err));
    GEODEC_PASS(each("modes", modes, take_mode, &l, err));
    return GEODEC_OK;
}
