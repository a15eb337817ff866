/* Matrices from HDF5 files, by the conventions of netCDF and CF. */
#include "base/mem.h"
#include "io/foreign_internal.h"
#include "io/matrix_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    FILL,
    MISSING_VALUE,
    VALID_MIN,
    VALID_MAX,
    VALID_RANGE,
    SCALE,
    OFFSET,
    UNSIGNED,
    UNITS,
    DIM_ID,
    DIM_LIST,
    NOTES
};
static const char *const note_names[NOTES] = {
    [FILL] = "_FillValue",      [MISSING_VALUE] = "missing_value", [VALID_MIN] = "valid_min",
    [VALID_MAX] = "valid_max",  [VALID_RANGE] = "valid_range",     [SCALE] = "scale_factor",
    [OFFSET] = "add_offset",    [UNSIGNED] = "_Unsigned",          [UNITS] = "units",
    [DIM_ID] = "_Netcdf4Dimid", [DIM_LIST] = "_Netcdf4Coordinates"};

/* netCDF's default fill of a type; NAN: none (bytes have none in practice). Written when a value is not. */
static double default_fill(const geodec__foreign_type *t)
{
    if (!t->whole) return 9.9692099683868690e+36; /* the nearest double and float are compared below */
    if (t->size == 2) return t->is_signed ? -32767 : 65535;
    if (t->size == 4) return t->is_signed ? -2147483647.0 : 4294967295.0;
    if (t->size == 8) return t->is_signed ? -9223372036854775806.0 : 18446744073709551614.0;
    return NAN;
}

typedef struct rules {
    geodec__foreign_type type;
    geodec__foreign_note note[NOTES];
    double fill;     /* the default one, or NAN */
    bool fill_cells; /* it marks single cells; otherwise only rows that are nothing else */
    double low, high;
} rules;

static bool is_fill(const rules *r, double v)
{
    if (isnan(r->fill)) return false;
    return r->type.whole ? v == r->fill : (v == r->fill || (float)v == (float)r->fill);
}

static bool is_marked(const rules *r, double v)
{
    for (int n = FILL; n <= MISSING_VALUE; n++)
        for (int i = 0; i < r->note[n].count; i++)
            if (v == r->note[n].v[i] || (isnan(v) && isnan(r->note[n].v[i])) ||
                (r->type.size == 4 && !r->type.whole && (float)v == (float)r->note[n].v[i]))
                return true;
    return r->fill_cells && is_fill(r, v);
}

static geodec_status read_rules(const char *path, const char *dataset, rules *r, geodec_err *err)
{
    static const char *const root_names[] = {"_NCProperties", "_nc3_strict"};
    geodec__foreign_note root[2];
    GEODEC_PASS(geodec__foreign_notes(path, dataset, NOTES, note_names, r->note, err));
    GEODEC_PASS(geodec__foreign_notes(path, "/", 2, root_names, root, err));
    bool netcdf = root[0].found || root[1].found;
    for (int n = MISSING_VALUE; n < NOTES; n++) netcdf = netcdf || r->note[n].found;
    r->fill = r->note[FILL].count > 0 ? NAN : default_fill(&r->type);
    r->fill_cells = !r->type.whole || netcdf;
    r->low = -INFINITY;
    r->high = INFINITY;
    if (r->note[VALID_RANGE].count == 2) {
        r->low = r->note[VALID_RANGE].v[0];
        r->high = r->note[VALID_RANGE].v[1];
    }
    if (r->note[VALID_MIN].count == 1) r->low = r->note[VALID_MIN].v[0];
    if (r->note[VALID_MAX].count == 1) r->high = r->note[VALID_MAX].v[0];
    return GEODEC_OK;
}

/* Why the row is no data, by the stored values. */
static uint8_t judge_row(const rules *r, int64_t cols, const double *x)
{
    bool all = cols > 0, marked = false, invalid = false;
    for (int64_t c = 0; c < cols; c++) {
        marked = marked || is_marked(r, x[c]);
        all = all && is_fill(r, x[c]);
        invalid = invalid || x[c] < r->low || x[c] > r->high;
    }
    return marked || all ? GEODEC__ROW_FILLED : invalid ? GEODEC__ROW_INVALID : 0;
}

static void unsign(const rules *r, int64_t n, double *x)
{
    if (!r->type.whole || !r->type.is_signed || strcasecmp(r->note[UNSIGNED].text, "true") != 0) return;
    for (int64_t i = 0; i < n; i++)
        if (x[i] < 0) x[i] += ldexp(1, 8 * r->type.size);
}

