/* geodec-import: points of other programs as a cloud, states of other programs as activations. */
#include "base/mem.h"
#include "chain/activations.h"
#include "chain/cloud.h"
#include "chain/import.h"
#include "chain/import_states.h"
#include "cli/cloud.h"
#include "cli/stage.h"
#include "io/matrix.h"

#include <string.h>

static const char *output, *dataset = "", *mask, *header = "auto", *tensors = "", *format = "auto", *lift = "none";
static int64_t dim, k_int;
static double variance = 0.95;
static bool coordinates, states, consecutive, drop_missing;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "cloud.h5, activations.h5 with --states"),
    OPT_CHOICE("format", 0, &format, "auto|export|npy|text|hdf5|safetensors", "FORMAT",
               "format of the input; auto: detect it from the first bytes"),
    OPT_STR("dataset", 0, &dataset, "NAME",
            "dataset of an HDF5 file: a matrix of numbers with one point or state per row"),
    OPT_STR("tensors", 0, &tensors, "LIST",
            "tensors of safetensors files, joined by commas, in the order of layers (default: by their names)"),
    OPT_STR("mask", 0, &mask, "NAME",
            "dataset or tensor that says which rows are data, 1 or true for a row that is; !NAME: for one that is not; "
            "none (default: one beside the states named attention_mask, mask, padding_mask, ..)"),
    OPT_FLAG("drop-missing", 0, &drop_missing, "leave out rows with missing or infinite values; otherwise an error"),
    OPT_CHOICE("header", 0, &header, "auto|yes|no", "HOW", "whether the first line of a table of text is a header"),
    OPT_FLAG("coordinates", 0, &coordinates, "rows are coordinates; make a cloud"),
    OPT_FLAG("states", 0, &states, "rows are hidden states; make activations, for geodec-cloud"),
    OPT_FLAG("consecutive", 0, &consecutive,
             "rows are consecutive states of one text, whose steps geodesics may use as initial directions"),
    OPT_I64("dim", 'n', &dim, 0, 4096, "N",
            "use the first N coordinates; an export has 3 measured ones, and more need --lift (0: all, or with --lift "
            "one per eigenvalue)"),
    OPT_CHOICE("lift", 0, &lift, "none|noise", "HOW",
               "source of coordinates that an export does not contain: noise, as in the papers' harness"),
    OPT_I64("k-int", 0, &k_int, 0, 1e6, "N",
            "integer intrinsic dimension for later stages (0: that of the export, or all coordinates)"),
    OPT_F64("variance", 0, &variance, 1e-6, 1, "X", "share of the variance for the numbers of components"),
};

static const cli_tool tool = {
    .name = "geodec-import",
    .topic = CLI_TOPIC_STATES,
    .purpose = "import points or hidden states from other programs",
    .usage = "[OPTIONS] INPUT",
    .description =
        "INPUT is a folder with the papers' public exports of phases 1 to 4 (or one such JSON file), or a matrix:\n"
        ".npy, a text table (separated by tabs, commas, semicolons or blanks, with or without a header), or a\n"
        "dataset of an HDF5 file. All content is validated. Points have no tokens. The exports contain three\n"
        "coordinates per point; further ones, from --lift, are noise. measured_dims in the file is the number of\n"
        "measured coordinates.\n\n"
        "Hidden states are also read from safetensors: a file, or a folder of shards in the order of the numbers\n"
        "in their names. Tensors are [rows][d] or [sequences][positions][d] of F32, F16, BF16 or F64, with names of\n"
        "TransformerLens (blocks.B.hook_resid_pre, blocks.B.hook_resid_post, hook_embed), of SAELens (activations),\n"
        "of transformers (hidden_states.L) or of geodec-export (layer.L); --tensors gives others. Whole numbers of\n"
        "the names token, tokens, token_ids or input_ids, next_token, position, sequence and document are read too.",
    .examples = "geodec-import -o cloud.h5 exports/smollm2-135m\n"
                "geodec-import --dim 8 --lift noise -o lifted.h5 exports/smollm2-135m\n"
                "geodec-import --coordinates --dataset cloud/points -o cloud.h5 other.h5\n"
                "geodec-import --states -o activations.h5 states.npy && geodec-cloud -o cloud.h5 activations.h5\n"
                "geodec-import --states -o activations.h5 shards && geodec-cloud --layer 5 -o cloud.h5 activations.h5",
    CLI_TAKES(options, 1, 1),
};

