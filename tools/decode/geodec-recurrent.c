/* geodec-recurrent: the recurrent net of a model's states, a drafter of texts that are drawn. */
#include "cli/cli.h"
#include "drafters/recurrent.h"

static const char *output = "recurrent.h5";
static int64_t width = 256, classes = 2048;
static double epochs = 5, rate = 0.004, drawn = 0.2;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "recurrent.h5"),
    {.name = "width",
     .type = CLI_I64,
     .target = &width,
     .min = 16,
     .max = GEODEC_RECURRENT_WIDTH_MAX,
     .metavar = "N",
     .help = "of the net, a multiple of 16"},
    {.name = "classes",
     .type = CLI_I64,
     .target = &classes,
     .min = 1,
     .max = GEODEC_RECURRENT_CLASSES_MAX,
     .metavar = "N",
     .help = "tokens it knows at most, the most frequent ones"},
    {.name = "epochs",
     .type = CLI_F64,
     .target = &epochs,
     .min = 0.01,
     .max = 1000,
     .metavar = "X",
     .help = "of the fit"},
    {.name = "rate",
     .type = CLI_F64,
     .target = &rate,
     .min = 1e-9,
     .max = 1,
     .metavar = "X",
     .help = "of Adam, at its highest"},
    {.name = "drawn",
     .type = CLI_F64,
     .target = &drawn,
     .min = 0,
     .max = 1,
     .metavar = "X",
     .help = "share of the target that the drawn token gets; the rest is the model's best logits"},
};

static const cli_tool tool = {
    .name = "geodec-recurrent",
    .topic = CLI_TOPIC_TABLES,
    .purpose = "fit a small recurrent net to what a model says next, from its last state",
    .usage = "[OPTIONS] ACTIVATIONS.h5",
    .description =
        "A drafter: chances of the next tokens from the state before the newest token, its running means and the last\n"
        "three tokens, carried on along drafts. Fitted to the model's own chances in stored texts (export them with\n"
        "their best logits); a tenth of the texts gives the figures, beside a bigram and a unigram of the others.",
    .examples = "geodec-recurrent -o results/recurrent.h5 store.h5\n"
                "geodec-decode --model model.gguf --artifacts results --draft recurrent --tree 16 --temperature 1 "
                "--prompt \"Once\"",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 1,
    .max_args = 1,
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *out = NULL;
    geodec_activations a;
    geodec_recurrent net = {0};
    geodec_recurrent_summary s;
    geodec_provenance p = cli_provenance(c);
    geodec_recurrent_options o = geodec_recurrent_defaults();
    o.width = width;
    o.classes = classes;
    o.epochs = epochs;
    o.rate = rate;
    o.drawn = drawn;
    o.seed = c->seed;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_artifact_open(&geodec_activations_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_activations_view(in, &a, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&p, in, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_recurrent_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_recurrent_fit(&a, &o, &net, &s, c->pool, &c->hooks, err));
    GEODEC_TRY(geodec_recurrent_write(&net, &s, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    if (st != GEODEC_OK) goto done;
    cli_say(c,
            "%lld places, %lld classes, %lld weights; %lld held-out places: %.3f nat, %.3f, %.3f, %.3f behind 1, 2, 3 "
            "drafts "
            "(bigram %.3f, unigram %.3f); first token right %.1f %%",
            (long long)s.fitted, (long long)net.classes, (long long)net.weights, (long long)s.places, s.loss[0],
            s.loss[1], s.loss[2], s.loss[3], s.bigram, s.unigram, 100 * s.first);
done:
    geodec_recurrent_clear(&net);
    geodec_artifact_close(out);
    geodec_artifact_close(in);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
