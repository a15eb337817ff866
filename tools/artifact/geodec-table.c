/* geodec-table: artifacts and tables as columns of text: select, compute, filter, group, join, reshape. */
#include "artifact/select.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/kinds.h"
#include "io/frame.h"
#include "io/tsv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_ROOM = 128 };

static bool attrs, bare, markdown;
static const char *attr, *rows_text, *over, *where, *gap, *also, *join, *keys, *fill, *append, *order, *blocks;
static int64_t digits, at_least;
static const cli_option options[] = {
    OPT_FLAG("attrs", 0, &attrs, "print the attributes, one a row, instead of columns"),
    OPT_STR("attr", 0, &attr, "NAME", "print the value of one attribute, without a header"),
    OPT_STR("rows", 0, &rows_text, "A:B", "rows A to B-1 only (places of the first dimension); either may be left out"),
    OPT_STR("over", 0, &over, "DIM,..",
            "long form: a row for each place of these dimensions, the last one fastest; 'none': one row"),
    OPT_STR("where", 0, &where, "CONDITION", "only rows where this expression is neither 0 nor NaN"),
    OPT_FILE("also", 0, &also, "NAME=FILE",
             "a second artifact, whose fields are NAME:FIELD; dimensions of the rows must agree"),
    OPT_FILE("join", 0, &join, "TABLE", "add the columns of a text table, its rows found by the columns of --by"),
    OPT_STR("by", 0, &keys, "COLUMN,..", "the key of --join; two rows of TABLE with one key are refused"),
    OPT_STR("fill", 0, &fill, "TEXT", "cells of a row whose key TABLE does not have; without it that is an error"),
    OPT_FILE("append", 0, &append, "TABLE", "add the rows of a text table, which must have the same columns"),
    OPT_STR("sort", 0, &order, "COLUMN,..",
            "ascending rows: numbers by value, then texts; equal rows keep their order"),
    OPT_I64("digits", 0, &digits, 0, 17, "N", "significant digits of computed numbers; 0: no bit is lost"),
    OPT_FLAG("no-header", 0, &bare, "leave out the line of names"),
    OPT_STR("gap", 0, &gap, "DIM",
            "an empty line behind the rows of each place of this dimension, where gnuplot ends a line"),
    OPT_STR("blocks", 0, &blocks, "COLUMN[=LIST]",
            "a block of rows for each value of the column (for each word of the attribute LIST), for gnuplot's index"),
    OPT_FLAG("markdown", 0, &markdown, "print a Markdown table"),
    OPT_I64("at-least", 0, &at_least, 0, 1e15, "N", "end with status 5, not measured, when there are fewer rows"),
};

