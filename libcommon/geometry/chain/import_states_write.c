#include "base/mem.h"
#include "chain/import_states_internal.h"
#include "chain/rounding.h"
#include "io/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLAB_BYTES = 8 << 20,
    NAME = GEODEC__IMPORT_STATES_NAME,
    COLUMNS = GEODEC__IMPORT_STATES_COLUMNS,
    JUDGED = 4096
};

typedef struct slab {
    int64_t rows;    /* room */
    void *raw;       /* [rows][d] of 8 bytes */
    double *x;       /* [rows][d] */
    float *state;    /* [rows][L][d] */
    int32_t *value;  /* [rows] */
    uint8_t *left;   /* [rows] 1: left out */
    int64_t longest; /* largest position and 1 */
    double *shift;   /* [L][d] of the float64 layers that need it, or NULL */
    bool drop;       /* rows that are not finite are left out, not refused */
} slab;

/* A slab of one tensor as float64. */
static geodec_status read_layer(const geodec_import_states *s, const geodec__import_states_place *at, int64_t row0,
                                int64_t n, slab *b, geodec_err *err)
{
    GEODEC_PASS(geodec_safetensors_read(at->file, at->index, row0 * s->d, n * s->d, b->raw, err));
    for (int64_t i = 0; i < n * s->d; i++) b->x[i] = geodec_format_element_f64(at->t->type, b->raw, i);
    return GEODEC_OK;
}

static geodec_status read_mask(const geodec_import_states *s, const geodec__import_states_block *f, int64_t row0,
                               int64_t n, slab *b, geodec_err *err)
{
    memset(b->left, 0, (size_t)n);
    if (!s->mask[0]) return GEODEC_OK;
    const geodec__import_states_place at = geodec__import_states_find(f, s->mask);
    GEODEC_PASS(geodec_safetensors_read(at.file, at.index, row0, n, b->raw, err));
    for (int64_t r = 0; r < n; r++) {
        const double v = geodec_format_element_f64(at.t->type, b->raw, r);
        if (v != 0 && v != 1)
            GEODEC_FAIL(GEODEC_FORMAT, "tensor %s: %g in row %lld, not 0 or 1; --mask none ignores it", s->mask, v,
                        (long long)(row0 + r));
        b->left[r] = (v != 0) == s->padding;
    }
    return GEODEC_OK;
}

/* Keeps the rows that are not left out, `width` bytes each, in place. Returns their number. */
static int64_t keep(const slab *b, int64_t n, size_t width, void *data)
{
    char *p = data;
    int64_t kept = 0;
    for (int64_t r = 0; r < n; r++) {
        if (b->left[r]) continue;
        if (kept != r) memmove(p + (size_t)kept * width, p + (size_t)r * width, width);
        kept++;
    }
    return kept;
}

static geodec_status put_states(geodec_import_states *s, const geodec__import_states_block *f, int64_t row0, int64_t n,
                                slab *b, geodec_artifact *a, geodec_err *err)
{
    const int64_t stride = s->n_layers * s->d;
    GEODEC_PASS(read_mask(s, f, row0, n, b, err));
    for (int64_t r = 0; r < n; r++) s->counts.masked += b->left[r];
    for (int l = 0; l < s->n_layers; l++) {
        const geodec__import_states_place at = geodec__import_states_find(f, s->layer[l].name);
        const double *shift = b->shift ? b->shift + l * s->d : NULL;
        GEODEC_PASS(read_layer(s, &at, row0, n, b, err));
        for (int64_t i = 0; i < n * s->d; i++) {
            const int64_t r = i / s->d, c = i % s->d;
            const float y = (float)(shift ? b->x[i] - shift[c] : b->x[i]);
            b->state[r * stride + l * s->d + c] = y;
            if (isfinite(y) || b->left[r]) continue;
            if (!b->drop)
                GEODEC_FAIL(GEODEC_FORMAT,
                            "tensor %s, row %lld, column %lld is not a finite float32; --drop-missing leaves such rows "
                            "out",
                            s->layer[l].name, (long long)(row0 + r) + 1, (long long)c + 1);
            b->left[r] = 1;
            s->counts.missing++;
        }
    }
    const int64_t kept = keep(b, n, (size_t)stride * sizeof *b->state, b->state);
    s->counts.kept += kept;
    if (kept > 0) GEODEC_PASS(geodec_artifact_append(a, "/state", kept, b->state, err));
    return GEODEC_OK;
}

