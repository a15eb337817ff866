/* geodec-value: single numbers of artifacts and tables by reference, for tables that quote many files. */
#include "base/mem.h"
#include "io/format.h"
#include "io/tsv.h"
#include "support/cli.h"
#include "support/kinds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REFERENCE_ROOM = 4096, SLAB_BYTES = 1 << 26 };

static const char *missing, *root = ".";
static const cli_option options[] = {
    {.name = "missing",
     .type = CLI_STR,
     .target = &missing,
     .metavar = "TEXT",
     .help = "print TEXT for a file that is not there or lacks the name, in place of an error"},
    {.name = "root", .type = CLI_STR, .target = &root, .metavar = "DIR", .help = "folder that FILE is relative to"},
};

static const cli_tool tool = {
    .name = "geodec-value",
    .topic = CLI_TOPIC_ARTIFACTS,
    .purpose = "prints single numbers of artifacts and tables: a row REFERENCE, VALUE for each reference",
    .usage = "[OPTIONS] [REFERENCE...]",
    .description =
        "A reference is FILE#NAME, NAME an attribute or a field, with an index for each of the field's axes:\n"
        "FILE#NAME[2][0]. In a table (FILE.tsv, a header and rows) NAME is a column: FILE.tsv#NAME[3] is its fourth "
        "row's cell. Without references on the command line they are read from standard input, one a line.",
    .examples = "  geodec-value riemann.h5#median_abs_scalar_samples 'coverage.h5#hit[0][1][4]'",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 0,
    .max_args = -1,
};

typedef struct reference {
    char file[2 * REFERENCE_ROOM], name[REFERENCE_ROOM];
    int64_t index[GEODEC_RANK_MAX];
    int rank;
} reference;

static geodec_status parse(const char *text, reference *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *hash = strrchr(text, '#');
    if (!hash || hash == text || !hash[1] || strlen(text) + strlen(root) + 2 > REFERENCE_ROOM)
        GEODEC_THROW(GEODEC_INVAL, "'%.200s' is not FILE#NAME", text);
    (void)snprintf(r->file, sizeof r->file, "%s/%.*s", text[0] == '/' ? "" : root, (int)(hash - text), text);
    (void)snprintf(r->name, sizeof r->name, "%s", hash + 1);
    r->rank = 0;
    char *at = strchr(r->name, '[');
    while (at && *at) {
        char *end = NULL;
        const long long i = *at == '[' && at[1] >= '0' && at[1] <= '9' ? strtoll(at + 1, &end, 10) : -1;
        if (i < 0 || *end != ']' || r->rank == GEODEC_RANK_MAX)
            GEODEC_THROW(GEODEC_INVAL, "'%.200s': an index is [NUMBER]", text);
        r->index[r->rank++] = i;
        *at = 0;
        at = end + 1;
    }
done:
    return st;
}

static geodec_status element(const geodec_artifact *a, const reference *r, char *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_kind *kind = geodec_artifact_kind(a);
    const geodec_field *field = NULL;
    char path[REFERENCE_ROOM + 1];
    int64_t shape[GEODEC_RANK_MAX], row = 1, at = 0;
    int rank;
    char *slab = NULL;
    (void)snprintf(path, sizeof path, "%s%s", r->name[0] == '/' ? "" : "/", r->name);
    for (int i = 0; i < kind->n_fields; i++)
        if (strcmp(kind->fields[i].path, path) == 0) field = &kind->fields[i];
    if (!field || !geodec_artifact_has(a, path))
        GEODEC_THROW(GEODEC_NOTFOUND, "no attribute or field '%.200s'", r->name);
    GEODEC_TRY(geodec_artifact_shape(a, path, shape, &rank, err));
    if (rank != r->rank) GEODEC_THROW(GEODEC_RANGE, "'%.200s' has %d axes, not %d", r->name, rank, r->rank);
    for (int d = 0; d < rank; d++) {
        if (r->index[d] >= shape[d])
            GEODEC_THROW(GEODEC_RANGE, "index %" PRId64 " of '%.200s' is beyond %" PRId64, r->index[d], r->name,
                         shape[d]);
        if (d > 0) {
            row *= shape[d];
            at = at * shape[d] + r->index[d];
        }
    }
    const int64_t size = (int64_t)geodec_type_size(field->type);
    if (row > SLAB_BYTES / size) GEODEC_THROW(GEODEC_LIMIT, "a row of '%.200s' is too long", r->name);
    if (rank == 0) {
        GEODEC_TRY(geodec_artifact_read(a, path, &slab, err));
    } else {
        GEODEC_NEW(slab, row * size);
        GEODEC_TRY(geodec_artifact_read_rows(a, path, r->index[0], 1, slab, err));
    }
    geodec_format_element(field->type, slab, at, value);
done:
    geodec_mem_free(slab);
    return st;
}

