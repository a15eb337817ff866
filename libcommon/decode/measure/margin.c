#include "measure/margin.h"

#include "base/mem.h"
#include "base/rng.h"
#include "measure/bench_internal.h"
#include "measure/faults.h"
#include "session/model.h"

#include <math.h>
#include <string.h>

const double geodec_margin_all[GEODEC_MARGINS] = {0, 0.5, 1, 2, 2.8};

geodec_status geodec_margin_decode(const geodec_target *target, double margin, const int32_t *prompt, int64_t n,
                                   geodec_drafter *drafter, const geodec_decode_options *options, geodec_decoded *out,
                                   geodec_err *err)
{
    geodec_faulty rule;
    geodec_target t;
    if (!(margin >= 0)) GEODEC_FAIL(GEODEC_INVAL, "a margin of %g", margin);
    if (options->budget != 0 || options->sampling.temperature > 0)
        GEODEC_FAIL(GEODEC_INVAL, "the margin rule is for greedy chains");
    geodec_faults_target(&rule, target, GEODEC_FAULT_MARGIN, margin, &t);
    GEODEC_PASS(geodec_decode(&t, prompt, n, drafter, options, out, err));
    return GEODEC_OK;
}

/* -sum log p of the decided tokens under the model, and the number of them that are not its argmax. */
static geodec_status judge(const geodec_target *t, const int32_t *prompt, int64_t n, const geodec_decoded *got,
                           float *logits, double *nll, int64_t *departed, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *text = NULL;
    const int64_t decided = got->n + (got->end == GEODEC_END_STOP), rows = n + decided - 1;
    *nll = 0;
    if (decided == 0) goto done;
    GEODEC_NEW(text, n + decided);
    memcpy(text, prompt, (size_t)n * sizeof *text);
    if (got->n > 0) memcpy(text + n, got->token, (size_t)got->n * sizeof *text);
    if (decided > got->n) text[n + got->n] = got->stop;
    t->truncate(t->self, 0);
    for (int64_t at = 0; at < rows; at += t->max_batch) {
        const int32_t chunk = (int32_t)(rows - at < t->max_batch ? rows - at : t->max_batch);
        GEODEC_TRY(t->forward(t->self, text + at, NULL, chunk, logits, NULL, err));
        for (int32_t i = 0; i < chunk; i++) {
            const float *row = logits + (int64_t)i * t->n_vocab;
            const int32_t next = text[at + i + 1], top = geodec_argmax(row, t->n_vocab);
            double total = 0;
            if (at + i + 1 < n) continue; /* the prompt's */
            for (int32_t v = 0; v < t->n_vocab; v++) total += exp((double)row[v] - (double)row[top]);
            *nll += log(total) - ((double)row[next] - (double)row[top]);
            *departed += next != top;
        }
    }
done:
    geodec_mem_free(text);
    return st;
}

geodec_status geodec_margin_count(const geodec_bench_plan *plan, const geodec_target *target, geodec_margin_row *out,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bench_drafters drafters = {{NULL}};
    geodec_decoded plain = {0}, got = {0};
    float *logits = NULL;
    double *nll = NULL, *count = NULL; /* [drafters][margins][prompts] */
    GEODEC_TRY(geodec__bench_check(plan, err));
    const int64_t n = plan->prompts->n, cells = (int64_t)plan->n_drafters * GEODEC_MARGINS;
    for (int32_t d = 0; d < plan->n_drafters; d++)
        if (geodec_bench_knows(&plan->drafter[d]))
            GEODEC_THROW(GEODEC_INVAL, "drafter %s only replays the plain text", plan->drafter[d].name);
    memset(out, 0, (size_t)cells * sizeof *out);
    GEODEC_NEW(logits, (int64_t)target->max_batch * target->n_vocab);
    GEODEC_NEW_EACH(cells * n, nll, count);
    GEODEC_TRY(geodec__bench_drafters_open(plan, &drafters, err));
    for (int64_t i = 0; i < n; i++) {
        const int32_t *ids = plan->prompts->token + plan->prompts->offset[i];
        const int64_t length = plan->prompts->offset[i + 1] - plan->prompts->offset[i];
        GEODEC_TRY(geodec_hooks_progress(plan->hooks, "margins", i, n, err));
        geodec_decode_free(&plain);
        geodec_decode_options o = geodec__bench_options(plan, false, i, 0, 0);
        GEODEC_TRY(geodec_decode(target, ids, length, NULL, &o, &plain, err));
        o.gamma = plan->gamma[plan->n_gammas - 1];
        for (int64_t c = 0; c < cells; c++) {
            geodec_margin_row *row = &out[c];
            GEODEC_TRY(geodec_margin_decode(target, geodec_margin_all[c % GEODEC_MARGINS], ids, length,
                                            drafters.d[c / GEODEC_MARGINS], &o, &got, err));
            const int64_t different = geodec__bench_differences(&got, &plain, NULL);
            if (c % GEODEC_MARGINS == 0 && (different > 0 || got.end != plain.end))
                GEODEC_THROW(GEODEC_INTERNAL, "drafter %s: a margin of 0 is not greedy decoding",
                             plan->drafter[c / GEODEC_MARGINS].name);
            row->written += got.n;
            row->decided += got.counters.decided;
            row->passes += got.counters.target_passes;
            row->different += different;
            GEODEC_TRY(judge(target, ids, length, &got, logits, &nll[c * n + i], &row->departed, err));
            count[c * n + i] = (double)got.counters.decided;
            geodec_decode_free(&got);
        }
    }
    for (int64_t c = 0; c < cells; c++) {
        geodec_estimate e;
        GEODEC_TRY(geodec_stats_ratio(n, nll + c * n, count + c * n, plan->resamples, plan->seed,
                                      geodec_rng_id("margin", 0), &e, err));
        out[c].perplexity = (geodec_estimate){exp(e.value), exp(e.low), exp(e.high)};
    }
done:
    geodec_decode_free(&plain);
    geodec_decode_free(&got);
    geodec__bench_drafters_close(&drafters);
    GEODEC_FREE(logits, nll, count);
    return st;
}