/* Whether float64 layers need a shift, by the first rows of the first block (chain/rounding.h). */
static geodec_status judge_layers(geodec_import_states *s, slab *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__import_states_block f = {0};
    int64_t rows, length, d;
    double *median = NULL;
    GEODEC_NEW(median, s->n_layers * s->d);
    GEODEC_TRY(geodec__import_states_block_open(s, 0, &f, err));
    GEODEC_TRY(geodec__import_states_measure(s, &f, &rows, &length, &d, err));
    int64_t n = rows < b->rows ? rows : b->rows;
    n = n < JUDGED ? n : JUDGED;
    GEODEC_TRY(read_mask(s, &f, 0, n, b, err));
    for (int l = 0; l < s->n_layers; l++) {
        const geodec__import_states_place at = geodec__import_states_find(&f, s->layer[l].name);
        bool needed = false;
        if (at.t->type != GEODEC_F64) continue;
        GEODEC_TRY(read_layer(s, &at, 0, n, b, err));
        const int64_t kept = keep(b, n, (size_t)s->d * sizeof *b->x, b->x);
        if (kept > 0) GEODEC_TRY(geodec_rounding_judge(kept, s->d, b->x, median + l * s->d, &needed, err));
        if (!needed) memset(median + l * s->d, 0, (size_t)s->d * sizeof *median);
        s->counts.shifted = s->counts.shifted || needed;
    }
    if (s->counts.shifted) GEODEC_MOVE(b->shift, median);
done:
    geodec__import_states_block_close(&f);
    geodec_mem_free(median);
    return st;
}

static geodec_status read_column(const geodec_import_states *s, const geodec__import_states_block *f, int k,
                                 int64_t row0, int64_t n, slab *b, geodec_err *err)
{
    const geodec__import_states_place at = geodec__import_states_find(f, s->column[k]);
    GEODEC_PASS(geodec_safetensors_read(at.file, at.index, row0, n, b->raw, err));
    for (int64_t r = 0; r < n; r++) {
        const double v = geodec_format_element_f64(at.t->type, b->raw, r); /* exact within the bounds */
        if (b->left[r]) continue;                                          /* padding may have any number */
        if (v < (double)geodec__import_states_columns[k].least || v > INT32_MAX)
            GEODEC_FAIL(GEODEC_RANGE, "tensor %s: %.0f in row %lld", s->column[k], v, (long long)(row0 + r));
        b->value[r] = (int32_t)v;
    }
    return GEODEC_OK;
}

/* Where a block's rows are. */
typedef struct place {
    int64_t before, sequences; /* rows and sequences of the blocks before it */
    int64_t length;            /* positions of a sequence, 0 without */
    bool consecutive;
} place;

static int32_t counted(int k, const place *p, int64_t row)
{
    const int64_t of_all = p->before + row;
    if (k == GEODEC__POSITION) return (int32_t)(p->length ? row % p->length : p->consecutive ? of_all : 0);
    if (k == GEODEC__SEQUENCE)
        return (int32_t)(p->length ? p->sequences + row / p->length : p->consecutive ? 0 : of_all);
    return -1;
}

