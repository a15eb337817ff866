/* geodec-recurrent: a recurrent net on the states of a model, as a drafter for sampled texts. */
#include "cli/stage.h"
#include "drafters/recurrent.h"

static const char *output = "recurrent.h5";
static double sampled = 0.2;
static geodec_recurrent_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "recurrent.h5"),
    OPT_I64("width", 0, &opt.width, 16, GEODEC_RECURRENT_WIDTH_MAX, "N", "width of the net, a multiple of 16"),
    OPT_I64("classes", 0, &opt.classes, 1, GEODEC_RECURRENT_CLASSES_MAX, "N",
            "largest number of tokens that the net predicts, the most frequent ones"),
    OPT_F64("epochs", 0, &opt.epochs, 0.01, 1000, "X", "epochs of the fit"),
    OPT_F64("rate", 0, &opt.rate, 1e-9, 1, "X", "highest learning rate of Adam"),
    OPT_F64("sampled", 0, &sampled, 0, 1, "X",
            "share of the target on the sampled token; the rest follows the model's best logits"),
};

static const cli_tool tool = {
    .name = "geodec-recurrent",
    .topic = CLI_TOPIC_DRAFTING,
    .purpose = "fit a small recurrent net that predicts the next tokens of a model from its last state",
    .usage = "[OPTIONS] ACTIVATIONS.h5",
    .description =
        "The net predicts probabilities of the next tokens from the state before the newest token, the running means\n"
        "of the state and the last three tokens. It advances along drafts. It is fitted to the probabilities of the\n"
        "model in stored texts, which must contain the best logits (geodec-export). One tenth of the texts gives the\n"
        "figures; the controls are a bigram and a unigram model of the other texts.",
    .examples = "geodec-recurrent -o results/recurrent.h5 store.h5\n"
                "geodec-decode --model model.gguf --artifacts results --draft recurrent --tree 16 --temperature 1 "
                "--prompt \"Once\"",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_activations a;
    geodec_recurrent net = {0};
    geodec_recurrent_summary s;
    cli_stage stage = {0};
    opt.sampled = sampled;
    opt.seed = c->seed;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_activations_view(in, &a, err));
    GEODEC_TRY(stage_create(&stage, &geodec_recurrent_kind, err));
    GEODEC_TRY(geodec_recurrent_fit(&a, &opt, &net, &s, c->pool, &c->hooks, err));
    GEODEC_TRY(geodec_recurrent_write(&net, &s, stage.out, err));
    GEODEC_TRY(stage_commit(&stage, err));
    cli_say(c,
            "%lld positions, %lld classes, %lld weights; %lld held-out positions: %.3f nat, %.3f, %.3f, %.3f after 1, "
            "2, 3 drafts (bigram %.3f, unigram %.3f); first token correct %.1f %%",
            (long long)s.fitted, (long long)net.classes, (long long)net.weights, (long long)s.places, s.loss[0],
            s.loss[1], s.loss[2], s.loss[3], s.bigram, s.unigram, 100 * s.first);
done:
    geodec_recurrent_clear(&net);
    stage_end(&stage);
    return st;
}

CLI_MAIN(opt = geodec_recurrent_defaults())
