/* geodec-export: hidden states, argmax and best logits of a model on a text, as activations.h5. */
#include "base/clock.h"
#include "base/mem.h"
#include "chain/activations.h"
#include "cli/context.h"
#include "cli/evaluation.h"
#include "cli/needs.h"
#include "cli/ranks.h"
#include "cli/stage.h"
#include "cli/streaming.h"
#include "cli/text.h"
#include "export/export.h"
#include "export/export_needs.h"
#include "io/file.h"
#include "session/layer_list.h"

#include <string.h>
#include <unistd.h>

enum { TOP_DEFAULT = 8 };

static const char *model_path, *text_path, *tokens_path, *layers = "last", *positions = "all", *output, *format = "h5";
static const char *arithmetic = "exact", *kv = "f32", *isa = "auto", *separator = "auto";
static int64_t window, max_tokens, top_m = -1, shard_tokens = 1 << 18;
static bool logits, half, mpi;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "activations.h5, or activations, a folder, for safetensors"),
    CLI_MODEL_OPTION(model_path),
    OPT_FILE("text", 0, &text_path, "FILE", "UTF-8 text or JSON Lines"),
    CLI_SEPARATOR_OPTION(separator),
    OPT_FILE("tokens", 0, &tokens_path, "FILE", "token ids instead of text, one sequence per line"),
    OPT_STR("layers", 'l', &layers, "LIST",
            "layers to keep: all, last, sink (2/3 of the depth) or numbers (0 = embedding) joined by commas"),
    OPT_STR("positions", 'p', &positions, "WHICH",
            "rows to keep of each document: all, last, every:K, or FROM:TO (without TO)"),
    OPT_I64("window", 'w', &window, 0, 1 << 20, "N",
            "length of the longest sequence; longer documents are cut (0: the model's context)"),
    OPT_I64("max-tokens", 'n', &max_tokens, 0, 1e12, "N", "stop after N tokens (0: read all)"),
    OPT_I64("top-m", 0, &top_m, -1, GEODEC_EXPORT_TOP_MAX, "M",
            "number of best logits to keep for each row, with the argmax; 0: keep neither, and do not compute the "
            "model's head (-1: 8 for h5, 0 for safetensors)"),
    OPT_FLAG("logits", 0, &logits, "keep all logits of each row"),
    OPT_FLAG("f16", 0, &half, "keep states as float16"),
    OPT_CHOICE("format", 0, &format, "h5|safetensors", "FORMAT",
               "output format: one artifact, or a folder of safetensors shards with an index"),
    OPT_I64("shard-tokens", 0, &shard_tokens, 2, 1e12, "N",
            "tokens of a shard; an interrupted run loses at most one shard", .flags = CLI_VOLATILE),
    CLI_ARITHMETIC_OPTION(arithmetic, "auto|exact|fast|integer"),
    CLI_KV_OPTION(kv),
    CLI_ISA_OPTION(isa),
    CLI_MPI_OPTION(mpi, "shards of the texts"),
    CLI_STREAMING_OPTIONS_OF_PLAN,
    CLI_ALLOW_LONG_OPTION,
};

static const cli_tool tool = {
    .name = "geodec-export",
    .topic = CLI_TOPIC_STATES,
    .purpose = "export the hidden states, argmax and best logits of a model on a text",
    .usage = "--model FILE (--text FILE | --tokens FILE) [OPTIONS]",
    .description =
        "Writes one row per token. --separator and geodec-plan(1) describe the division of a text into documents. A\n"
        "document longer than the window is cut into windows, each of which begins with the model's BOS token. Rows\n"
        "are streamed: memory grows with the longest document, not with the text. When the same command is given\n"
        "again after an interruption, it continues, and the result has the same bytes. For this purpose every\n"
        "--shard-tokens tokens are a separate file, in the folder of --format safetensors, or in OUTPUT.parts until\n"
        "the artifact is complete. Texts with fewer bytes than that are exported in one step.",
    .examples =
        "geodec-export --model model.gguf --text book.txt --layers sink,last --max-tokens 100000 -o activations.h5\n"
        "geodec-export --model model.gguf --text book.txt --layers all --f16 --format safetensors -o states\n"
        "mpirun -n 4 geodec-export --mpi --model model.gguf --text book.txt -o activations.h5",
    CLI_TAKES(options, 0, 0),
    .plans = true,
};