static const cli_tool tool = {
    .name = "geodec-table",
    .topic = CLI_TOPIC_ARTIFACTS,
    .purpose = "prints columns of an artifact or a text table: select, compute, filter, group, join, reshape",
    .usage = "[OPTIONS] FILE COLUMN...",
    .description =
        "FILE is an artifact, or a text table with a header and tab-separated rows (- is standard input). The output "
        "is\n"
        "such a table. Numbers are printed so that no bit is lost; geodec-info names the fields and dimensions.\n"
        "\n"
        "A COLUMN is NAME=EXPRESSION, or an expression alone; of a text table, * is all columns. The simplest\n"
        "expression is a field. The first axis of the fields is the rows, and their lengths must agree. A field with\n"
        "more axes takes a column for each element: field_0, field_1, ... Brackets choose places along those axes:\n"
        "FIELD[2,*] is place 2 of the first of them and all of the second; a negative place counts from the end;\n"
        "hit[-1,share=0.25] finds a place by the value of the field (or the word of the list) that numbers the axis.\n"
        "With --over the rows run over the dimensions named, and brackets are for the others.\n"
        "\n"
        "  @NAME             an attribute\n"
        "  @NAME[DIM]        of a list of words, the one of this place along the dimension; A:B:C=@NAME[DIM] cuts "
        "words\n"
        "                    like a:b:c into columns; @NAME[FIELD]: the word of that number\n"
        "  index(DIM)        place along a dimension of the rows (of a text table: row), from 0; size(DIM): its "
        "extent\n"
        "  12, \"text\"        constants\n"
        "  + - * / %         arithmetic; a / between names needs blanks around it\n"
        "  == != < <= > >=   1 or 0; two texts are compared as texts; && || ! combine conditions\n"
        "  abs(x) sqrt(x) exp(x) log(x) pow(x,y) min(x,y) max(x,y) if(condition,x,y) known(x)\n"
        "  fixed(x,decimals) words(name) concat(x,y)\n"
        "  running(x) total(x)   sum of the rows so far, and of all rows\n"
        "\n"
        "Sums over groups of rows: sum(x) mean(x) sem(x) median(x) quantile(x,share) first(x) only(x) count(). Where "
        "a\n"
        "column holds one, the columns without are the keys of the groups. A last value is a condition: sum(x, y > "
        "0).\n"
        "only(x, condition) is the one value of x in the group's rows with that condition (nan when there is none, an\n"
        "error when there are several); it turns rows into columns. A NaN among the values gives NaN.",
    .examples =
        "  geodec-table cloud.h5 ladder/points ladder/components\n"
        "  geodec-table --rows 0:100 propagators.h5 knn/index\n"
        "  geodec-table --over C,P geodesicity.h5 'along:metric:layer=@cases[C]' 'predictor=@predictors[P]' "
        "'error[0,0,0]'\n"
        "  geodec-table --where 'mode == \"greedy\" && gamma != \"auto\"' benchdecode.tsv drafter gamma speedup\n"
        "  geodec-table speed-lookup.h5 records 'near=only(single_us, kind == 0)' 'own=only(single_us, kind == 2)'\n"
        "  geodec-table --join bench.tsv --by drafter,gamma gain.tsv drafter gamma gain",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 1,
    .max_args = -1,
};

/* ---- input ------------------------------------------------------------------------------------------------------ */

/* Whether a file begins as text that is no artifact; what cannot be read is left to whoever opens it. */
static bool is_text(const char *path)
{
    char head[64];
    const char *dot = strrchr(path, '.');
    if (strcmp(path, "-") == 0) return true;
    if (dot && strcmp(dot, ".h5") == 0) return false;
    FILE *f = fopen(path, "rb");
    if (!f) return dot && strcmp(dot, ".tsv") == 0;
    const size_t n = fread(head, 1, sizeof head, f);
    (void)fclose(f);
    return !memchr(head, 0, n) && !(n >= 15 && memcmp(head, "geodec artifact", 15) == 0) &&
           !(n >= 4 && memcmp(head, "\211HDF", 4) == 0);
}

typedef struct input {
    geodec_artifact *artifact, *second;
    geodec_table table;
    bool text;
    char (*quoted)[NAME_ROOM]; /* {name} of each column of the table */
    char name[NAME_ROOM];
    geodec_select_source source[2];
    int n;
} input;

static geodec_status open_input(const char *path, input *in, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    in->text = is_text(path);
    if (in->text)
        GEODEC_TRY(geodec_table_read(path, &in->table, err));
    else
        GEODEC_TRY(cli_open_any(path, &in->artifact, err));
    in->source[0] = (geodec_select_source){"", in->artifact, in->text ? &in->table : NULL};
    in->n = 1;
    GEODEC_NEW(in->quoted, in->table.columns);
    for (int64_t k = 0; k < in->table.columns; k++) (void)snprintf(in->quoted[k], NAME_ROOM, "{%s}", in->table.cell[k]);
    if (also) {
        const char *equal = strchr(also, '=');
        if (!equal || equal == also || equal - also >= NAME_ROOM)
            GEODEC_THROW(GEODEC_INVAL, "--also: '%s' is not NAME=FILE", also);
        (void)snprintf(in->name, sizeof in->name, "%.*s", (int)(equal - also), also);
        GEODEC_TRY(cli_open_any(equal + 1, &in->second, err));
        in->source[in->n++] = (geodec_select_source){in->name, in->second, NULL};
    }
done:
    return st;
}

