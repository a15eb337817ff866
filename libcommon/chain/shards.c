#include "chain/shards.h"

#include "base/mem.h"
#include "io/format.h"
#include "io/safetensors.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SLAB_BYTES = 8 << 20, NAME = GEODEC_SAFETENSORS_NAME_MAX };

typedef enum column { TOKEN, NEXT_TOKEN, POSITION, SEQUENCE, DOCUMENT, COLUMNS } column;
static const struct {
    const char *field, *names; /* names joined by blanks */
    int64_t least;
} columns[COLUMNS] = {
    [TOKEN] = {"/token", "token tokens token_ids input_ids", -1},
    [NEXT_TOKEN] = {"/next_token", "next_token", -1},
    [POSITION] = {"/position", "position", 0},
    [SEQUENCE] = {"/sequence", "sequence", 0},
    [DOCUMENT] = {"/document", "document", 0},
};

typedef struct layer {
    char name[NAME];
    int64_t number;
} layer;

struct geodec_shards {
    int n_files, n_layers;
    char **path;
    int64_t rows, d;
    bool sequences;             /* the tensors of states have an axis of sequences */
    layer *layer;               /* [n_layers] ascending by number */
    char column[COLUMNS][NAME]; /* "" without */
};

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* The name without the suffix .shard.N. */
static void base_name(const char *name, char base[NAME])
{
    (void)snprintf(base, NAME, "%s", name);
    char *suffix = strstr(base, ".shard.");
    if (suffix && suffix[7] && strspn(suffix + 7, "0123456789") == strlen(suffix + 7)) *suffix = '\0';
}

/* A whole number at `text`, with `rest` after it; -1 otherwise. */
static int64_t number_then(const char *text, const char *rest)
{
    const size_t digits = strspn(text, "0123456789");
    if (digits < 1 || digits > 6 || strcmp(text + digits, rest) != 0) return -1;
    return strtol(text, NULL, 10);
}

/* The layer that a name says, or -1. */
static int64_t layer_of(const char *base)
{
    int64_t b;
    if (strncmp(base, "layer.", 6) == 0) return number_then(base + 6, "");
    if (strncmp(base, "hidden_states.", 14) == 0) return number_then(base + 14, "");
    if (strcmp(base, "hook_embed") == 0) return 0;
    if (strncmp(base, "blocks.", 7) != 0) return -1;
    b = number_then(base + 7, ".hook_resid_pre");
    if (b >= 0) return b;
    b = number_then(base + 7, ".hook_resid_post");
    return b >= 0 ? b + 1 : -1;
}

static bool is_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

static bool is_float(geodec_type t)
{
    return t == GEODEC_F64 || t == GEODEC_F32 || t == GEODEC_F16 || t == GEODEC_BF16;
}

/* Index of the tensor of that name, with any suffix, or -1. */
static int find(const geodec_safetensors *f, const char *name)
{
    char base[NAME];
    const int whole = geodec_safetensors_find(f, name);
    for (int i = 0; whole < 0 && i < geodec_safetensors_count(f); i++) {
        base_name(geodec_safetensors_at(f, i)->name, base);
        if (strcmp(base, name) == 0) return i;
    }
    return whole;
}

/* ---- the files of a folder -------------------------------------------------------------------------------------- */

/* Numbers in names are compared by value: 2.safetensors comes before 10.safetensors. */
static int by_number(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    while (*x && *y) {
        const size_t m = strspn(x, "0123456789"), n = strspn(y, "0123456789");
        if (m && n) {
            const unsigned long long p = strtoull(x, NULL, 10), q = strtoull(y, NULL, 10);
            if (p != q) return p < q ? -1 : 1;
            if (m != n) return m < n ? -1 : 1;
            x += m;
            y += n;
        } else {
            if (*x != *y) return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
            x++;
            y++;
        }
    }
    return (*x != 0) - (*y != 0);
}

bool geodec_shards_is_name(const char *name)
{
    static const char ending[] = ".safetensors";
    const size_t n = strlen(name), m = sizeof ending - 1;
    return n > m && name[0] != '.' && strcmp(name + n - m, ending) == 0;
}

