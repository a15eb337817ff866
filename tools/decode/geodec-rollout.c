/* geodec-rollout: the geometric rollout as a drafter, and the ladder of its ablations. */
#include "base/mem.h"
#include "cli/stage.h"
#include "drafters/ngram_drafter.h"
#include "drafters/onedecode_drafter.h"
#include "drafters/rollout_drafter.h"
#include "drafters/rollout_file.h"
#include "model/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *output = "rollout.h5", *model_path;
static int64_t dims = 64, field_dims = 8, sites = 300, words = 4096, cells = 4096, places = 4000, resamples = 1000;
static double ridge = 10;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "rollout.h5"),
    CLI_MODEL_OPTION(model_path),
    OPT_I64("dims", 'k', &dims, 1, GEODEC_STEP_DIMS_MAX, "K", "principal coordinates of a state"),
    OPT_I64("field-dims", 0, &field_dims, 1, GEODEC_RBF_MAX_N, "M", "leading coordinates that the metric is fitted in"),
    OPT_I64("sites", 0, &sites, 2, 1e6, "N", "of the metric"),
    OPT_I64("words", 0, &words, 1, GEODEC_ROLLOUT_WORDS_MAX, "N", "tokens of the readout's shortlist"),
    OPT_I64("cells", 0, &cells, 1, 1e6, "C", "of the rung of nearest cells"),
    OPT_F64("ridge", 0, &ridge, 1e-9, 1e9, "X", "of the regressions, in observations"),
    OPT_I64("places", 'n', &places, 1, 1e9, "N", "held-out places that the ladder is measured at"),
    OPT_I64("resamples", 0, &resamples, 1, 1e6, "N", "bootstrap resamples of the intervals"),
};

static const cli_tool tool = {
    .name = "geodec-rollout",
    .topic = CLI_TOPIC_TABLES,
    .purpose = "draft by rolling states out along geodesics; a ladder of ablations says what the geometry adds",
    .usage = "[OPTIONS] ACTIVATIONS.h5",
    .description =
        "From the state before the newest token a velocity that is known before the next one (a regression on state "
        "and\n"
        "newest token, on the state alone, or the last step), one unit of time straight on (flat), along the geodesic "
        "of\n"
        "the fitted metric, or under a random connection of the same norm, then the model's own readout. Beside them "
        "a\n"
        "unigram, a bigram, counts in nearest cells and an n-gram, all from the same texts, at the same places of "
        "others.\n"
        "Prints a row a rung, all shares of places: right with the first (top1), among eight (top8), mean calibrated\n"
        "confidence (claimed), and what they exceed those of the rung named base by (gain1, gain8), with 95 % "
        "intervals over\n"
        "texts; broken: steps whose geodesic blew up and went straight. The drafters rollout, rollout-flat and\n"
        "rollout-random read the file.",
    .examples = "geodec-rollout --model model.gguf -o results/rollout.h5 store.h5\n"
                "geodec-decode --model model.gguf --artifacts results --draft rollout --prompt \"Once\"",
    CLI_TAKES(options, 1, 1),
};

static geodec_status head_rows(void *ctx, int64_t first, int64_t count, float *w, geodec_err *err)
{
    return geodec_model_readout(ctx, first, count, w, err);
}

/* The drafters of the ladder and what they stand on. */
typedef struct ladder {
    geodec_counts unigram, bigram;
    geodec_onedecode cells;
    geodec_ngram *store;
    int32_t n;
    geodec_ablation_variant variant[GEODEC_ABLATION_MAX];
    bool rolls[GEODEC_ABLATION_MAX];
} ladder;

static int32_t add(ladder *l, const char *name, geodec_drafter *d, int32_t base)
{
    l->variant[l->n] = (geodec_ablation_variant){.name = name, .drafter = d, .base = base};
    return l->n++;
}

/* Tables of the texts of the fit. */
static geodec_status add_tables(ladder *l, const geodec_activations *a, const geodec_step_rows *r, const cli *c,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *cell = NULL, *token = NULL, *sequence = NULL, *argmax = NULL;
    int64_t n = 0;
    geodec_drafter *d;
    geodec_onedecode_options o = geodec_onedecode_defaults();
    geodec_onedecode_summary summary;
    GEODEC_NEW(cell, r->rows);
    GEODEC_NEW(token, r->rows);
    GEODEC_NEW(sequence, r->rows);
    GEODEC_NEW(argmax, r->rows);
    for (int64_t i = 0; i < r->rows; i++) {
        if (geodec_step_part_of(c->seed, r->sequence[i]) != GEODEC_STEP_FIT) continue;
        token[n] = r->token[i];
        sequence[n] = r->sequence[i];
        argmax[n++] = r->argmax[i];
    }
    GEODEC_TRY(geodec_counts_make(1, n, cell, argmax, &l->unigram, err));
    GEODEC_TRY(geodec_ablation_counts_drafter(&l->unigram, "unigram", false, &d, err));
    (void)add(l, "unigram", d, -1);
    GEODEC_TRY(geodec_counts_make(r->vocab, n, token, argmax, &l->bigram, err));
    GEODEC_TRY(geodec_ablation_counts_drafter(&l->bigram, "bigram", true, &d, err));
    (void)add(l, "bigram", d, -1);
    o.step.seed = c->seed;
    o.step.ridge = ridge;
    o.cells = cells;
    GEODEC_TRY(geodec_onedecode_bake(a, &o, &l->cells, &summary, c->pool, &c->hooks, err));
    GEODEC_TRY(geodec_onedecode_drafter_create(&l->cells, &d, err));
    (void)add(l, "cells", d, -1);
    GEODEC_TRY(geodec_ngram_create(token, sequence, argmax, n, GEODEC_NGRAM_ORDER, &l->store, err));
    GEODEC_TRY(geodec_ngram_drafter_create(l->store, GEODEC_NGRAM_ORDER, &d, err));
    (void)add(l, "ngram", d, -1);
done:
    geodec_mem_free(cell);
    geodec_mem_free(token);
    geodec_mem_free(sequence);
    geodec_mem_free(argmax);
    return st;
}

