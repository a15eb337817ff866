#include "chain/import_states.h"

#include "base/mem.h"
#include "chain/import_states_internal.h"
#include "io/matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = GEODEC__IMPORT_STATES_NAME, COLUMNS = GEODEC__IMPORT_STATES_COLUMNS };

const geodec__import_states_column geodec__import_states_columns[COLUMNS] = {
    [GEODEC__TOKEN] = {"/token", "token tokens token_ids input_ids", -1},
    [GEODEC__NEXT_TOKEN] = {"/next_token", "next_token", -1},
    [GEODEC__POSITION] = {"/position", "position", 0},
    [GEODEC__SEQUENCE] = {"/sequence", "sequence", 0},
    [GEODEC__DOCUMENT] = {"/document", "document", 0},
};

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* The name without the suffix .shard.N. */
void geodec__import_states_base(const char *name, char base[NAME])
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

bool geodec__import_states_is_float(geodec_type t)
{
    return t == GEODEC_F64 || t == GEODEC_F32 || t == GEODEC_F16 || t == GEODEC_BF16;
}

geodec__import_states_place geodec__import_states_find(const geodec__import_states_block *b, const char *name)
{
    char base[NAME];
    for (int exact = 1; exact >= 0; exact--)
        for (int g = 0; g < b->n; g++)
            for (int i = 0; i < geodec_safetensors_count(b->file[g]); i++) {
                const geodec_safetensor *t = geodec_safetensors_at(b->file[g], i);
                geodec__import_states_base(t->name, base);
                if (strcmp(exact ? t->name : base, name) == 0) return (geodec__import_states_place){b->file[g], i, t};
            }
    return (geodec__import_states_place){0};
}

geodec_status geodec__import_states_block_open(const geodec_import_states *s, int number,
                                               geodec__import_states_block *b, geodec_err *err)
{
    *b = (geodec__import_states_block){.path = s->path[number * s->groups]};
    for (; b->n < s->groups; b->n++) {
        const geodec_status st = geodec_safetensors_open(s->path[number * s->groups + b->n], &b->file[b->n], err);
        if (st != GEODEC_OK) geodec__import_states_block_close(b);
        GEODEC_PASS(st);
    }
    return GEODEC_OK;
}

void geodec__import_states_block_close(geodec__import_states_block *b)
{
    for (int i = 0; i < b->n; i++) geodec_safetensors_close(b->file[i]);
    b->n = 0;
}

bool geodec_import_states_is_name(const char *name)
{
    static const char ending[] = ".safetensors";
    const size_t n = strlen(name), m = sizeof ending - 1;
    return n > m && name[0] != '.' && strcmp(name + n - m, ending) == 0;
}

/* ---- the tensors ------------------------------------------------------------------------------------------------ */

static geodec_status add_layer(geodec_import_states *s, const char *name, int64_t number, bool again, geodec_err *err)
{
    int at = 0;
    while (at < s->n_layers && s->layer[at].number < number) at++;
    if (at < s->n_layers && s->layer[at].number == number) {
        if (again) return GEODEC_OK;
        GEODEC_FAIL(GEODEC_INVAL, "tensors %s and %s are the same layer %lld", s->layer[at].name, name,
                    (long long)number);
    }
    if (s->n_layers == GEODEC_IMPORT_STATES_LAYERS_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "more than %d layers", GEODEC_IMPORT_STATES_LAYERS_MAX);
    memmove(s->layer + at + 1, s->layer + at, (size_t)(s->n_layers - at) * sizeof *s->layer);
    (void)snprintf(s->layer[at].name, NAME, "%s", name);
    s->layer[at].number = number;
    s->n_layers++;
    return GEODEC_OK;
}

static geodec_status take_names(geodec_import_states *s, const geodec__import_states_block *b, const char *names,
                                geodec_err *err)
{
    for (int pass = 0; pass < 2; pass++) /* names with a layer first */
        for (const char *at = names; *at;) {
            const size_t n = strcspn(at, ",");
            char name[NAME];
            if (n == 0 || n >= sizeof name) GEODEC_FAIL(GEODEC_INVAL, "'%s': names joined by commas", names);
            (void)snprintf(name, sizeof name, "%.*s", (int)n, at);
            at += n + (at[n] == ',');
            int64_t number = layer_of(name);
            if (!geodec__import_states_find(b, name).file) GEODEC_FAIL(GEODEC_NOTFOUND, "there is no tensor %s", name);
            if ((number >= 0) != (pass == 0)) continue;
            if (number < 0) number = s->n_layers ? s->layer[s->n_layers - 1].number + 1 : 0;
            GEODEC_PASS(add_layer(s, name, number, false, err));
        }
    return GEODEC_OK;
}