static const char *input_path(void) { return text_path ? text_path : tokens_path; }

typedef struct input {
    geodec_file_map map; /* token ids */
    text_file file;
    size_t bytes;
    geodec_export_source source;
} input;

static geodec_status open_input(const geodec_model *m, input *in, geodec_documents_separator *rule, geodec_err *err)
{
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    const char *path = input_path();
    if (text_path) {
        GEODEC_PASS(text_open(path, separator, t, false, &in->file, err));
        GEODEC_PASS(geodec_export_source_text(&in->file.documents, t, &in->source, err));
        in->bytes = in->file.map.size;
        *rule = in->file.documents.rule;
    } else {
        GEODEC_PASS(geodec_file_map_open(path, &in->map, err));
        GEODEC_PASS(geodec_export_source_tokens(path, (const char *)in->map.data, in->map.size,
                                                geodec_model_configuration(m)->n_vocab, &in->source, err));
        in->bytes = in->map.size;
    }
    return GEODEC_OK;
}

/* Begins to read the input again. */
static geodec_status reopen_source(const geodec_model *m, input *in, geodec_err *err)
{
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    geodec_export_source_close(&in->source);
    memset(&in->source, 0, sizeof in->source);
    if (text_path) return geodec_export_source_text(&in->file.documents, t, &in->source, err);
    return geodec_export_source_tokens(tokens_path, (const char *)in->map.data, in->map.size,
                                       geodec_model_configuration(m)->n_vocab, &in->source, err);
}

static void close_input(input *in)
{
    geodec_export_source_close(&in->source);
    text_close(&in->file);
    geodec_file_map_close(&in->map);
}

static geodec_status join(const char *a, const char *b, char **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const size_t n = strlen(a) + strlen(b) + 1;
    GEODEC_NEW(*out, (int64_t)n);
    memcpy(*out, a, strlen(a));
    memcpy(*out + strlen(a), b, strlen(b) + 1);
done:
    return st;
}

/* Shards for ranks: about four for each, so that they end at about the same time. Tokens have 3 bytes or more. */
static int64_t tokens_of_shard(const geodec_comm *comm, const geodec_export_options *o, int64_t bytes)
{
    const int64_t all = o->max_tokens && o->max_tokens < bytes / 3 ? o->max_tokens : bytes / 3;
    const int64_t each = all / (4 * geodec_comm_size(comm)) + 1, least = each > o->window ? each : o->window;
    return least < shard_tokens ? least : shard_tokens;
}

/* The shards of this rank, in `folder`; returns when all ranks have made theirs. */
static geodec_status ranks_shards(const cli *c, geodec_comm *comm, const geodec_model *m,
                                  const geodec_export_options *o, const input *in, geodec_export_sharding g,
                                  geodec_export_summary *s, geodec_err *err)
{
    g.rank = geodec_comm_rank(comm);
    g.ranks = geodec_comm_size(comm);
    g.unfinished = true;
    GEODEC_PASS_MSG(geodec_export_shards(m, o, &in->source, &g, s, c->pool, &c->hooks, err), "%s", input_path());
    return geodec_comm_barrier(comm, err);
}

