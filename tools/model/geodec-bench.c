/* geodec-bench: speed and memory of a model's passes, each number with its control. */
#include "cli/cli.h"
#include "cli/evaluation.h"
#include "evaluate/speed.h"

#include <string.h>

static const char *isa = "auto", *arithmetic = "exact", *kv = "f32", *format = "tsv", *widths = "1,2,4,8,16,32,64";
static int64_t prompt = 128, generate = 64, depth = 0, batch = 128, first = 8, repeats = 7;
static bool no_limit = false;

#define TOKENS_OPTION(name_, var, text) OPT_I64(name_, 0, &(var), 0, 1 << 20, "N", text)

static const cli_option options[] = {
    TOKENS_OPTION("prompt", prompt, "tokens of the prompt (pp), 0: none"),
    TOKENS_OPTION("generate", generate, "single-token passes (tg), 0: none"),
    OPT_STR("widths", 0, &widths, "LIST", "rows b of v(b), 1 to 64, separated by commas, or 'none'"),
    TOKENS_OPTION("depth", depth, "tokens of context before tg and v"),
    TOKENS_OPTION("first", first, "tokens of the prompt of first_token, 0: do not measure it"),
    OPT_I64("batch", 0, &batch, 1, 4096, "N", "rows of a pass over the prompt"),
    OPT_I64("repeats", 'r', &repeats, 1, 1001, "N", "repeats of each measurement, interleaved"),
    CLI_ARITHMETIC_OPTION(arithmetic, "exact|fast|integer"),
    CLI_KV_OPTION(kv),
    CLI_ISA_OPTION(isa),
    OPT_FLAG("no-read-limit", 0, &no_limit, "do not measure the memory read limit"),
    OPT_CHOICE("format", 0, &format, "tsv|json", "FORMAT", "format of the output"),
};

static const cli_tool tool = {
    .name = "geodec-bench",
    .topic = CLI_TOPIC_MEASURES,
    .purpose = "measure the speed and memory of a model's passes",
    .usage = "[OPTIONS] MODEL.gguf",
    .description =
        "Standard output is a table: measure, n, unit, median, minimum and maximum over the repeats, and the control\n"
        "of each number. pp: prompt of n tokens. tg: n single-token passes. bandwidth: bytes of weights read per\n"
        "second in tg; control: the memory read limit of the same run. settle: time of the first n single-token\n"
        "passes, in which the weights are packed for speed; control: n later passes. All rates are those of later\n"
        "passes. v: time of n rows relative to the time of one row. first_token: time from opening the file to the\n"
        "first token. peak_memory: largest memory; control: size of the file and the cache.",
    .examples = "geodec-bench --threads 2 model.gguf\n  geodec-bench --arithmetic fast --widths 1,4,8 --format json "
                "model.gguf",
    CLI_TAKES(options, 1, 1),
    .takes_model = true,
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_speed_result r;
    geodec_speed_options o = {.arithmetic = arithmetic_of(arithmetic),
                              .isa = isa_of(isa),
                              .kv = kv_of(kv),
                              .pool = c->pool,
                              .prompt = (int32_t)prompt,
                              .generate = (int32_t)generate,
                              .depth = (int32_t)depth,
                              .batch = (int32_t)batch,
                              .first = (int32_t)first,
                              .repeats = (int32_t)repeats,
                              .read_limit = !no_limit,
                              .seed = c->seed};
    GEODEC_PASS(geodec_speed_widths(widths, &o, err));
    GEODEC_PASS(geodec_speed_run(c->args[0], &o, &c->hooks, &r, err));
    const char *name = cli_base_name(c->args[0]);
    if (strcmp(format, "json") == 0)
        GEODEC_PASS(geodec_speed_json(stdout, name, &o, &r, err));
    else
        GEODEC_PASS(geodec_speed_table(stdout, &r, err));
    cli_say(c, "%s: %s, %s, %s cache, %d threads, %d repeats; %.1f MB, of which %.1f MB are read per token", name,
            arithmetic, geodec_kernels_isa_name(r.isa), kv, r.threads, (int)repeats, (double)r.file_bytes * 1e-6,
            (double)r.token_bytes * 1e-6);
    return GEODEC_OK;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