static void close_input(input *in)
{
    geodec_artifact_close(in->artifact);
    geodec_artifact_close(in->second);
    geodec_table_free(&in->table);
    geodec_mem_free(in->quoted);
}

/* ---- output ----------------------------------------------------------------------------------------------------- */

static geodec_status put_names(geodec_tsv *t, int64_t n, const char *const *names, geodec_err *err)
{
    return bare ? geodec_tsv_width(t, (int)n, err) : geodec_tsv_columns(t, (int)n, names, err);
}

static geodec_status put_cells(geodec_tsv *t, int64_t n, const char *const *cells, geodec_err *err)
{
    for (int64_t k = 0; k < n; k++) geodec_tsv_str(t, cells[k]);
    return geodec_tsv_end_row(t, err);
}

typedef struct stream { /* rows that are printed as they come */
    geodec_tsv *t;
    int64_t n;
} stream;

static geodec_status stream_header(void *ctx, int n, const char *const *names, geodec_err *err)
{
    stream *s = ctx;
    s->n = n;
    return put_names(s->t, n, names, err);
}

static geodec_status stream_row(void *ctx, const char *const *cells, geodec_err *err)
{
    stream *s = ctx;
    return put_cells(s->t, s->n, cells, err);
}

static geodec_status stream_gap(void *ctx, geodec_err *err)
{
    (void)err;
    geodec_tsv_gap(((stream *)ctx)->t);
    return GEODEC_OK;
}

static geodec_status keep_header(void *ctx, int n, const char *const *names, geodec_err *err)
{
    return geodec_frame_header(ctx, n, names, err);
}

static geodec_status keep_row(void *ctx, const char *const *cells, geodec_err *err)
{
    return geodec_frame_row(ctx, cells, err);
}

static geodec_status keep_gap(void *ctx, geodec_err *err)
{
    geodec_frame *f = ctx;
    (void)err;
    if (f->rows) f->gap[f->rows - 1] = true;
    return GEODEC_OK;
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

/* The rows with this value in the column, without it; how many. */
static int64_t print_block(const geodec_frame *f, int64_t column, const char *value, size_t n)
{
    int64_t found = 0;
    (void)printf("%.*s\n", (int)n, value);
    for (int64_t i = 0; i < f->rows; i++) {
        const char *const *cell = f->cell + i * f->columns;
        if (strlen(cell[column]) != n || strncmp(cell[column], value, n) != 0) continue;
        const char *between = "";
        for (int64_t k = 0; k < f->columns; k++) {
            if (k == column) continue;
            (void)printf("%s%s", between, cell[k]);
            between = "\t";
        }
        (void)printf(f->gap[i] ? "\n\n" : "\n");
        found++;
    }
    return found;
}

static geodec_status print_blocks(const input *in, const geodec_frame *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char name[NAME_ROOM];
    int64_t column, printed = 0;
    const char *words = NULL, *between = "";
    const size_t n = strcspn(blocks, "=");
    (void)snprintf(name, sizeof name, "%.*s", (int)n, blocks);
    GEODEC_TRY(geodec_frame_column(f, name, &column, err));
    if (blocks[n] && !in->artifact)
        GEODEC_THROW(GEODEC_INVAL, "--blocks: a table has no attribute '%s'", blocks + n + 1);
    if (blocks[n]) GEODEC_TRY(geodec_artifact_get_str(in->artifact, blocks + n + 1, &words, err));
    for (int64_t i = 0; i < f->rows && !words; i++) { /* values in the order of their first rows */
        const char *value = f->cell[i * f->columns + column];
        bool first = true;
        for (int64_t k = 0; k < i && first; k++) first = strcmp(f->cell[k * f->columns + column], value) != 0;
        if (!first) continue;
        (void)printf("%s", between);
        printed += print_block(f, column, value, strlen(value));
        between = "\n\n";
    }
    while (words) {
        const size_t length = strcspn(words, ",");
        (void)printf("%s", between);
        printed += print_block(f, column, words, length);
        between = "\n\n";
        words = words[length] ? words + length + 1 : NULL;
    }
    if (printed != f->rows) GEODEC_THROW(GEODEC_INVAL, "--blocks: a row's '%s' is not in the list", name);
    if (fflush(stdout) != 0 || ferror(stdout)) GEODEC_THROW(GEODEC_IO, "cannot write the table");
done:
    return st;
}

static geodec_status print_markdown(const geodec_frame *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int64_t k = 0; k < f->columns && !bare; k++) (void)printf("| %s ", f->name[k]);
    if (!bare) (void)printf("|\n");
    for (int64_t k = 0; k < f->columns && !bare; k++) (void)printf("|---");
    if (!bare) (void)printf("|\n");
    for (int64_t i = 0; i < f->rows; i++) {
        for (int64_t k = 0; k < f->columns; k++) (void)printf("| %s ", f->cell[i * f->columns + k]);
        (void)printf("|\n");
    }
    if (fflush(stdout) != 0 || ferror(stdout)) GEODEC_THROW(GEODEC_IO, "cannot write the table");
done:
    return st;
}