static geodec_status import_export(cli_stage *stage, geodec_err *err)
{
    static geodec_import_data e;
    geodec_status st = GEODEC_OK;
    const cli *c = stage->c;
    geodec_cloud_options o = geodec_cloud_defaults();
    geodec_cloud_summary s;
    double *x = NULL;
    o.variance = variance;
    o.seed = c->seed;
    if (coordinates || states || dataset[0])
        GEODEC_THROW(GEODEC_INVAL, "an export takes none of --coordinates, --states and --dataset");
    GEODEC_TRY(geodec_import_read(c->args[0], &e, err));
    const bool noise = strcmp(lift, "noise") == 0;
    const int64_t measured = GEODEC_EXPORT_COORDINATES, n = dim > 0 ? dim : noise ? e.values : measured;
    if (n < measured || n > e.values)
        GEODEC_THROW(GEODEC_RANGE, "--dim: %s allows %lld to %lld", c->args[0], (long long)measured,
                     (long long)e.values);
    if (n > measured && !noise)
        GEODEC_THROW(GEODEC_INVAL, "--dim %lld: only %lld coordinates are measured; --lift noise adds the others",
                     (long long)n, (long long)measured);
    GEODEC_NEW(x, e.points * n);
    GEODEC_TRY(geodec_import_lift(&e, n, c->seed, x, err));
    for (int i = 0; i < e.n_files; i++) GEODEC_TRY(stage_file(stage, e.file[i], err));
    GEODEC_TRY(stage_create(stage, &geodec_cloud_kind, err));
    const geodec_cloud_points points = {.points = e.points,
                                        .k = n,
                                        .x = x,
                                        .eigenvalue = e.eigenvalue,
                                        .values = e.values,
                                        .total_variance = e.total_variance,
                                        .components = e.components,
                                        .k_int = k_int > 0 ? k_int : e.intrinsic_dim,
                                        .measured = measured,
                                        .source = "export"};
    GEODEC_TRY(geodec_cloud_from_points(&points, &o, stage->out, &s, c->pool, &c->hooks, err));
    GEODEC_TRY(geodec_import_write_attrs(&e, stage->out, err));
    GEODEC_TRY(stage_commit(stage, err));
    cli_say(c, "%s: %lld points; published: dimension %lld, %lld components, width %lld", e.model, (long long)e.points,
            (long long)e.intrinsic_dim, (long long)e.components, (long long)e.width);
    if (n > measured && !c->quiet)
        geodec_hooks_log(&c->hooks, GEODEC_LOG_WARN, "%lld of the %lld coordinates are noise",
                         (long long)(n - measured), (long long)n);
done:
    geodec_import_clear(&e);
    geodec_mem_free(x);
    return st;
}

/* The first n of cols columns, in place. */
static void keep_columns(int64_t rows, int64_t cols, int64_t n, double *x)
{
    for (int64_t r = 1; n < cols && r < rows; r++) memmove(x + r * n, x + r * cols, (size_t)n * sizeof *x);
}

static geodec_status write_cloud(cli_stage *stage, int64_t rows, int64_t n, const double *x, geodec_err *err)
{
    const cli *c = stage->c;
    geodec_cloud_options o = geodec_cloud_defaults();
    geodec_cloud_summary s;
    const geodec_cloud_points points = {
        .points = rows, .k = n, .x = x, .k_int = k_int, .consecutive = consecutive, .source = "coordinates"};
    o.variance = variance;
    o.seed = c->seed;
    GEODEC_PASS(stage_create(stage, &geodec_cloud_kind, err));
    GEODEC_PASS_MSG(geodec_cloud_from_points(&points, &o, stage->out, &s, c->pool, &c->hooks, err), "%s", c->args[0]);
    GEODEC_PASS(stage_commit(stage, err));
    cli_say(c, "%lld points of %lld coordinates", (long long)rows, (long long)n);
    cloud_say_twonn(c, &s);
    return GEODEC_OK;
}

static geodec_status write_states(cli_stage *stage, int64_t rows, int64_t n, const double *x, geodec_err *err)
{
    const cli *c = stage->c;
    bool shifted;
    int64_t merged;
    GEODEC_PASS(stage_create(stage, &geodec_activations_kind, err));
    GEODEC_PASS_MSG(geodec_activations_write_states(rows, n, x, consecutive, stage->out, &shifted, &merged, err), "%s",
                    c->args[0]);
    GEODEC_PASS(stage_commit(stage, err));
    if (shifted)
        cli_say(c, "the median of each coordinate was subtracted, because float32 has too few digits there (/shift)");
    if (merged > 0) cli_say(c, "%lld states became equal to another one as float32", (long long)merged);
    cli_say(c, "%lld states of width %lld -> %s", (long long)rows, (long long)n, output);
    return GEODEC_OK;
}

/* What was left out, changed or guessed. */
static void say_matrix(const cli *c, const geodec_matrix *m)
{
    const struct {
        int64_t rows;
        const char *why;
    } cause[] = {{m->masked, "the mask"},
                 {m->filled, "fill values"},
                 {m->invalid, "the valid range"},
                 {m->missing, "missing or infinite values"}};
    if (m->note[0]) cli_say(c, "%s", m->note);
    if (m->mask[0]) cli_say(c, "mask %s", m->mask);
    for (int i = 0; i < CLI_COUNT(cause); i++)
        if (cause[i].rows > 0)
            cli_say(c, "%lld of %lld rows left out by %s", (long long)cause[i].rows, (long long)m->given, cause[i].why);
    if (m->scaled) cli_say(c, "scale_factor %g and add_offset %g applied", m->scale, m->offset);
    if (m->rounded > 0) cli_say(c, "%lld whole numbers beyond 2^53 are rounded to float64", (long long)m->rounded);
}

