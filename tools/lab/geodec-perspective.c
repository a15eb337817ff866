/* geodec-perspective: parts of the PERSPECTIVE design, measured without a model. */
#include "cli/cli.h"
#include "io/tsv.h"
#include "lab/perspective/parts.h"

#include <string.h>

static const char *output, *only = "all";
static bool quick;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "standard output"),
    OPT_CHOICE("part", 0, &only, "all|scan|state|changes|product|memory|polytope|hull|gradient|adapter", NULL,
               "measure this part only"),
    OPT_FLAG("quick", 0, &quick, "smaller sizes"),
};

static const cli_tool tool = {
    .name = "geodec-perspective",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "measure parts of the PERSPECTIVE design beside their controls",
    .usage = "[OPTIONS]",
    .description =
        "No model is needed. The output is a TSV table: part, key, quantity, value, control, and what the control is.\n"
        "Parts: scan (combinations and depth of parallel scans), state (after 10,000 steps), changes (differences\n"
        "between independent ternary experts), product (time of an expert's product on one thread), memory (pairs "
        "that\n"
        "a hyperdimensional memory gives back), polytope (Jacobian and fixed points of projections), hull (dimension "
        "of\n"
        "the hull of 1,000 points), gradient (mean and spread of estimated gradients), adapter (derivatives at its\n"
        "start). Only the rows of product are times, and differ from run to run.",
    .examples = "  geodec-perspective --quick\n"
                "  geodec-perspective --part memory -o memory.tsv",
    CLI_TAKES(options, 0, 0),
};

static geodec_status put(geodec_tsv *t, const char *part, const geodec_parts_row *r, geodec_err *err)
{
    geodec_tsv_str(t, part);
    geodec_tsv_str(t, r->key);
    geodec_tsv_str(t, r->quantity);
    geodec_tsv_f64(t, r->value);
    geodec_tsv_f64(t, r->control);
    geodec_tsv_str(t, r->compared);
    return geodec_tsv_end_row(t, err);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_parts p = {0};
    geodec_tsv *t = NULL;
    if (output) GEODEC_TRY(cli_may_write(c, output, err));
    if (output)
        GEODEC_TRY(geodec_tsv_create(output, &t, err));
    else
        GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "part key quantity value control compared", err));
    for (const geodec_parts_kind *k = geodec_parts_kinds(); k->name; k++) {
        const geodec_parts_options o = {.seed = c->seed, .quick = quick, .pool = c->pool};
        if (strcmp(only, "all") != 0 && strcmp(only, k->name) != 0) continue;
        GEODEC_TRY(geodec_parts_measure(k, &o, &p, err));
        for (int64_t i = 0; i < p.n; i++) GEODEC_TRY(put(t, k->name, &p.row[i], err));
        geodec_parts_free(&p);
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_parts_free(&p);
    geodec_tsv_abandon(t);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