static geodec_status print_frame(const input *in, const geodec_frame *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    if (f->rows < at_least)
        GEODEC_THROW(GEODEC_SCARCE, "not measured: %" PRId64 " rows, %" PRId64 " needed", f->rows, at_least);
    if (blocks) {
        GEODEC_TRY(print_blocks(in, f, err));
        goto done;
    }
    if (markdown) {
        GEODEC_TRY(print_markdown(f, err));
        goto done;
    }
    GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(put_names(t, f->columns, f->name, err));
    for (int64_t i = 0; i < f->rows; i++) {
        GEODEC_TRY(put_cells(t, f->columns, f->cell + i * f->columns, err));
        if (f->gap[i]) geodec_tsv_gap(t);
    }
    geodec_tsv *table = t;
    t = NULL;
    GEODEC_TRY(geodec_tsv_commit(table, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

static geodec_status shape_frame(geodec_frame *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_table other = {0};
    if (join) {
        GEODEC_TRY(geodec_table_read(join, &other, err));
        GEODEC_TRY_MSG(geodec_frame_join(f, &other, keys, fill, err), "--join %s", join);
        geodec_table_free(&other);
    }
    if (append) {
        GEODEC_TRY(geodec_table_read(append, &other, err));
        GEODEC_TRY_MSG(geodec_frame_append(f, &other, err), "--append %s", append);
    }
    if (order) GEODEC_TRY_MSG(geodec_frame_sort(f, order, err), "--sort");
done:
    geodec_table_free(&other);
    return st;
}

/* The columns asked for; '*' is all columns of a text table. */
static geodec_status all_columns(const cli *c, const input *in, const char ***out, int *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t room = c->n_args - 1;
    for (int i = 1; i < c->n_args; i++) room += strcmp(c->args[i], "*") == 0 ? in->table.columns : 0;
    GEODEC_NEW(*out, room);
    *n = 0;
    for (int i = 1; i < c->n_args; i++) {
        if (strcmp(c->args[i], "*") != 0 || !in->text) {
            (*out)[(*n)++] = c->args[i];
            continue;
        }
        for (int64_t k = 0; k < in->table.columns; k++) (*out)[(*n)++] = in->quoted[k];
    }
done:
    return st;
}

static geodec_status print_columns(const cli *c, const input *in, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_frame f = {0};
    stream s = {0};
    const char **columns = NULL;
    int n_columns = 0;
    GEODEC_TRY(all_columns(c, in, &columns, &n_columns, err));
    const geodec_select_query query = {.columns = columns,
                                       .n_columns = n_columns,
                                       .where = where,
                                       .over = over,
                                       .gap = gap,
                                       .rows = rows_text,
                                       .digits = (int)digits};
    const bool kept = join || append || order || blocks || markdown || at_least;
    const geodec_select_sink streamed = {stream_header, stream_row, stream_gap, &s},
                             framed = {keep_header, keep_row, keep_gap, &f};
    if (!kept) GEODEC_TRY(geodec_tsv_on(stdout, &s.t, err));
    GEODEC_TRY_MSG(geodec_select_run(in->source, in->n, &query, kept ? &framed : &streamed, &c->hooks, err), "%s",
                   c->args[0]);
    if (kept) {
        GEODEC_TRY(shape_frame(&f, err));
        GEODEC_TRY(print_frame(in, &f, err));
        goto done;
    }
    geodec_tsv *table = s.t;
    s.t = NULL;
    GEODEC_TRY(geodec_tsv_commit(table, err));
done:
    geodec_tsv_abandon(s.t);
    geodec_frame_free(&f);
    geodec_mem_free(columns);
    return st;
}

static geodec_status put_attr(const geodec_artifact *a, const geodec_attr *which, geodec_tsv *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *s;
    int64_t k;
    double d;
    switch (which->type) {
    case GEODEC_ATTR_I64:
        GEODEC_TRY(geodec_artifact_get_i64(a, which->name, &k, err));
        geodec_tsv_i64(t, k);
        break;
    case GEODEC_ATTR_F64:
        GEODEC_TRY(geodec_artifact_get_f64(a, which->name, &d, err));
        geodec_tsv_f64(t, d);
        break;
    case GEODEC_ATTR_STR:
        GEODEC_TRY(geodec_artifact_get_str(a, which->name, &s, err));
        geodec_tsv_str(t, s);
        break;
    }
    GEODEC_TRY(geodec_tsv_end_row(t, err));
done:
    return st;
}

/* All attributes, or the value of one. */
static geodec_status print_attrs(const geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    const geodec_kind *kind = geodec_artifact_kind(a);
    const char *text;
    bool found = false;
    GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    if (attr)
        GEODEC_TRY(geodec_tsv_width(t, 1, err));
    else
        GEODEC_TRY(put_names(t, 2, (const char *const[]){"attribute", "value"}, err));
    if (attr && geodec_artifact_get_str(a, attr, &text, NULL) == GEODEC_OK) { /* also the common ones */
        geodec_tsv_str(t, text);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
        found = true;
    }
    for (int i = 0; i < kind->n_attrs && !(attr && found); i++) {
        const char *name = kind->attrs[i].name;
        if (attr && strcmp(attr, name) != 0) continue;
        found = true;
        if (!geodec_artifact_has_attr(a, name)) {
            if (attr) GEODEC_THROW(GEODEC_NOTFOUND, "there is no attribute '%s' in this file", attr);
            continue;
        }
        if (!attr) geodec_tsv_str(t, name);
        GEODEC_TRY(put_attr(a, &kind->attrs[i], t, err));
    }
    if (attr && !found) GEODEC_THROW(GEODEC_INVAL, "kind '%s' has no attribute '%s'", kind->name, attr);
    geodec_tsv *table = t;
    t = NULL;
    GEODEC_TRY(geodec_tsv_commit(table, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    input in = {0};
    if (attrs || attr ? c->n_args > 1 || rows_text : c->n_args < 2)
        GEODEC_THROW(GEODEC_INVAL, "name columns, or give --attrs or --attr alone");
    if (!join != !keys) GEODEC_THROW(GEODEC_INVAL, "--join and --by go together");
    if (fill && !join) GEODEC_THROW(GEODEC_INVAL, "--fill is for --join");
    if (blocks && markdown) GEODEC_THROW(GEODEC_INVAL, "--blocks and --markdown do not go together");
    GEODEC_TRY(open_input(c->args[0], &in, err));
    if (attrs || attr) {
        if (in.text) GEODEC_THROW(GEODEC_INVAL, "%s: a text table has no attributes", c->args[0]);
        GEODEC_TRY_MSG(print_attrs(in.artifact, err), "%s", c->args[0]);
        goto done;
    }
    GEODEC_TRY(print_columns(c, &in, err));
done:
    close_input(&in);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