/* Three velocities, three connections each; every rung calibrated by itself. */
static geodec_status add_rollouts(ladder *l, const geodec_rollout *r, const geodec_step_rows *rows,
                                  const geodec_rollout_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
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
                GEODEC_TRY(geodec_rollout_calibrate(r, rows, o, (geodec_rollout_velocity)v,
                                                    (geodec_rollout_connection)c, &trust, err));
            GEODEC_TRY(geodec_rollout_drafter_create(r, names[v][c], (geodec_rollout_velocity)v,
                                                     (geodec_rollout_connection)c, &trust, &d, err));
            l->rolls[l->n] = true;
            const int32_t at = add(l, names[v][c], d, straight);
            if (c == GEODEC_ROLLOUT_FLAT) straight = at;
        }
    }
done:
    return st;
}

static void clear(ladder *l)
{
    for (int32_t k = 0; k < l->n; k++) geodec_drafter_destroy(l->variant[k].drafter);
    geodec_counts_clear(&l->unigram);
    geodec_counts_clear(&l->bigram);
    geodec_onedecode_clear(&l->cells);
    geodec_ngram_destroy(l->store);
}

static void print_estimate(geodec_estimate e) { printf("\t%.4f\t%.4f\t%.4f", e.value, e.low, e.high); }

static void print(const ladder *l, const geodec_ablation_figures *f, const double *broken)
{
    static const geodec_estimate none = {NAN, NAN, NAN};
    printf("rung\ttop1\ttop1_low\ttop1_high\ttop8\ttop8_low\ttop8_high\tclaimed\tclaimed_low\tclaimed_high\tbase\t"
           "gain1\tgain1_low\tgain1_high\tgain8\tgain8_low\tgain8_high\tbroken\n");
    for (int32_t k = 0; k < l->n; k++) {
        printf("%s", l->variant[k].name);
        print_estimate(f[k].top1);
        print_estimate(f[k].top8);
        print_estimate(f[k].claimed);
        printf("\t%s", l->variant[k].base < 0 ? "-" : l->variant[l->variant[k].base].name);
        print_estimate(l->variant[k].base < 0 ? none : f[k].gain1);
        print_estimate(l->variant[k].base < 0 ? none : f[k].gain8);
        printf("\t%.4f\n", broken[k]);
    }
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_model *m = NULL;
    geodec_activations a;
    cli_stage stage = {0};
    geodec_rollout r = {0};
    geodec_step_rows rows = {0};
    geodec_rollout_options o = geodec_rollout_defaults();
    geodec_ablation_figures f[GEODEC_ABLATION_MAX];
    double broken[GEODEC_ABLATION_MAX] = {0};
    ladder l = {.n = 0};
    o.step.k = dims;
    o.step.ridge = ridge;
    o.step.seed = c->seed;
    o.words = words;
    o.dims = field_dims;
    o.sites = sites;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_activations_view(in, &a, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    GEODEC_TRY(stage_file(&stage, model_path, err));
    if (strcmp(geodec_model_fingerprint(m), geodec_artifact_provenance(in)->model_fingerprint) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: activations of another model than %s", c->args[0], model_path);
    GEODEC_TRY(stage_create(&stage, &geodec_rollout_kind, err));
    GEODEC_TRY(geodec_rollout_bake(&a, &o, head_rows, m, c->pool, &c->hooks, &r, &rows, err));
    GEODEC_TRY(add_tables(&l, &a, &rows, c, err));
    GEODEC_TRY(add_rollouts(&l, &r, &rows, &o, err));
    GEODEC_TRY(geodec_ablation_run(&a, &rows, c->seed, places, resamples, l.variant, l.n, &c->hooks, f, err));
    for (int32_t k = 0; k < l.n; k++) {
        int64_t steps, failed;
        if (!l.rolls[k]) continue;
        geodec_rollout_drafter_steps(l.variant[k].drafter, &steps, &failed);
        broken[k] = steps > 0 ? (double)failed / (double)steps : 0;
    }
    GEODEC_TRY(geodec_rollout_ablation_write(&r, l.variant, f, broken, l.n, stage.out, err));
    GEODEC_TRY(stage_commit(&stage, err));
    print(&l, f, broken);
    cli_say(c, "%lld places of held-out texts; the shortlist has %.2f %% of what the model says",
            (long long)f[0].places, 100 * r.covered);
done:
    clear(&l);
    geodec_rollout_clear(&r);
    geodec_step_rows_clear(&rows);
    stage_end(&stage);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