static geodec_status to_artifact(cli_stage *stage, geodec_comm *comm, const geodec_model *m,
                                 const geodec_export_options *o, const input *in, geodec_export_summary *s,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const cli *c = stage->c;
    char *parts = NULL;
    const int64_t bytes = (int64_t)in->bytes;
    const bool first = geodec_comm_rank(comm) == 0;
    if (first) GEODEC_TRY(stage_create(stage, &geodec_activations_kind, err));
    GEODEC_TRY(join(output, ".parts", &parts, err));
    if (comm) {
        const geodec_export_sharding g = {
            .folder = parts, .tokens = tokens_of_shard(comm, o, bytes), .provenance = &stage->p, .replace = c->force};
        GEODEC_TRY(ranks_shards(c, comm, m, o, in, g, s, err));
        if (!first) goto done;
        GEODEC_TRY(geodec_export_assemble(m, o, parts, s->shards, stage->out, &c->hooks, err));
    } else if (access(parts, F_OK) != 0 && (bytes < shard_tokens || (max_tokens && max_tokens <= shard_tokens))) {
        GEODEC_TRY_MSG(geodec_export_run(m, o, &in->source, stage->out, s, c->pool, &c->hooks, err), "%s",
                       input_path());
    } else {
        const geodec_export_sharding g = {
            .folder = parts, .tokens = shard_tokens, .provenance = &stage->p, .replace = c->force, .unfinished = true};
        GEODEC_TRY_MSG(geodec_export_shards(m, o, &in->source, &g, s, c->pool, &c->hooks, err), "%s", input_path());
        GEODEC_TRY(geodec_export_assemble(m, o, parts, s->shards, stage->out, &c->hooks, err));
    }
    GEODEC_TRY(geodec_export_counts(stage->out, s, err));
    GEODEC_TRY(stage_commit(stage, err));
    if (s->shards) st = geodec_export_shards_remove(parts, err);
done:
    geodec_mem_free(parts);
    return st;
}

static geodec_status to_shards(const cli *c, geodec_comm *comm, const geodec_model *m, const geodec_export_options *o,
                               input *in, const geodec_provenance *p, const char *index, geodec_export_summary *s,
                               geodec_err *err)
{
    const geodec_export_sharding g = {.folder = output, .tokens = shard_tokens, .provenance = p, .replace = c->force};
    if (geodec_comm_rank(comm) == 0 && access(index, F_OK) == 0)
        GEODEC_PASS(geodec_export_shards_remove(output, err)); /* a complete export, replaced with --force */
    if (comm) { /* rank 0 then finds all shards, and finishes the folder */
        GEODEC_PASS(geodec_comm_barrier(comm, err));
        GEODEC_PASS(ranks_shards(c, comm, m, o, in, g, s, err));
        if (geodec_comm_rank(comm) > 0) return GEODEC_OK;
        GEODEC_PASS(reopen_source(m, in, err));
    }
    GEODEC_PASS_MSG(geodec_export_shards(m, o, &in->source, &g, s, c->pool, &c->hooks, err), "%s", input_path());
    return GEODEC_OK;
}

typedef struct digested {
    cli_stage *stage;
    const geodec_model *m;
} digested;

static geodec_status digest_inputs(void *ctx, geodec_err *err)
{
    const digested *in = ctx;
    GEODEC_PASS(stage_model(in->stage, model_path, in->m, err));
    GEODEC_PASS(stage_file(in->stage, input_path(), err));
    return GEODEC_OK;
}

/* Tokens of the input, from its bytes and those of a token. */
static double tokens_of(const input *in)
{
    enum { LOOK = 1 << 16 };
    if (text_path)
        return (double)in->file.documents.bytes / in->file.documents.bytes_per_token + (double)in->file.documents.n;
    int64_t ids = 0;
    const char *text = (const char *)in->map.data;
    const size_t n = in->bytes < LOOK ? in->bytes : LOOK;
    for (size_t i = 0; i < n; i++)
        ids += text[i] >= '0' && text[i] <= '9' && (i == 0 || text[i - 1] < '0' || text[i - 1] > '9');
    return n > 0 ? (double)ids * (double)in->bytes / (double)n : 0;
}