static geodec_status list_files(geodec_shards *s, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    struct stat sb;
    DIR *d = NULL;
    int room = 16;
    GEODEC_NEW(s->path, room);
    if (stat(path, &sb) != 0)
        GEODEC_THROW(errno == ENOENT ? GEODEC_NOTFOUND : GEODEC_IO, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(sb.st_mode)) {
        GEODEC_TRY(geodec_mem_print(&s->path[0], err, "%s", path));
        s->n_files = 1;
        goto done;
    }
    d = opendir(path);
    if (!d) GEODEC_THROW(GEODEC_IO, "%s: %s", path, strerror(errno));
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (!geodec_shards_is_name(e->d_name)) continue;
        if (s->n_files == GEODEC_SHARDS_FILES_MAX)
            GEODEC_THROW(GEODEC_LIMIT, "%s: more than %d shards", path, GEODEC_SHARDS_FILES_MAX);
        if (s->n_files == room) {
            char **more = NULL;
            GEODEC_NEW(more, room * 2);
            memcpy(more, s->path, (size_t)s->n_files * sizeof *more);
            geodec_mem_free(s->path);
            s->path = more;
            room *= 2;
        }
        GEODEC_TRY(geodec_mem_print(&s->path[s->n_files], err, "%s/%s", path, e->d_name));
        s->n_files++;
    }
    if (s->n_files == 0) GEODEC_THROW(GEODEC_NOTFOUND, "%s: a folder without .safetensors files", path);
    qsort(s->path, (size_t)s->n_files, sizeof *s->path, by_number);
done:
    if (d) (void)closedir(d);
    return st;
}

/* ---- the tensors ------------------------------------------------------------------------------------------------ */

static geodec_status add_layer(geodec_shards *s, const char *name, int64_t number, bool again, geodec_err *err)
{
    int at = 0;
    while (at < s->n_layers && s->layer[at].number < number) at++;
    if (at < s->n_layers && s->layer[at].number == number) {
        if (again) return GEODEC_OK;
        GEODEC_FAIL(GEODEC_INVAL, "tensors %s and %s are the same layer %lld", s->layer[at].name, name,
                    (long long)number);
    }
    if (s->n_layers == GEODEC_SHARDS_LAYERS_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "more than %d layers", GEODEC_SHARDS_LAYERS_MAX);
    memmove(s->layer + at + 1, s->layer + at, (size_t)(s->n_layers - at) * sizeof *s->layer);
    (void)snprintf(s->layer[at].name, NAME, "%s", name);
    s->layer[at].number = number;
    s->n_layers++;
    return GEODEC_OK;
}

static geodec_status take_names(geodec_shards *s, const geodec_safetensors *f, const char *names, geodec_err *err)
{
    for (int pass = 0; pass < 2; pass++) /* names with a layer first */
        for (const char *at = names; *at;) {
            const size_t n = strcspn(at, ",");
            char name[NAME];
            if (n == 0 || n >= sizeof name) GEODEC_FAIL(GEODEC_INVAL, "'%s': names joined by commas", names);
            (void)snprintf(name, sizeof name, "%.*s", (int)n, at);
            at += n + (at[n] == ',');
            int64_t number = layer_of(name);
            if (find(f, name) < 0) GEODEC_FAIL(GEODEC_NOTFOUND, "there is no tensor %s", name);
            if ((number >= 0) != (pass == 0)) continue;
            if (number < 0) number = s->n_layers ? s->layer[s->n_layers - 1].number + 1 : 0;
            GEODEC_PASS(add_layer(s, name, number, false, err));
        }
    return GEODEC_OK;
}

