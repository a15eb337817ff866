#include "measure/bench.h"

#include "io/tsv.h"

#include <math.h>

static void interval(geodec_tsv *t, geodec_interval v)
{
    geodec_tsv_f64(t, v.value);
    geodec_tsv_f64(t, v.low);
    geodec_tsv_f64(t, v.high);
}

static void timings(geodec_tsv *t, const geodec_bench_timing_row *s)
{
    static const geodec_interval none = {NAN, NAN, NAN};
    interval(t, s ? s->speedup : none);
    geodec_tsv_f64(t, s ? s->predicted : (double)NAN);
    geodec_tsv_f64(t, s ? s->forecast_error : (double)NAN);
    geodec_tsv_f64(t, s ? s->predicted_textbook : (double)NAN);
    geodec_tsv_f64(t, s ? s->tok_per_s : (double)NAN);
    geodec_tsv_f64(t, s ? s->plain_tok_per_s : (double)NAN);
}

static const geodec_bench_timing_row *timing_of(const geodec_bench_timing *s, const geodec_bench_row *r)
{
    if (r->sampled || r->every_position) return NULL;
    for (int64_t i = 0; i < s->n; i++)
        if (!s->row[i].adaptive && s->row[i].drafter == r->drafter && s->row[i].gamma == r->gamma &&
            s->row[i].budget == r->budget)
            return &s->row[i];
    return NULL;
}

geodec_status geodec_bench_table(FILE *out, const geodec_bench_plan *plan, const geodec_bench_counts *c,
                                 const geodec_bench_timing *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_tsv_on(out, &t, err));
    GEODEC_TRY(geodec_tsv_names(
        t,
        "drafter gamma mode setting compared mismatches first_acceptance first_low first_high mean_accepted mean_low "
        "mean_high tokens_per_pass tpp_low tpp_high tokens_closed_form tokens_by_position speedup speedup_low "
        "speedup_high predicted forecast_error predicted_textbook tok_per_s plain_tok_per_s",
        err));
    for (int64_t i = 0; i < c->n; i++) {
        const geodec_bench_row *r = &c->row[i];
        geodec_tsv_str(t, plan->drafter[r->drafter].name);
        geodec_tsv_i64(t, r->budget > 0 ? r->budget : r->gamma);
        geodec_tsv_str(t, r->sampled ? "sampled" : "greedy");
        geodec_tsv_str(t, r->every_position ? r->budget > 0 ? "tree-every-position" : "every-position"
                          : r->budget > 0   ? "tree"
                                            : "loop");
        geodec_tsv_i64(t, r->compared);
        geodec_tsv_i64(t, r->mismatches);
        interval(t, r->acceptance[0]);
        interval(t, r->mean_accepted);
        interval(t, r->tokens_per_pass);
        geodec_tsv_f64(t, r->tokens_closed_form);
        geodec_tsv_f64(t, r->tokens_by_position);
        timings(t, timing_of(s, r));
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    for (int64_t i = 0; i < s->n; i++) {
        const geodec_bench_timing_row *r = &s->row[i];
        if (!r->adaptive) continue;
        geodec_tsv_str(t, plan->drafter[r->drafter].name);
        geodec_tsv_str(t, "auto");
        geodec_tsv_str(t, "greedy");
        geodec_tsv_str(t, r->budget > 0 ? "tree" : "loop");
        geodec_tsv_i64(t, 0);
        geodec_tsv_i64(t, 0);
        for (int k = 0; k < 6; k++) geodec_tsv_f64(t, (double)NAN);
        geodec_tsv_f64(t, r->tokens_per_pass);
        for (int k = 0; k < 4; k++) geodec_tsv_f64(t, (double)NAN);
        timings(t, r);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}
