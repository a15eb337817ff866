#include "drafters/rollout_ablation.h"

#include "base/mem.h"
#include "drafters/ngram_drafter.h"
#include "session/embeddings.h"

#include <math.h>

geodec_status geodec_rollout_ablation_readout(void *ctx, int64_t first, int64_t count, float *w, geodec_err *err)
{
    return geodec_model_readout(ctx, first, count, w, err);
}

static int32_t add(geodec_rollout_ablation *l, const char *name, geodec_drafter *d, int32_t base)
{
    l->variant[l->n] = (geodec_ablation_variant){.name = name, .drafter = d, .base = base};
    return l->n++;
}

/* Count tables of the texts of the fit. */
static geodec_status add_tables(geodec_rollout_ablation *l, const geodec_activations *a, const geodec_step_rows *r,
                                const geodec_rollout_ablation_options *q, geodec_pool *pool, const geodec_hooks *hooks,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *token = NULL, *sequence = NULL, *argmax = NULL;
    int64_t n = 0;
    geodec_drafter *d;
    geodec_onedecode_options o = geodec_onedecode_defaults();
    geodec_onedecode_summary summary;
    GEODEC_NEW_EACH(r->rows, token, sequence, argmax);
    for (int64_t i = 0; i < r->rows; i++) {
        if (geodec_step_part_of(q->seed, r->sequence[i]) != GEODEC_STEP_FIT) continue;
        token[n] = r->token[i];
        sequence[n] = r->sequence[i];
        argmax[n++] = r->argmax[i];
    }
    GEODEC_TRY(geodec_step_count(r, q->seed, r->argmax, false, &l->unigram, err));
    GEODEC_TRY(geodec_ablation_counts_drafter(&l->unigram, "unigram", false, &d, err));
    (void)add(l, "unigram", d, -1);
    GEODEC_TRY(geodec_step_count(r, q->seed, r->argmax, true, &l->bigram, err));
    GEODEC_TRY(geodec_ablation_counts_drafter(&l->bigram, "bigram", true, &d, err));
    (void)add(l, "bigram", d, -1);
    o.step.seed = q->seed;
    o.step.ridge = q->ridge;
    o.cells = q->cells;
    GEODEC_TRY(geodec_onedecode_bake(a, &o, &l->cells, &summary, pool, hooks, err));
    GEODEC_TRY(geodec_onedecode_drafter_create(&l->cells, &d, err));
    (void)add(l, "cells", d, -1);
    GEODEC_TRY(geodec_ngram_create(token, sequence, argmax, n, GEODEC_NGRAM_ORDER, &l->store, err));
    GEODEC_TRY(geodec_ngram_drafter_create(l->store, GEODEC_NGRAM_ORDER, &d, err));
    (void)add(l, "ngram", d, -1);
done:
    GEODEC_FREE(token, sequence, argmax);
    return st;
}

/* Three velocities with three connections each; every variant is calibrated separately. */
static geodec_status add_rollouts(geodec_rollout_ablation *l, const geodec_rollout *r, const geodec_step_rows *rows,
                                  const geodec_rollout_options *o, geodec_err *err)
{
    static const char *const names[3][GEODEC_ROLLOUT_CONNECTIONS] = {
        {"linear", "geodesic", "random"},
        {"linear-blind", "geodesic-blind", "random-blind"},
        {"line-previous", "geodesic-previous", "random-previous"}};
    for (int v = 0; v < 3; v++) {
        int32_t straight = -1;
        for (int c = 0; c < GEODEC_ROLLOUT_CONNECTIONS; c++) {
            geodec_rollout_trust trust = r->trust[c];
            geodec_drafter *d;
            if (v != GEODEC_ROLLOUT_TOKEN)
                GEODEC_PASS(geodec_rollout_calibrate(r, rows, o, (geodec_rollout_velocity)v,
                                                     (geodec_rollout_connection)c, &trust, err));
            GEODEC_PASS(geodec_rollout_drafter_create(r, names[v][c], (geodec_rollout_velocity)v,
                                                      (geodec_rollout_connection)c, &trust, &d, err));
            l->rolls[l->n] = true;
            const int32_t at = add(l, names[v][c], d, straight);
            if (c == GEODEC_ROLLOUT_FLAT) straight = at;
        }
    }
    return GEODEC_OK;
}

void geodec_rollout_ablation_clear(geodec_rollout_ablation *l)
{
    for (int32_t k = 0; k < l->n; k++) geodec_drafter_destroy(l->variant[k].drafter);
    geodec_counts_clear(&l->unigram);
    geodec_counts_clear(&l->bigram);
    geodec_onedecode_clear(&l->cells);
    geodec_ngram_destroy(l->store);
}

static void print_estimate(FILE *out, geodec_estimate e)
{
    (void)fprintf(out, "\t%.4f\t%.4f\t%.4f", e.value, e.low, e.high);
}

void geodec_rollout_ablation_print(FILE *out, const geodec_rollout_ablation *l, const geodec_ablation_figures *f,
                                   const double *broken)
{
    static const geodec_estimate none = {NAN, NAN, NAN};
    (void)fprintf(
        out, "rung\ttop1\ttop1_low\ttop1_high\ttop8\ttop8_low\ttop8_high\tclaimed\tclaimed_low\tclaimed_high\tbase\t"
             "gain1\tgain1_low\tgain1_high\tgain8\tgain8_low\tgain8_high\tbroken\n");
    for (int32_t k = 0; k < l->n; k++) {
        (void)fprintf(out, "%s", l->variant[k].name);
        print_estimate(out, f[k].top1);
        print_estimate(out, f[k].top8);
        print_estimate(out, f[k].claimed);
        (void)fprintf(out, "\t%s", l->variant[k].base < 0 ? "-" : l->variant[l->variant[k].base].name);
        print_estimate(out, l->variant[k].base < 0 ? none : f[k].gain1);
        print_estimate(out, l->variant[k].base < 0 ? none : f[k].gain8);
        (void)fprintf(out, "\t%.4f\n", broken[k]);
    }
}

geodec_status geodec_rollout_ablation_fill(geodec_rollout_ablation *l, const geodec_activations *a,
                                           const geodec_rollout *r, const geodec_step_rows *rows,
                                           const geodec_rollout_options *o, const geodec_rollout_ablation_options *q,
                                           geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    GEODEC_PASS(add_tables(l, a, rows, q, pool, hooks, err));
    GEODEC_PASS(add_rollouts(l, r, rows, o, err));
    return GEODEC_OK;
}

void geodec_rollout_ablation_broken(const geodec_rollout_ablation *l, double *broken)
{
    for (int32_t k = 0; k < l->n; k++) {
        int64_t steps = 0, failed = 0;
        if (l->rolls[k]) geodec_rollout_drafter_steps(l->variant[k].drafter, &steps, &failed);
        broken[k] = steps > 0 ? (double)failed / (double)steps : 0;
    }
}
