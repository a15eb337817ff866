/* geodec-table: artifacts and tables as columns of text: select, compute, filter, group, join, reshape. */
#include "artifact/select_report.h"
#include "cli/cli.h"
#include "cli/kinds.h"

#include <stdio.h>

static geodec_select_report o = {.kinds = cli_kinds};

static const cli_option options[] = {
    OPT_FLAG("attrs", 0, &o.attrs, "print the attributes, one a row, instead of columns"),
    OPT_STR("attr", 0, &o.attr, "NAME", "print the value of one attribute, without a header"),
    OPT_STR("rows", 0, &o.rows_text, "A:B",
            "rows A to B-1 only (places of the first dimension); either may be left out"),
    OPT_STR("over", 0, &o.over, "DIM,..",
            "long form: a row for each place of these dimensions, the last one fastest; 'none': one row"),
    OPT_STR("where", 0, &o.where, "CONDITION", "only rows where this expression is neither 0 nor NaN"),
    OPT_FILE("also", 0, &o.also, "NAME=FILE",
             "a second artifact, whose fields are NAME:FIELD; dimensions of the rows must agree"),
    OPT_FILE("join", 0, &o.join, "TABLE", "add the columns of a text table, its rows found by the columns of --by"),
    OPT_STR("by", 0, &o.keys, "COLUMN,..", "the key of --join; two rows of TABLE with one key are refused"),
    OPT_STR("fill", 0, &o.fill, "TEXT", "cells of a row whose key TABLE does not have; without it that is an error"),
    OPT_FILE("append", 0, &o.append, "TABLE", "add the rows of a text table, which must have the same columns"),
    OPT_STR("sort", 0, &o.order, "COLUMN,..",
            "ascending rows: numbers by value, then texts; equal rows keep their order"),
    OPT_I64("digits", 0, &o.digits, 0, 17, "N", "significant digits of computed numbers; 0: no bit is lost"),
    OPT_FLAG("no-header", 0, &o.bare, "leave out the line of names"),
    OPT_STR("gap", 0, &o.gap, "DIM",
            "an empty line behind the rows of each place of this dimension, where gnuplot ends a line"),
    OPT_STR("blocks", 0, &o.blocks, "COLUMN[=LIST]",
            "a block of rows for each value of the column (for each word of the attribute LIST), for gnuplot's index"),
    OPT_FLAG("markdown", 0, &o.markdown, "print a Markdown table"),
    OPT_I64("at-least", 0, &o.at_least, 0, 1e15, "N", "end with status 5, not measured, when there are fewer rows"),
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

static geodec_status run(const cli *c, geodec_err *err)
{
    o.n_kinds = cli_n_kinds;
    return geodec_select_report_print(&o, c->args[0], c->n_args - 1, (const char *const *)c->args + 1, stdout,
                                      &c->hooks, err);
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