static geodec_status put_column(const geodec_import_states *s, const geodec__import_states_block *f, int k,
                                int64_t row0, int64_t n, const place *p, slab *b, geodec_artifact *a, geodec_err *err)
{
    if (!s->column[k][0] && k == GEODEC__DOCUMENT) return GEODEC_OK;
    if (!s->column[k][0])
        for (int64_t r = 0; r < n; r++) b->value[r] = counted(k, p, row0 + r);
    else
        GEODEC_PASS(read_column(s, f, k, row0, n, b, err));
    const int64_t kept = keep(b, n, sizeof *b->value, b->value);
    for (int64_t r = 0; k == GEODEC__POSITION && r < kept; r++)
        if (b->value[r] >= b->longest) b->longest = (int64_t)b->value[r] + 1;
    if (kept > 0) GEODEC_PASS(geodec_artifact_append(a, geodec__import_states_columns[k].field, kept, b->value, err));
    return GEODEC_OK;
}

static geodec_status put_layers(const geodec_import_states *s, const double *shift, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *number = NULL;
    GEODEC_NEW(number, s->n_layers);
    for (int l = 0; l < s->n_layers; l++) number[l] = (int32_t)s->layer[l].number;
    GEODEC_TRY(geodec_artifact_set_dim(a, "L", s->n_layers, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "d", s->d, err));
    if (shift) GEODEC_TRY(geodec_artifact_write(a, "/shift", shift, err));
    GEODEC_TRY(geodec_artifact_write(a, "/layer", number, err));
done:
    geodec_mem_free(number);
    return st;
}

static geodec_status put_attrs(const geodec_import_states *s, int64_t longest, geodec_artifact *a, geodec_err *err)
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

geodec_status geodec_import_states_write(geodec_import_states *s, bool consecutive, bool drop_missing,
                                         geodec_artifact *a, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__import_states_block f = {0};
    slab b = {.drop = drop_missing};
    place p = {.consecutive = consecutive};
    b.rows = SLAB_BYTES / (8 * s->d * s->n_layers);
    b.rows = b.rows < 1 ? 1 : b.rows;
    GEODEC_NEW(b.state, b.rows * s->n_layers * s->d);
    GEODEC_NEW(b.value, b.rows);
    GEODEC_NEW(b.left, b.rows);
    GEODEC_NEW(b.x, b.rows * s->d);
    b.raw = geodec_mem_new(b.rows * s->d, 8);
    if (!b.raw) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld rows", (long long)b.rows);
    s->counts = (geodec_import_states_counts){0};
    GEODEC_TRY(judge_layers(s, &b, err));
    GEODEC_TRY(put_layers(s, b.shift, a, err));
    for (int i = 0; i < s->n_files / s->groups; i++) {
        int64_t rows, d;
        GEODEC_TRY(geodec__import_states_block_open(s, i, &f, err));
        GEODEC_TRY_MSG(geodec__import_states_measure(s, &f, &rows, &p.length, &d, err), "%s", f.path);
        for (int64_t r0 = 0; r0 < rows; r0 += b.rows) {
            const int64_t n = rows - r0 < b.rows ? rows - r0 : b.rows;
            GEODEC_TRY(geodec_hooks_progress(hooks, "rows", p.before + r0, s->rows, err));
            GEODEC_TRY_MSG(put_states(s, &f, r0, n, &b, a, err), "%s", f.path);
            for (int k = 0; k < COLUMNS; k++) GEODEC_TRY_MSG(put_column(s, &f, k, r0, n, &p, &b, a, err), "%s", f.path);
        }
        p.before += rows;
        p.sequences += p.length ? rows / p.length : 0;
        geodec__import_states_block_close(&f);
    }
    if (s->counts.kept == 0)
        GEODEC_THROW(GEODEC_SCARCE, "%s: none of %lld rows is data", s->path[0], (long long)s->rows);
    GEODEC_TRY(put_attrs(s, b.longest, a, err));
done:
    geodec__import_states_block_close(&f);
    GEODEC_FREE(b.state, b.value, b.left, b.x, b.raw, b.shift);
    return st;
}