static void apply_scale(const rules *r, geodec_matrix *m)
{
    m->scale = r->note[SCALE].count == 1 ? r->note[SCALE].v[0] : 1;
    m->offset = r->note[OFFSET].count == 1 ? r->note[OFFSET].v[0] : 0;
    m->scaled = m->scale != 1 || m->offset != 0;
    for (int64_t i = 0; m->scaled && i < m->rows * m->cols; i++) m->x[i] = m->x[i] * m->scale + m->offset;
}

/* The mask's numbers: one for each row. */
static geodec_status apply_mask(const char *path, const char *name, bool padding, geodec_matrix *m, uint8_t *left,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t shape[GEODEC_FOREIGN_RANK_MAX], total = 1;
    double *v = NULL;
    int rank = 0;
    for (int d = 0; d < GEODEC_FOREIGN_RANK_MAX; d++) shape[d] = -1;
    GEODEC_TRY(geodec__foreign_values(path, name, -1, shape, &rank, NULL, &v, err));
    for (int d = 0; d < rank; d++) total *= shape[d];
    if (total != m->rows)
        GEODEC_THROW(GEODEC_FORMAT, "%s: the mask %s has %lld numbers for %lld rows; --mask none ignores it", path,
                     name, (long long)total, (long long)m->rows);
    for (int64_t r = 0; r < m->rows; r++) {
        if (v[r] != 0 && v[r] != 1)
            GEODEC_THROW(GEODEC_FORMAT, "%s: the mask %s has %g in row %lld, not 0 or 1; --mask none ignores it", path,
                         name, v[r], (long long)r + 1);
        if ((v[r] != 0) == padding) left[r] = GEODEC__ROW_MASKED;
    }
    (void)snprintf(m->mask, sizeof m->mask, "%s", name);
done:
    geodec_mem_free(v);
    return st;
}

static geodec_status find_mask(const char *path, const geodec_matrix_options *o, char name[160], bool *padding,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    enum { ROOM = 256 };
    char(*names)[160] = NULL;
    int n = 0;
    name[0] = '\0';
    *padding = false;
    if (o->mask) {
        if (strcmp(o->mask, "none") == 0) goto done;
        *padding = o->mask[0] == '!';
        (void)snprintf(name, 160, "%s", o->mask + *padding);
        goto done;
    }
    GEODEC_NEW(names, ROOM);
    GEODEC_TRY(geodec__foreign_beside(path, o->dataset, ROOM, names, &n, err));
    for (int i = 0; i < n && !name[0]; i++)
        if (strcmp(names[i], o->dataset) != 0 && geodec_matrix_is_mask(names[i], padding))
            (void)snprintf(name, 160, "%s", names[i]);
done:
    geodec_mem_free(names);
    return st;
}

geodec_status geodec__matrix_h5(const char *path, const geodec_matrix_options *o, geodec_matrix *m, uint8_t **left,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t shape[GEODEC_FOREIGN_RANK_MAX];
    rules r = {0};
    char mask[160];
    bool padding;
    int rank = 0;
    if (!o->dataset || !o->dataset[0]) GEODEC_FAIL(GEODEC_INVAL, "an HDF5 file needs --dataset");
    for (int d = 0; d < GEODEC_FOREIGN_RANK_MAX; d++) shape[d] = -1;
    GEODEC_TRY(geodec__foreign_values(path, o->dataset, -1, shape, &rank, &r.type, &m->x, err));
    if (rank < 2 || rank > 3)
        GEODEC_THROW(GEODEC_FORMAT,
                     "%s: %s has rank %d; a matrix is [rows][columns] or [sequences][positions][columns]", path,
                     o->dataset, rank);
    m->rows = rank == 3 ? shape[0] * shape[1] : shape[0];
    m->cols = shape[rank - 1];
    if (m->rows < 1 || m->cols < 1) GEODEC_THROW(GEODEC_FORMAT, "%s: %s is empty", path, o->dataset);
    GEODEC_NEW(*left, m->rows);
    GEODEC_TRY(read_rules(path, o->dataset, &r, err));
    m->rounded = r.type.whole && r.type.size == 8 ? geodec__matrix_rounded(m->rows * m->cols, m->x) : 0;
    for (int64_t i = 0; i < m->rows; i++) (*left)[i] = judge_row(&r, m->cols, m->x + i * m->cols);
    unsign(&r, m->rows * m->cols, m->x);
    apply_scale(&r, m);
    GEODEC_TRY(find_mask(path, o, mask, &padding, err));
    if (mask[0]) GEODEC_TRY(apply_mask(path, mask, padding, m, *left, err));
done:
    return st;
}