/* Takes what a tensor's name says: a layer, a column, the mask. *other: a float tensor without such a name. */
static geodec_status take_tensor(geodec_import_states *s, const geodec_safetensor *t, bool layers, char other[NAME],
                                 int *floats, geodec_err *err)
{
    char base[NAME];
    bool padding;
    geodec__import_states_base(t->name, base);
    if (t->refused[0] || t->rank < 1) return GEODEC_OK;
    if (geodec_matrix_is_mask(base, &padding)) {
        if (!s->mask[0]) {
            (void)snprintf(s->mask, NAME, "%s", base);
            s->padding = padding;
        }
        return GEODEC_OK;
    }
    if (geodec__import_states_is_float(t->type)) {
        const int64_t number = layer_of(base);
        ++*floats;
        (void)snprintf(other, NAME, "%s", base);
        if (layers && number >= 0) GEODEC_PASS(add_layer(s, base, number, true, err));
        return GEODEC_OK;
    }
    for (int k = 0; k < COLUMNS; k++)
        if (!s->column[k][0] && is_word(geodec__import_states_columns[k].names, base))
            (void)snprintf(s->column[k], NAME, "%s", base);
    return GEODEC_OK;
}

/* A tensor with "mask" in its name and a number for each row that is not used: it may be one under another name. */
static void find_unused(geodec_import_states *s, const geodec__import_states_block *b)
{
    const geodec__import_states_place states = geodec__import_states_find(b, s->layer[0].name);
    if (!states.file || states.t->refused[0] || states.t->rank < 2) return;
    const int64_t rows = states.t->shape[0] * (states.t->rank == 3 ? states.t->shape[1] : 1);
    for (int g = 0; g < b->n; g++)
        for (int i = 0; i < geodec_safetensors_count(b->file[g]); i++) {
            const geodec_safetensor *t = geodec_safetensors_at(b->file[g], i);
            char base[NAME];
            int64_t n = 1;
            geodec__import_states_base(t->name, base);
            if (t->refused[0] || t->rank < 1 || !strstr(base, "mask") || strcmp(base, s->mask) == 0) continue;
            for (int d = 0; d < t->rank; d++) n *= t->shape[d];
            if (n == rows && !s->unused[0]) (void)snprintf(s->unused, NAME, "%s", base);
        }
}

/* The layers, columns and mask, by the first block. */
static geodec_status choose(geodec_import_states *s, const geodec__import_states_block *b, const char *names,
                            const char *mask, geodec_err *err)
{
    char other[NAME] = "";
    int floats = 0;
    if (names[0]) GEODEC_PASS(take_names(s, b, names, err));
    for (int g = 0; g < b->n; g++)
        for (int i = 0; i < geodec_safetensors_count(b->file[g]); i++)
            GEODEC_PASS(take_tensor(s, geodec_safetensors_at(b->file[g], i), !names[0], other, &floats, err));
    if (s->n_layers == 0 && floats == 1) GEODEC_PASS(add_layer(s, other, 0, false, err));
    if (s->n_layers == 0)
        GEODEC_FAIL(GEODEC_NOTFOUND, "none of %d float tensors has the name of a layer; give their names", floats);
    if (mask) {
        s->padding = mask[0] == '!';
        (void)snprintf(s->mask, NAME, "%s", strcmp(mask, "none") == 0 ? "" : mask + s->padding);
        if (s->mask[0] && !geodec__import_states_find(b, s->mask).file)
            GEODEC_FAIL(GEODEC_NOTFOUND, "there is no tensor %s", s->mask);
    }
    if (!mask) find_unused(s, b);
    return GEODEC_OK;
}

/* One tensor of a number for each row: a column, or the mask. */
static geodec_status measure_column(const geodec__import_states_block *b, const char *name, int64_t rows, bool mask,
                                    geodec_err *err)
{
    const geodec__import_states_place at = geodec__import_states_find(b, name);
    if (!at.file) GEODEC_FAIL(GEODEC_FORMAT, "tensor %s is missing", name);
    const geodec_safetensor *t = at.t;
    if (t->refused[0]) GEODEC_FAIL(GEODEC_UNSUPPORTED, "tensor %s: %s", name, t->refused);
    int64_t n = t->rank > 0 ? 1 : 0;
    for (int d = 0; d < t->rank; d++) n *= t->shape[d];
    const bool whole = !geodec__import_states_is_float(t->type) && t->type != GEODEC_U64;
    if ((!whole && !mask) || (!mask && t->rank > 2) || n != rows)
        GEODEC_FAIL(GEODEC_FORMAT, "tensor %s is not one %s for each of %lld rows%s", t->name,
                    mask ? "number" : "whole number", (long long)rows, mask ? "; --mask none ignores it" : "");
    return GEODEC_OK;
}

