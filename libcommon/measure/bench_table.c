#include "measure/bench.h"

#include "io/tsv.h"

#include <math.h>

static void timings(geodec_tsv *t, const geodec_bench_timing_row *s)
{
    static const geodec_bench_timing_row none = {.speedup = {NAN, NAN, NAN},
                                                 .predicted = NAN,
                                                 .forecast_error = NAN,
                                                 .predicted_textbook = NAN,
                                                 .tok_per_s = NAN,
                                                 .plain_tok_per_s = NAN};
    if (!s) s = &none;
    geodec_tsv_f64s(t, 3, &s->speedup.value);
    geodec_tsv_f64(t, s->predicted);
    geodec_tsv_f64(t, s->forecast_error);
    geodec_tsv_f64(t, s->predicted_textbook);
    geodec_tsv_f64(t, s->tok_per_s);
    geodec_tsv_f64(t, s->plain_tok_per_s);
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
        geodec_tsv_f64s(t, 3, &r->acceptance[0].value);
        geodec_tsv_f64s(t, 3, &r->mean_accepted.value);
        geodec_tsv_f64s(t, 3, &r->tokens_per_pass.value);
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