/* The layers and columns, by the first file. */
static geodec_status choose(geodec_shards *s, const geodec_safetensors *f, const char *names, geodec_err *err)
{
    char base[NAME];
    int floats = 0, last = -1;
    if (names[0]) GEODEC_PASS(take_names(s, f, names, err));
    for (int i = 0; i < geodec_safetensors_count(f); i++) {
        const geodec_safetensor *t = geodec_safetensors_at(f, i);
        base_name(t->name, base);
        if (is_float(t->type)) {
            const int64_t number = layer_of(base);
            floats++;
            last = i;
            if (!names[0] && number >= 0) GEODEC_PASS(add_layer(s, base, number, true, err));
            continue;
        }
        for (int k = 0; k < COLUMNS; k++)
            if (!s->column[k][0] && is_word(columns[k].names, base)) (void)snprintf(s->column[k], NAME, "%s", base);
    }
    if (s->n_layers == 0 && floats == 1) {
        base_name(geodec_safetensors_at(f, last)->name, base);
        GEODEC_PASS(add_layer(s, base, 0, false, err));
    }
    if (s->n_layers == 0)
        GEODEC_FAIL(GEODEC_NOTFOUND, "none of %d float tensors has the name of a layer; give their names", floats);
    return GEODEC_OK;
}

/* Rows of a file, positions of a sequence (0 without sequences). */
static geodec_status measure(const geodec_shards *s, const geodec_safetensors *f, int64_t *rows, int64_t *length,
                             int64_t *d, geodec_err *err)
{
    *rows = -1;
    *d = s->d;
    for (int l = 0; l < s->n_layers; l++) {
        const int i = find(f, s->layer[l].name);
        if (i < 0) GEODEC_FAIL(GEODEC_FORMAT, "tensor %s is missing", s->layer[l].name);
        const geodec_safetensor *t = geodec_safetensors_at(f, i);
        if (!is_float(t->type)) GEODEC_FAIL(GEODEC_FORMAT, "tensor %s is not of a float type", t->name);
        if (t->rank != 2 && t->rank != 3)
            GEODEC_FAIL(GEODEC_FORMAT, "tensor %s has %d axes; states are [rows][d] or [sequences][positions][d]",
                        t->name, t->rank);
        const int64_t width = t->shape[t->rank - 1], n = t->rank == 3 ? t->shape[0] * t->shape[1] : t->shape[0],
                      long_ = t->rank == 3 ? t->shape[1] : 0;
        if (width < 1 || width > INT32_MAX)
            GEODEC_FAIL(GEODEC_FORMAT, "tensor %s: states of width %lld", t->name, (long long)width);
        if (*d && *d != width)
            GEODEC_FAIL(GEODEC_FORMAT, "tensor %s: states of width %lld, others of %lld", t->name, (long long)width,
                        (long long)*d);
        if (*rows >= 0 && (*rows != n || *length != long_))
            GEODEC_FAIL(GEODEC_FORMAT, "tensor %s has other rows than tensor %s", t->name, s->layer[0].name);
        *d = width;
        *rows = n;
        *length = long_;
    }
    for (int k = 0; k < COLUMNS; k++) {
        if (!s->column[k][0]) continue;
        const int i = find(f, s->column[k]);
        if (i < 0) GEODEC_FAIL(GEODEC_FORMAT, "tensor %s is missing", s->column[k]);
        const geodec_safetensor *t = geodec_safetensors_at(f, i);
        const int64_t n = t->rank == 2 ? t->shape[0] * t->shape[1] : t->shape[0];
        if (is_float(t->type) || t->type == GEODEC_U64 || t->rank > 2 || n != *rows)
            GEODEC_FAIL(GEODEC_FORMAT, "tensor %s is not one whole number for each of %lld rows", t->name,
                        (long long)*rows);
    }
    return GEODEC_OK;
}