static geodec_status import_matrix(cli_stage *stage, const char *sort, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const cli *c = stage->c;
    geodec_matrix m = {0};
    const geodec_matrix_options o = {.dataset = dataset,
                                     .mask = mask,
                                     .drop_missing = drop_missing,
                                     .header = strcmp(header, "yes") == 0  ? GEODEC_HEADER_YES
                                               : strcmp(header, "no") == 0 ? GEODEC_HEADER_NO
                                                                           : GEODEC_HEADER_AUTO};
    if (coordinates == states) GEODEC_THROW(GEODEC_INVAL, "give either --coordinates or --states");
    if (strcmp(lift, "none") != 0) GEODEC_THROW(GEODEC_INVAL, "--lift is for exports");
    if (mask && strcmp(sort, "hdf5") != 0) GEODEC_THROW(GEODEC_INVAL, "--mask is for HDF5 and safetensors files");
    GEODEC_TRY(geodec_matrix_read(c->args[0], sort, &o, &m, err));
    say_matrix(c, &m);
    if (dim > m.cols)
        GEODEC_THROW(GEODEC_RANGE, "--dim: %s has %lld columns, not %lld", c->args[0], (long long)m.cols,
                     (long long)dim);
    const int64_t n = dim > 0 ? dim : m.cols;
    keep_columns(m.rows, m.cols, n, m.x);
    GEODEC_TRY(stage_file(stage, c->args[0], err));
    GEODEC_TRY((states ? write_states : write_cloud)(stage, m.rows, n, m.x, err));
done:
    geodec_matrix_clear(&m);
    return st;
}

static geodec_status import_shards(cli_stage *stage, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const cli *c = stage->c;
    geodec_import_states *s = NULL;
    if (!states || coordinates) GEODEC_THROW(GEODEC_INVAL, "safetensors files have hidden states: give --states");
    if (dim > 0 || k_int > 0 || dataset[0] || strcmp(lift, "none") != 0)
        GEODEC_THROW(GEODEC_INVAL, "--dim, --k-int, --dataset and --lift are not for safetensors files");
    GEODEC_TRY(geodec_import_states_open(c->args[0], tensors, mask, &s, err));
    if (geodec_import_states_files(s) == 1)
        GEODEC_TRY(stage_file(stage, geodec_import_states_paths(s)[0], err));
    else
        GEODEC_TRY(geodec_provenance_add_files(&stage->p, c->args[0], geodec_import_states_files(s),
                                               geodec_import_states_paths(s), err));
    GEODEC_TRY(stage_create(stage, &geodec_activations_kind, err));
    GEODEC_TRY(geodec_import_states_write(s, consecutive, drop_missing, stage->out, &c->hooks, err));
    GEODEC_TRY(stage_commit(stage, err));
    const geodec_import_states_counts *n = geodec_import_states_counted(s);
    if (geodec_import_states_mask(s)[0])
        cli_say(c, "%lld of %lld rows left out by the mask %s", (long long)n->masked,
                (long long)geodec_import_states_rows(s), geodec_import_states_mask(s));
    if (geodec_import_states_unused_mask(s)[0])
        cli_say(c, "%s may be a mask and was not used; --mask NAME uses it, --mask none ignores masks",
                geodec_import_states_unused_mask(s));
    if (n->missing > 0)
        cli_say(c, "%lld of %lld rows left out by values that are not finite", (long long)n->missing,
                (long long)geodec_import_states_rows(s));
    if (n->shifted)
        cli_say(c, "medians of float64 states were subtracted, because float32 has too few digits there (/shift)");
    cli_say(c, "%lld states of width %lld, %d layers (%s to %s), %d files -> %s", (long long)n->kept,
            (long long)geodec_import_states_width(s), geodec_import_states_layers(s), geodec_import_states_tensor(s, 0),
            geodec_import_states_tensor(s, geodec_import_states_layers(s) - 1), geodec_import_states_files(s), output);
done:
    geodec_import_states_close(s);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    const char *sort = format;
    if (!output) output = states ? "activations.h5" : "cloud.h5";
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    if (strcmp(sort, "auto") == 0) GEODEC_TRY(geodec_import_format(c->args[0], dataset, &sort, err));
    if (strcmp(sort, "safetensors") == 0)
        GEODEC_TRY(import_shards(&stage, err));
    else
        GEODEC_TRY(strcmp(sort, "export") == 0 ? import_export(&stage, err) : import_matrix(&stage, sort, err));
done:
    stage_end(&stage);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