/* --plan. Results that are kept in shards first are written twice. */
static geodec_status plan(const cli *c, geodec_comm *comm, const geodec_model *m, const geodec_export_options *o,
                          const input *in, bool shards, double begin, geodec_err *err)
{
    geodec_size size;
    const double model = (double)geodec_gguf_file_bytes(geodec_model_gguf(m)), bytes = (double)in->bytes;
    needs_since(c->needs, "load", begin);
    geodec_needs_size(c->needs, "model_bytes", model);
    geodec_needs_size(c->needs, "input_bytes", bytes);
    needs_digest(c->needs, "inputs", 2 * model + bytes, 1);
    GEODEC_PASS_MSG(geodec_export_needs(m, o, &in->source, tokens_of(in), geodec_comm_size(comm), NEEDS_BUDGET, c->pool,
                                        c->needs, &size, err),
                    "%s", input_path());
    needs_process_and_file(c->needs, model);
    needs_output(c->needs, &size);
    if (!shards && in->bytes >= (size_t)shard_tokens && !(max_tokens && max_tokens <= shard_tokens)) {
        size.buffers = 0;
        needs_output(c->needs, &size);
    }
    return GEODEC_OK;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    cli_stage stage = {0};
    char *index = NULL;
    input in = {.bytes = 0};
    geodec_export_summary s = {0};
    int32_t list[GEODEC_LAYERS_MAX];
    geodec_comm *comm = NULL;
    const bool shards = strcmp(format, "safetensors") == 0;
    GEODEC_TRY(ranks_begin(c, mpi, &comm, err));
    if (!text_path == !tokens_path) GEODEC_THROW(GEODEC_INVAL, "give either --text or --tokens");
    if (!output) output = shards ? "activations" : "activations.h5";
    GEODEC_TRY(join(output, "/model.safetensors.index.json", &index, err));
    if (!shards || access(output, F_OK) == 0) /* the export makes a missing folder of shards */
        GEODEC_TRY(cli_may_write(c, shards ? index : output, err));
    stage = stage_of(c, output);
    const double begin = geodec_clock_process_seconds();
    const bool planned = c->needs && !streaming_plans(c);
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    (void)arithmetic_settle(c, m, &arithmetic);
    GEODEC_TRY(streaming_begin(c, m, arithmetic_of(arithmetic), 1, err));
    const geodec_model_config *mc = geodec_model_configuration(m);
    if (top_m < 0) top_m = shards ? 0 : TOP_DEFAULT;
    geodec_export_options o = {.layer = list,
                               .window = (int32_t)(window ? window : mc->n_ctx),
                               .max_tokens = max_tokens,
                               .top_m = (int32_t)(top_m < mc->n_vocab ? top_m : mc->n_vocab),
                               .logits = logits,
                               .half = half,
                               .arithmetic = arithmetic_of(arithmetic),
                               .kv = kv_of(kv),
                               .isa = isa_of(isa)};
    GEODEC_TRY(geodec_layer_list_parse(layers, mc->n_layer, list, &o.n_layers, err));
    GEODEC_TRY(geodec_export_parse_positions(positions, &o, err));
    context_check(c, m, "windows", o.window);
    GEODEC_TRY(open_input(m, &in, &o.separator, err));
    if (planned) {
        GEODEC_TRY(plan(c, comm, m, &o, &in, shards, begin, err));
        goto done;
    }
    digested inputs = {&stage, m};
    GEODEC_TRY(ranks_inputs(comm, digest_inputs, &inputs, err));
    if (shards)
        GEODEC_TRY(to_shards(c, comm, m, &o, &in, &stage.p, index, &s, err));
    else
        GEODEC_TRY(to_artifact(&stage, comm, m, &o, &in, &s, err));
    if (s.resumed) cli_say(c, "%lld of %lld shards were there", (long long)s.resumed, (long long)s.shards);
    if (text_path)
        cli_say(c, "%lld of %lld documents by the rule '%s' (%s), %lld tokens", (long long)s.documents,
                (long long)in.file.documents.n, geodec_documents_separator_name(o.separator), in.file.documents.why,
                (long long)s.tokens);
    cli_say(c, "%lld rows of %lld sequences, %d layers of width %d -> %s", (long long)s.rows, (long long)s.sequences,
            o.n_layers, mc->d_model, output);
done:
    stage_end(&stage);
    close_input(&in);
    geodec_mem_free(index);
    st = streaming_end(c, m, st, err);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