geodec_status geodec_shards_open(const char *path, const char *names, geodec_shards **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_shards *s = NULL;
    geodec_safetensors *f = NULL;
    GEODEC_NEW(s, 1);
    GEODEC_NEW(s->layer, GEODEC_SHARDS_LAYERS_MAX + 1);
    GEODEC_TRY(list_files(s, path, err));
    for (int i = 0; i < s->n_files; i++) {
        int64_t rows, length = 0, d = 0;
        GEODEC_TRY(geodec_safetensors_open(s->path[i], &f, err));
        if (i == 0) GEODEC_TRY_MSG(choose(s, f, names, err), "%s", s->path[i]);
        GEODEC_TRY_MSG(measure(s, f, &rows, &length, &d, err), "%s", s->path[i]);
        if (i > 0 && s->sequences != (length > 0))
            GEODEC_THROW(GEODEC_FORMAT, "%s: its states have another number of axes than those of %s", s->path[i],
                         s->path[0]);
        s->sequences = length > 0;
        s->d = d;
        s->rows += rows;
        if (s->rows > INT32_MAX) GEODEC_THROW(GEODEC_LIMIT, "%s: more than %d rows", path, INT32_MAX);
        geodec_safetensors_close(f);
        f = NULL;
    }
    if (s->rows < 1) GEODEC_THROW(GEODEC_FORMAT, "%s: no rows", path);
    *out = s;
    s = NULL;
done:
    geodec_safetensors_close(f);
    geodec_shards_close(s);
    return st;
}

void geodec_shards_close(geodec_shards *s)
{
    if (!s) return;
    for (int i = 0; s->path && i < s->n_files; i++) geodec_mem_free(s->path[i]);
    GEODEC_FREE(s->path, s->layer, s);
}

int64_t geodec_shards_rows(const geodec_shards *s) { return s->rows; }
int64_t geodec_shards_width(const geodec_shards *s) { return s->d; }
int geodec_shards_layers(const geodec_shards *s) { return s->n_layers; }
const char *geodec_shards_tensor(const geodec_shards *s, int i) { return s->layer[i].name; }
int geodec_shards_files(const geodec_shards *s) { return s->n_files; }
const char *const *geodec_shards_paths(const geodec_shards *s) { return (const char *const *)s->path; }

/* ---- writing ---------------------------------------------------------------------------------------------------- */

typedef struct slab {
    int64_t rows;    /* room */
    void *raw;       /* [rows][d] of 8 bytes */
    float *state;    /* [rows][L][d] */
    int32_t *value;  /* [rows] */
    int64_t longest; /* largest position and 1 */
} slab;

static geodec_status put_states(const geodec_shards *s, const geodec_safetensors *f, int64_t row0, int64_t n, slab *b,
                                geodec_artifact *a, geodec_err *err)
{
    const int64_t stride = s->n_layers * s->d;
    for (int l = 0; l < s->n_layers; l++) {
        const int i = find(f, s->layer[l].name);
        const geodec_type type = geodec_safetensors_at(f, i)->type;
        GEODEC_PASS(geodec_safetensors_read(f, i, row0 * s->d, n * s->d, b->raw, err));
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; c < s->d; c++)
                b->state[r * stride + l * s->d + c] = (float)geodec_format_element_f64(type, b->raw, r * s->d + c);
    }
    GEODEC_PASS(geodec_artifact_append(a, "/state", n, b->state, err));
    return GEODEC_OK;
}

static geodec_status read_column(const geodec_shards *s, const geodec_safetensors *f, column k, int64_t row0, int64_t n,
                                 slab *b, geodec_err *err)
{
    const int i = find(f, s->column[k]);
    const geodec_type type = geodec_safetensors_at(f, i)->type;
    GEODEC_PASS(geodec_safetensors_read(f, i, row0, n, b->raw, err));
    for (int64_t r = 0; r < n; r++) {
        const double v = geodec_format_element_f64(type, b->raw, r); /* exact within the bounds */
        if (v < (double)columns[k].least || v > INT32_MAX)
            GEODEC_FAIL(GEODEC_RANGE, "tensor %s: %.0f in row %lld", s->column[k], v, (long long)(row0 + r));
        b->value[r] = (int32_t)v;
    }
    return GEODEC_OK;
}

/* Where a file's rows are. */
typedef struct place {
    int64_t before, sequences; /* rows and sequences of the files before it */
    int64_t length;            /* positions of a sequence, 0 without */
    bool consecutive;
} place;

static int32_t counted(column k, const place *p, int64_t row)
{
    const int64_t of_all = p->before + row;
    if (k == POSITION) return (int32_t)(p->length ? row % p->length : p->consecutive ? of_all : 0);
    if (k == SEQUENCE) return (int32_t)(p->length ? p->sequences + row / p->length : p->consecutive ? 0 : of_all);
    return -1;
}

