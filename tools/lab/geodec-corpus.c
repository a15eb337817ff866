/* geodec-corpus: generated stories with their exact entropy. */
#include "cli/cli.h"
#include "io/atomic.h"
#include "io/json.h"
#include "lab/corpus/control.h"
#include "lab/corpus/corpus.h"

static const char *output = "corpus.txt", *report;
static int64_t stories, bytes, control_stories = 4096, order = 6;
static uint64_t first;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "corpus.txt"),
    OPT_I64("stories", 'n', &stories, 0, 1e12, "N", "number of stories"),
    OPT_I64("bytes", 'b', &bytes, 0, 1e15, "N",
            "stop after the story in which the text reaches N bytes (instead of --stories)"),
    OPT_U64("first", 0, &first, "I", "index of the first story of the seed"),
    OPT_FILE("report", 'r', &report, "FILE", "write sizes, entropy and the n-gram control to FILE (JSON)",
             .flags = CLI_VOLATILE),
    OPT_I64("control-stories", 0, &control_stories, 0, 1e6, "N",
            "training stories of the n-gram control of the report (0: no control)"),
    OPT_I64("order", 0, &order, 1, GEODEC_CONTROL_ORDER_MAX, "N", "bytes of context of the n-gram control"),
};

static const cli_tool tool = {
    .name = "geodec-corpus",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "generate stories from a world with state, with the exact entropy of the text",
    .usage = "[OPTIONS] --stories N | --bytes N",
    .description =
        "Story I of a seed never changes, so that any range can be made separately (--first). Stories are separated by "
        "a\n"
        "line \"" GEODEC_STORY_END
        "\" between empty lines. The report contains -log2 of the probability of the text per byte, including\n"
        "the ends of stories. This is the lowest possible loss of a model.",
    .examples = "geodec-corpus --stories 50000 --seed 1 -o train.txt --report train.json\n"
                "geodec-corpus --stories 500 --first 1000000 --seed 1 -o heldout.txt",
    CLI_TAKES(options, 0, 0),
};

static geodec_status write_report(const cli *c, const geodec_corpus_stats *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_json_writer *w = NULL;
    double control = 0;
    int64_t n_test = control_stories / 8 > 0 ? control_stories / 8 : 1;
    if (control_stories)
        GEODEC_TRY(
            geodec_corpus_control(c->seed, first, control_stories, n_test, (int)order, &c->hooks, &control, err));
    GEODEC_TRY(geodec_json_create(report, &w, err));
    geodec_json_put_str(w, "command_line", c->command_line);
    geodec_json_put_u64(w, "seed", c->seed);
    geodec_json_put_u64(w, "first", first);
    geodec_json_put_i64(w, "stories", s->stories);
    geodec_json_put_i64(w, "bytes", s->bytes);
    geodec_json_put_f64(w, "bytes_per_story", s->bytes_mean);
    geodec_json_put_f64(w, "bytes_per_story_sd", s->bytes_sd);
    geodec_json_put_i64(w, "words", s->words);
    geodec_json_put_i64(w, "distinct_words", s->distinct_words);
    geodec_json_put_f64(w, "bits", s->bits);
    geodec_json_put_f64(w, "bits_per_byte", s->bits_per_byte);
    geodec_json_put_f64(w, "bits_per_byte_error", s->bits_per_byte_error);
    if (control_stories) {
        geodec_json_begin_object(w, "control");
        geodec_json_put_str(w, "model", "byte n-gram, interpolated Witten-Bell");
        geodec_json_put_i64(w, "order", order);
        geodec_json_put_i64(w, "train_stories", control_stories);
        geodec_json_put_i64(w, "test_stories", n_test);
        geodec_json_put_f64(w, "bits_per_byte", control);
        geodec_json_end(w);
    }
    st = geodec_json_commit(w, err);
    w = NULL;
done:
    geodec_json_abandon(w);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_atomic *file = NULL;
    geodec_corpus_stats s = {0};
    if ((stories == 0) == (bytes == 0)) GEODEC_THROW(GEODEC_INVAL, "give either --stories or --bytes");
    GEODEC_TRY(cli_may_write(c, output, err));
    if (report) GEODEC_TRY(cli_may_write(c, report, err));
    GEODEC_TRY(geodec_atomic_open(output, &file, err));
    GEODEC_TRY_MSG(
        geodec_corpus_write(c->seed, first, stories, bytes, geodec_atomic_stream(file), c->pool, &c->hooks, &s, err),
        "%s", output);
    st = geodec_atomic_commit(file, err);
    file = NULL;
    GEODEC_TRY(st);
    if (report) GEODEC_TRY(write_report(c, &s, err));
    cli_say(c, "%lld stories, %lld bytes, entropy %.4f +- %.4f bits per byte -> %s", (long long)s.stories,
            (long long)s.bytes, s.bits_per_byte, s.bits_per_byte_error, output);
done:
    geodec_atomic_abandon(file);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