geodec_status geodec__import_states_measure(const geodec_import_states *s, const geodec__import_states_block *b,
                                            int64_t *rows, int64_t *length, int64_t *d, geodec_err *err)
{
    *rows = -1;
    *d = s->d;
    for (int l = 0; l < s->n_layers; l++) {
        const geodec__import_states_place at = geodec__import_states_find(b, s->layer[l].name);
        if (!at.file) GEODEC_FAIL(GEODEC_FORMAT, "tensor %s is missing", s->layer[l].name);
        const geodec_safetensor *t = at.t;
        if (t->refused[0]) GEODEC_FAIL(GEODEC_UNSUPPORTED, "tensor %s: %s", t->name, t->refused);
        if (!geodec__import_states_is_float(t->type))
            GEODEC_FAIL(GEODEC_FORMAT, "tensor %s is not of a float type", t->name);
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
    for (int k = 0; k < COLUMNS; k++)
        if (s->column[k][0]) GEODEC_PASS(measure_column(b, s->column[k], *rows, false, err));
    if (s->mask[0]) GEODEC_PASS(measure_column(b, s->mask, *rows, true, err));
    return GEODEC_OK;
}

geodec_status geodec_import_states_open(const char *path, const char *names, const char *mask,
                                        geodec_import_states **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_import_states *s = NULL;
    geodec__import_states_block b = {0};
    GEODEC_NEW(s, 1);
    GEODEC_NEW(s->layer, GEODEC_IMPORT_STATES_LAYERS_MAX + 1);
    GEODEC_TRY(geodec__import_states_list(s, path, err));
    GEODEC_TRY(geodec__import_states_group(s, err));
    for (int i = 0; i < s->n_files / s->groups; i++) {
        int64_t rows, length = 0, d = 0;
        GEODEC_TRY(geodec__import_states_block_open(s, i, &b, err));
        if (i == 0) GEODEC_TRY_MSG(choose(s, &b, names, mask, err), "%s", b.path);
        GEODEC_TRY_MSG(geodec__import_states_measure(s, &b, &rows, &length, &d, err), "%s", b.path);
        if (i > 0 && s->sequences != (length > 0))
            GEODEC_THROW(GEODEC_FORMAT, "%s: its states have another number of axes than those of %s", b.path,
                         s->path[0]);
        s->sequences = length > 0;
        s->d = d;
        s->rows += rows;
        if (s->rows > INT32_MAX) GEODEC_THROW(GEODEC_LIMIT, "%s: more than %d rows", path, INT32_MAX);
        geodec__import_states_block_close(&b);
    }
    if (s->rows < 1) GEODEC_THROW(GEODEC_FORMAT, "%s: no rows", path);
    *out = s;
    s = NULL;
done:
    geodec__import_states_block_close(&b);
    geodec_import_states_close(s);
    return st;
}

void geodec_import_states_close(geodec_import_states *s)
{
    if (!s) return;
    for (int i = 0; s->path && i < s->n_files; i++) geodec_mem_free(s->path[i]);
    GEODEC_FREE(s->path, s->layer, s);
}

int64_t geodec_import_states_rows(const geodec_import_states *s) { return s->rows; }
int64_t geodec_import_states_width(const geodec_import_states *s) { return s->d; }
int geodec_import_states_layers(const geodec_import_states *s) { return s->n_layers; }
const char *geodec_import_states_tensor(const geodec_import_states *s, int i) { return s->layer[i].name; }
int geodec_import_states_files(const geodec_import_states *s) { return s->n_files; }
const geodec_import_states_counts *geodec_import_states_counted(const geodec_import_states *s) { return &s->counts; }
const char *geodec_import_states_mask(const geodec_import_states *s) { return s->mask; }
const char *geodec_import_states_unused_mask(const geodec_import_states *s) { return s->unused; }
const char *const *geodec_import_states_paths(const geodec_import_states *s) { return (const char *const *)s->path; }
