/* geodec-bench: speed and memory of a model's passes, each number beside its control. */
#include "cli/cli.h"
#include "cli/evaluation.h"
#include "evaluate/speed.h"
#include "io/json.h"
#include "io/tsv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *isa = "auto", *arithmetic = "exact", *kv = "f32", *format = "tsv", *widths = "1,2,4,8,16,32,64";
static int64_t prompt = 128, generate = 64, depth = 0, batch = 128, first = 8, repeats = 7;
static bool no_limit = false;

#define TOKENS_OPTION(name_, var, text) OPT_I64(name_, 0, &(var), 0, 1 << 20, "N", text)

static const cli_option options[] = {
    TOKENS_OPTION("prompt", prompt, "tokens of the prompt (pp), 0 for none"),
    TOKENS_OPTION("generate", generate, "single passes (tg), 0 for none"),
    OPT_STR("widths", 0, &widths, "LIST", "rows b of v(b), 1 to 64, separated by commas; 'none' for none"),
    TOKENS_OPTION("depth", depth, "tokens of context below tg and v"),
    TOKENS_OPTION("first", first, "prompt of first_token, 0 to leave it out"),
    OPT_I64("batch", 0, &batch, 1, 4096, "N", "rows of one pass of the prompt"),
    OPT_I64("repeats", 'r', &repeats, 1, 1001, "N", "repeats, interleaved"),
    CLI_ARITHMETIC_OPTION(arithmetic, "exact|fast"),
    CLI_KV_OPTION(kv),
    CLI_ISA_OPTION(isa),
    OPT_FLAG("no-read-limit", 0, &no_limit, "leave the memory read limit out"),
    OPT_CHOICE("format", 0, &format, "tsv|json", "FORMAT", "of the output"),
};

static const cli_tool tool = {
    .name = "geodec-bench",
    .topic = CLI_TOPIC_MEASURES,
    .purpose = "measure the speed and memory of a model's passes",
    .usage = "[OPTIONS] MODEL.gguf",
    .description =
        "Standard output is a table: measure, n, unit, median, min, max over the repeats, and the control\n"
        "each number is to be read against. pp: prompt of n tokens; tg: n single passes; bandwidth: weights\n"
        "read a second in tg, beside the memory's read limit of the same run; settle: the first n single\n"
        "passes, in which the weights move to where they are read fastest, beside n later ones (all rates are\n"
        "those after that); v: time of n rows over that of one; first_token: from opening the file;\n"
        "peak_memory: beside file size and cache.",
    .examples = "geodec-bench --threads 2 model.gguf\n  geodec-bench --arithmetic fast --widths 1,4,8 --format json "
                "model.gguf",
    CLI_TAKES(options, 1, 1),
};

static geodec_status parse_widths(geodec_speed_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (strcmp(widths, "none") == 0) goto done;
    for (const char *p = widths;; p++) {
        char *end;
        const long v = strtol(p, &end, 10);
        if (end == p || v < 1 || v > 64 || (*end && *end != ',') || o->n_widths == GEODEC_BENCH_WIDTHS_MAX)
            GEODEC_THROW(GEODEC_INVAL, "--widths '%.80s': not a list of at most %d numbers of 1 to 64", widths,
                         GEODEC_BENCH_WIDTHS_MAX);
        o->width[o->n_widths++] = (int32_t)v;
        p = end;
        if (!*p) break;
    }
done:
    return st;
}

static geodec_status print_tsv(const geodec_speed_result *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    static const char *const columns[] = {"measure", "n", "unit", "median", "min", "max", "control_name", "control"};
    GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(geodec_tsv_columns(t, CLI_COUNT(columns), columns, err));
    for (int i = 0; i < r->n_rows; i++) {
        const geodec_speed_row *row = &r->row[i];
        geodec_tsv_str(t, row->name);
        geodec_tsv_i64(t, row->n);
        geodec_tsv_str(t, row->unit);
        geodec_tsv_f64(t, row->median);
        geodec_tsv_f64(t, row->min);
        geodec_tsv_f64(t, row->max);
        geodec_tsv_str(t, row->control_name[0] ? row->control_name : "-");
        geodec_tsv_f64(t, row->control_name[0] ? row->control : (double)NAN);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

static geodec_status print_json(const char *file, const geodec_speed_result *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_json_writer *w = NULL;
    GEODEC_TRY(geodec_json_on(stdout, &w, err));
    geodec_json_put_str(w, "model", file);
    geodec_json_put_str(w, "arithmetic", arithmetic);
    geodec_json_put_str(w, "isa", geodec_kernels_isa_name(r->isa));
    geodec_json_put_str(w, "kv", kv);
    geodec_json_put_i64(w, "threads", r->threads);
    geodec_json_put_i64(w, "depth", depth);
    geodec_json_put_i64(w, "batch", batch);
    geodec_json_put_i64(w, "repeats", repeats);
    geodec_json_put_i64(w, "file_bytes", r->file_bytes);
    geodec_json_put_i64(w, "kv_bytes", r->kv_bytes);
    geodec_json_put_i64(w, "token_bytes", r->token_bytes);
    geodec_json_begin_array(w, "rows");
    for (int i = 0; i < r->n_rows; i++) {
        const geodec_speed_row *row = &r->row[i];
        geodec_json_begin_object(w, NULL);
        geodec_json_put_str(w, "measure", row->name);
        geodec_json_put_i64(w, "n", row->n);
        geodec_json_put_str(w, "unit", row->unit);
        geodec_json_put_f64(w, "median", row->median);
        geodec_json_put_f64(w, "min", row->min);
        geodec_json_put_f64(w, "max", row->max);
        if (row->control_name[0]) {
            geodec_json_put_str(w, "control_name", row->control_name);
            geodec_json_put_f64(w, "control", row->control);
        }
        geodec_json_end(w);
    }
    geodec_json_end(w);
    st = geodec_json_commit(w, err);
    w = NULL;
done:
    geodec_json_abandon(w);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
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
    GEODEC_TRY(parse_widths(&o, err));
    GEODEC_TRY(geodec_speed_run(c->args[0], &o, &c->hooks, &r, err));
    const char *slash = strrchr(c->args[0], '/');
    if (strcmp(format, "json") == 0)
        GEODEC_TRY(print_json(slash ? slash + 1 : c->args[0], &r, err));
    else
        GEODEC_TRY(print_tsv(&r, err));
    cli_say(c, "%s: %s, %s, %s cache, %d threads, %d repeats; %.1f MB, %.1f MB of them a token",
            slash ? slash + 1 : c->args[0], arithmetic, geodec_kernels_isa_name(r.isa), kv, r.threads, (int)repeats,
            (double)r.file_bytes * 1e-6, (double)r.token_bytes * 1e-6);
done:
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