static geodec_status attribute(const geodec_artifact *a, const char *name, char *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_kind *kind = geodec_artifact_kind(a);
    for (int i = 0; i < kind->n_attrs; i++) {
        const char *s;
        int64_t k;
        double d;
        if (strcmp(kind->attrs[i].name, name) != 0) continue;
        switch (kind->attrs[i].type) {
        case GEODEC_ATTR_I64:
            GEODEC_TRY(geodec_artifact_get_i64(a, name, &k, err));
            geodec_format_element(GEODEC_I64, &k, 0, value);
            break;
        case GEODEC_ATTR_F64:
            GEODEC_TRY(geodec_artifact_get_f64(a, name, &d, err));
            geodec_format_element(GEODEC_F64, &d, 0, value);
            break;
        case GEODEC_ATTR_STR:
            GEODEC_TRY(geodec_artifact_get_str(a, name, &s, err));
            (void)snprintf(value, REFERENCE_ROOM, "%s", s);
            break;
        }
    }
done:
    return st;
}

/* Word number k of a line of cells, or NULL; the line is cut there. */
static char *word_of(char *line, int64_t k)
{
    char *word = line;
    while (k-- > 0 && word) {
        word = strchr(word, '\t');
        if (word) word++;
    }
    if (word) word[strcspn(word, "\t")] = 0;
    return word;
}

/* The cell of column r->name in row r->index[0] of a table. */
static geodec_status cell(const reference *r, char *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static char line[1 << 16];
    int64_t column = 0;
    const char *word = NULL;
    FILE *f = fopen(r->file, "r");
    if (!f) GEODEC_THROW(errno == ENOENT ? GEODEC_NOTFOUND : GEODEC_IO, "%s: %s", r->file, strerror(errno));
    if (r->rank != 1) GEODEC_THROW(GEODEC_RANGE, "a cell of a table is COLUMN[ROW]");
    for (int64_t row = -1; row <= r->index[0]; row++) { /* the header is row -1 */
        if (!fgets(line, sizeof line, f)) GEODEC_THROW(GEODEC_RANGE, "%s has no row %" PRId64, r->file, r->index[0]);
        const size_t n = strcspn(line, "\r\n");
        if (!line[n] && n + 1 == sizeof line) GEODEC_THROW(GEODEC_LIMIT, "%s: a line is too long", r->file);
        line[n] = 0;
        if (row >= 0) continue;
        const size_t length = strlen(r->name);
        for (word = line; word && !(strncmp(word, r->name, length) == 0 && (!word[length] || word[length] == '\t'));
             column++) {
            word = strchr(word, '\t');
            if (word) word++;
        }
        if (!word) GEODEC_THROW(GEODEC_NOTFOUND, "%s has no column '%.200s'", r->file, r->name);
    }
    word = word_of(line, column);
    const size_t room = word ? strlen(word) + 1 : 0;
    if (room < 2 || room > REFERENCE_ROOM)
        GEODEC_THROW(GEODEC_FORMAT, "%s: no cell '%.200s' in row %" PRId64, r->file, r->name, r->index[0]);
    memcpy(value, word, room);
done:
    if (f) (void)fclose(f);
    return st;
}

static bool is_table(const char *file)
{
    const size_t n = strlen(file);
    return n > 4 && strcmp(file + n - 4, ".tsv") == 0;
}

/* value [REFERENCE_ROOM] */
static geodec_status look_up(const char *text, char *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    static reference r;
    GEODEC_TRY(parse(text, &r, err));
    if (missing && access(r.file, F_OK) != 0) {
        (void)snprintf(value, REFERENCE_ROOM, "%s", missing);
        goto done;
    }
    if (is_table(r.file)) {
        GEODEC_TRY(cell(&r, value, err));
        goto done;
    }
    GEODEC_TRY(cli_open_any(r.file, &a, err));
    if (r.rank == 0 && geodec_artifact_has_attr(a, r.name)) {
        GEODEC_TRY(attribute(a, r.name, value, err));
        goto done;
    }
    geodec_err inner = {0};
    st = element(a, &r, value, &inner);
    if (st == GEODEC_NOTFOUND && missing) {
        (void)snprintf(value, REFERENCE_ROOM, "%s", missing);
        st = GEODEC_OK;
    } else if (st != GEODEC_OK) {
        if (err) *err = inner;
        GEODEC_TRY_MSG(st, "%s", r.file);
    }
done:
    geodec_artifact_close(a);
    return st;
}

static geodec_status print(geodec_tsv *t, const char *text, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static char value[REFERENCE_ROOM];
    GEODEC_TRY_MSG(look_up(text, value, err), "%.200s", text);
    geodec_tsv_str(t, text);
    geodec_tsv_str(t, value);
    GEODEC_TRY(geodec_tsv_end_row(t, err));
done:
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    static char line[REFERENCE_ROOM];
    GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(geodec_tsv_columns(t, 2, (const char *const[]){"reference", "value"}, err));
    for (int i = 0; i < c->n_args; i++) GEODEC_TRY(print(t, c->args[i], err));
    while (c->n_args == 0 && fgets(line, sizeof line, stdin)) {
        const size_t n = strcspn(line, "\n");
        if (!line[n] && n + 1 == sizeof line) GEODEC_THROW(GEODEC_LIMIT, "standard input: a line is too long");
        line[n] = 0;
        if (n > 0) GEODEC_TRY(print(t, line, err));
    }
    geodec_tsv *table = t;
    t = NULL;
    GEODEC_TRY(geodec_tsv_commit(table, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