static geodec_status put_column(const geodec_shards *s, const geodec_safetensors *f, column k, int64_t row0, int64_t n,
                                const place *p, slab *b, geodec_artifact *a, geodec_err *err)
{
    if (!s->column[k][0] && k == DOCUMENT) return GEODEC_OK;
    if (!s->column[k][0])
        for (int64_t r = 0; r < n; r++) b->value[r] = counted(k, p, row0 + r);
    else
        GEODEC_PASS(read_column(s, f, k, row0, n, b, err));
    for (int64_t r = 0; k == POSITION && r < n; r++)
        if (b->value[r] >= b->longest) b->longest = (int64_t)b->value[r] + 1;
    GEODEC_PASS(geodec_artifact_append(a, columns[k].field, n, b->value, err));
    return GEODEC_OK;
}

static geodec_status put_layers(const geodec_shards *s, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *number = NULL;
    GEODEC_NEW(number, s->n_layers);
    for (int l = 0; l < s->n_layers; l++) number[l] = (int32_t)s->layer[l].number;
    GEODEC_TRY(geodec_artifact_set_dim(a, "L", s->n_layers, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "d", s->d, err));
    GEODEC_TRY(geodec_artifact_write(a, "/layer", number, err));
done:
    geodec_mem_free(number);
    return st;
}

static geodec_status put_attrs(const geodec_shards *s, int64_t longest, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *names = NULL;
    size_t used = 0;
    GEODEC_NEW(names, (int64_t)s->n_layers * NAME + 1);
    for (int l = 0; l < s->n_layers; l++)
        used += (size_t)snprintf(names + used, NAME + 1, "%s%s", l ? "," : "", s->layer[l].name);
    GEODEC_TRY(geodec_artifact_put_i64(a, "n_layer", s->layer[s->n_layers - 1].number, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "d_model", s->d, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n_vocab", 0, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n_ctx", longest, err));
    if (used < GEODEC_ATTR_TEXT_MAX) GEODEC_TRY(geodec_artifact_put_str(a, "tensors", names, err));
done:
    geodec_mem_free(names);
    return st;
}

geodec_status geodec_shards_write(const geodec_shards *s, bool consecutive, geodec_artifact *a,
                                  const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_safetensors *f = NULL;
    double *raw = NULL;
    slab b = {0};
    place p = {.consecutive = consecutive};
    b.rows = SLAB_BYTES / (8 * s->d * s->n_layers);
    b.rows = b.rows < 1 ? 1 : b.rows;
    GEODEC_NEW(b.state, b.rows * s->n_layers * s->d);
    GEODEC_NEW(b.value, b.rows);
    GEODEC_NEW(raw, b.rows * s->d);
    b.raw = raw;
    GEODEC_TRY(put_layers(s, a, err));
    for (int i = 0; i < s->n_files; i++) {
        int64_t rows, d;
        GEODEC_TRY(geodec_safetensors_open(s->path[i], &f, err));
        GEODEC_TRY_MSG(measure(s, f, &rows, &p.length, &d, err), "%s", s->path[i]);
        for (int64_t r0 = 0; r0 < rows; r0 += b.rows) {
            const int64_t n = rows - r0 < b.rows ? rows - r0 : b.rows;
            GEODEC_TRY(geodec_hooks_progress(hooks, "rows", p.before + r0, s->rows, err));
            GEODEC_TRY_MSG(put_states(s, f, r0, n, &b, a, err), "%s", s->path[i]);
            for (int k = 0; k < COLUMNS; k++)
                GEODEC_TRY_MSG(put_column(s, f, (column)k, r0, n, &p, &b, a, err), "%s", s->path[i]);
        }
        p.before += rows;
        p.sequences += p.length ? rows / p.length : 0;
        geodec_safetensors_close(f);
        f = NULL;
    }
    GEODEC_TRY(put_attrs(s, b.longest, a, err));
done:
    geodec_safetensors_close(f);
    GEODEC_FREE(b.state, b.value, raw);
    return st;
}
