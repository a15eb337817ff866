/* geodec-table: columns of artifacts and text tables, and SQL queries. */
#include "artifact/select.h"
#include "cli/cli.h"
#include "cli/kinds.h"

#include <stdio.h>

static geodec_select o;

static const cli_option options[] = {
    OPT_FLAG("attrs", 0, &o.attrs, "print the attributes, one per row, instead of columns"),
    OPT_STR("attr", 0, &o.attr, "NAME", "print the value of one attribute, without a header"),
    OPT_STR("rows", 0, &o.rows, "A:B",
            "use only rows A to B-1 of table t (indices of the first dimension); A or B may be omitted"),
    OPT_STR("over", 0, &o.over, "DIM,..",
            "make a row for each index of these dimensions, with the last one fastest; 'none': one row"),
    OPT_FILE("also", 0, &o.also, "NAME=FILE", "further artifact or text table, as table NAME"),
    OPT_I64("digits", 0, &o.digits, 0, 17, "N",
            "significant digits of computed numbers; 0: as many as are needed to read back the same number"),
    OPT_FLAG("no-header", 0, &o.bare, "do not print the line of names"),
    OPT_STR("gap", 0, &o.gap, "COLUMN",
            "do not print this column of the result; print an empty line after the rows of each of its values (gnuplot "
            "ends a line there)"),
    OPT_STR("blocks", 0, &o.blocks, "COLUMN[=LIST]",
            "do not print this column of the result; print a block of rows for each of its values, or for each word of "
            "the attribute LIST in this order (for gnuplot's index)"),
    OPT_FLAG("markdown", 0, &o.markdown, "print a Markdown table"),
    OPT_I64("at-least", 0, &o.at_least, 0, 1e15, "N",
            "end with status 5, not measured, if there are fewer than N rows"),
};

static const cli_tool tool = {
    .name = "geodec-table",
    .topic = CLI_TOPIC_ARTIFACTS,
    .purpose = "print columns of an artifact or a text table, or the result of an SQL query",
    .usage = "[OPTIONS] FILE 'SELECT ...'|COLUMN...",
    .description =
        "FILE is an artifact, or a text table with a header and tab-separated rows (- is standard input). The output\n"
        "is such a table. Numbers are printed with enough digits to read back the same value; geodec-info lists\n"
        "fields and dimensions.\n"
        "\n"
        "The query is SQL as in SQLite; FILE is its table t. A list of columns means SELECT COLUMN, ... FROM t.\n"
        "The columns of t are the fields of the artifact (\"group/field\" in quotation marks), or the columns of the\n"
        "text table. Rows are along the first axis of the fields, whose lengths must agree. With --over, rows are "
        "along\n"
        "the given dimensions, each of which is also a column with its index, from 0. rowid is the index of the row,\n"
        "from 0. A field with further axes is an array; it is printed as columns field_0, field_1, ...\n"
        "\n"
        "  @NAME                attribute of t; @TABLE_NAME: of the table of --also\n"
        "  :DIM                 extent of a dimension of t\n"
        "  at(array, i, ...)    element; a negative index counts from the end; with fewer indices an array\n"
        "  word(list, i)        item of a list \"a,b\" or \"a;b\"; word(text, i, ':') of a text \"a:b\"\n"
        "  fixed(x, decimals)   text with this number of decimals\n"
        "  exact(x) exact32(x)  shortest text that reads back as the same double or float, regardless of --digits\n"
        "  number(x) known(x)   x as a number, an error for other texts; 1 when x is a finite number\n"
        "\n"
        "Aggregates in addition to those of SQLite: mean(x) sem(x) median(x) quantile(x, share) first(x) only(x).\n"
        "only(x) is the one value (NULL when there is none, an error when there are several); with FILTER (WHERE ...)\n"
        "it turns rows into columns. median\n"
        "and quantile interpolate as numpy does. A NaN is NULL, and so is a cell of a text table that is empty, nan, "
        "na, "
        "n/a, null,\n"
        "inf or -inf: it is printed as nan, equals nothing, and count(x) and conditions leave it out. In sum(x) and "
        "the\n"
        "aggregates above it gives NaN.\n"
        "Groups keep the order of their first rows with ORDER BY min(rowid). Columns of a text table are texts, and\n"
        "are compared and sorted by value where both are numbers; whole numbers of any size exactly. As in SQL, a text "
        "that is no number counts as 0 in\n"
        "arithmetic, the quotient of two integers is an integer, and log() is the decimal logarithm.",
    .examples = "  geodec-table cloud.h5 ladder/points ladder/components\n"
                "  geodec-table --rows 0:100 propagators.h5 knn/index\n"
                "  geodec-table --over C,P geodesicity.h5 \"SELECT word(word(@cases, C), 1, ':') AS metric, "
                "word(@predictors, P) "
                "AS predictor, at(error, 0, 0, 0) AS error FROM t\"\n"
                "  geodec-table benchdecode.tsv \"SELECT drafter, gamma, speedup FROM t WHERE mode = 'greedy'\"\n"
                "  geodec-table speed-lookup.h5 'SELECT records, only(single_us) FILTER (WHERE kind = 0) AS near FROM "
                "t GROUP BY "
                "records'\n"
                "  geodec-table --also b=bench.tsv gain.tsv 'SELECT * FROM t JOIN b USING (drafter, gamma)'",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 1,
    .max_args = -1,
};

static geodec_status run(const cli *c, geodec_err *err)
{
    o.kinds = cli_kinds();
    o.n_kinds = cli_n_kinds();
    return geodec_select_print(&o, c->args[0], c->n_args - 1, (const char *const *)c->args + 1, stdout, &c->hooks, err);
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
