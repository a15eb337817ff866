/* The lists of a plan. */
#include "measure/bench.h"
#include "support/support.h"

#include <criterion/criterion.h>

static geodec_err err;

static geodec_status lists(geodec_bench_plan *plan, const char *drafters, const char *gammas, const char *trees,
                           const char *modes)
{
    static geodec_bench_request requests[GEODEC_BENCH_DRAFTERS];
    *plan = (geodec_bench_plan){0};
    return geodec_bench_lists(plan, requests, drafters, gammas, trees, modes, &err);
}

Test(bench_lists, a_plan_is_read)
{
    static geodec_bench_plan p;
    test_ok(lists(&p, "none,ngram,oracle:0.25,oracle", "1,4,16", "2,64", "sampled"), &err);
    cr_assert_eq(p.n_drafters, 3, "plain decoding is no drafter");
    cr_assert_str_eq(p.drafter[0].name, "ngram");
    cr_assert(p.drafter[0].create && !p.drafter[1].create && !p.drafter[2].create);
    cr_assert(p.drafter[1].alpha == 0.25 && p.drafter[2].alpha == 1);
    cr_assert(p.n_gammas == 3 && p.gamma[0] == 1 && p.gamma[1] == 4 && p.gamma[2] == 16);
    cr_assert(p.n_budgets == 2 && p.budget[0] == 2 && p.budget[1] == 64);
    cr_assert(p.sampled && !p.greedy);
}

Test(bench_lists, what_is_not_of_a_list_is_refused)
{
    static geodec_bench_plan p;
    const char *const refused[][4] = {{"nosuch", "1", NULL, "greedy"},     {"oracle:0", "1", NULL, "greedy"},
                                      {"oracle:1.5", "1", NULL, "greedy"}, {"ngram,", "1", NULL, "greedy"},
                                      {"ngram", "0", NULL, "greedy"},      {"ngram", "17", NULL, "greedy"},
                                      {"ngram", "4,4", NULL, "greedy"},    {"ngram", "1", "65", "greedy"},
                                      {"ngram", "1", "8,2", "greedy"},     {"ngram", "1", NULL, "both"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        cr_assert_eq(lists(&p, refused[i][0], refused[i][1], refused[i][2], refused[i][3]), GEODEC_INVAL, "%zu", i);
        geodec_err_clear(&err);
    }
}
