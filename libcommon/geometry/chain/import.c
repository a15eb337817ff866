#include "chain/import.h"

#include "base/mem.h"
#include "base/rng.h"
#include "chain/import_states.h"
#include "io/file.h"
#include "io/foreign.h"
#include "io/json.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PHASES = 4, DOCUMENTS_MAX = 16 };

static const char *const phase_file[PHASES] = {"phase1_manifold.json", "phase2_symmetry.json", "phase3_curvature.json",
                                               "phase4_axioms.json"};
static const char *const phase_member[PHASES] = {"manifold", "symmetry", "curvature", "axioms"};

/* The attribute that stores each figure. */
static const struct {
    int phase; /* from 0 */
    const char *key, *attr;
    bool whole;
    size_t at; /* offset of its copy in geodec_import_data; 0: none */
} figures[] = {
    {0, "n_samples", "published_samples", true},
    {0, "embedding_dim", "published_width", true, offsetof(geodec_import_data, width)},
    {0, "intrinsic_dim", "published_intrinsic_dim", true, offsetof(geodec_import_data, intrinsic_dim)},
    {0, "pca_components", "published_components", true, offsetof(geodec_import_data, components)},
    {0, "twonn_raw", "published_twonn", false},
    {0, "explained_ratio", "published_explained", false, offsetof(geodec_import_data, explained)},
    {0, "total_variance", "published_total_variance", false, offsetof(geodec_import_data, total_variance)},
    {1, "symmetry_score", "published_symmetry_score", false},
    {1, "generators_found", "published_generators", true},
    {2, "mean_scalar_curvature", "published_scalar_curvature", false},
    {2, "max_scalar_curvature", "published_curvature_max", false},
    {2, "min_scalar_curvature", "published_curvature_min", false},
    {2, "metric_field_points", "published_curvature_points", true},
    {2, "dim", "published_curvature_dim", true},
    {2, "fisher_trace_mean", "published_fisher_trace", false},
    {3, "axiom_count", "published_axioms", true},
    {3, "consistency_score", "published_consistency", false},
};
enum { SAMPLES /* its index among the figures */ };

/* The JSON documents that were read, and the phases found in them. */
typedef struct sources {
    geodec_json *document[DOCUMENTS_MAX];
    int documents;
    const geodec_json *phase[PHASES];
    const char *where[PHASES]; /* the file of each phase */
} sources;

/* Length of the JSON value that text begins with, by its brackets; 0 when they never close. */
static size_t document_length(const char *text, size_t n)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (quoted) {
            if (text[i] == '\\')
                i++;
            else if (text[i] == '"')
                quoted = false;
        } else if (text[i] == '"') {
            quoted = true;
        } else if (text[i] == '{' || text[i] == '[') {
            depth++;
        } else if ((text[i] == '}' || text[i] == ']') && --depth <= 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Extracts the phases of one document, which is a phase or has phases as members. */
static void find_phases(sources *s, const geodec_json *document, const char *file)
{
    int64_t number = 0;
    if (geodec_json_get_i64(document, "phase", &number, NULL) == GEODEC_OK && number >= 1 && number <= PHASES) {
        s->phase[number - 1] = document;
        s->where[number - 1] = file;
    }
    for (int p = 0; p < PHASES; p++) {
        const geodec_json *v = geodec_json_member(document, phase_member[p]);
        if (!v || s->phase[p]) continue;
        s->phase[p] = v;
        s->where[p] = file;
    }
}

/* Reads a file, which may be one document or several in sequence. */
static geodec_status read_file(sources *s, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *text = NULL;
    size_t n = 0, at = 0;
    GEODEC_TRY(geodec_file_read(path, GEODEC_EXPORT_BYTES_MAX, &text, &n, err));
    while (at < n && s->documents < DOCUMENTS_MAX) {
        while (at < n && strchr(" \t\r\n,", text[at]) && text[at]) at++;
        if (at == n) break;
        size_t length = document_length(text + at, n - at);
        if (length == 0) length = n - at; /* the parser reports the error */
        GEODEC_TRY(geodec_json_parse(text + at, length, path, &s->document[s->documents], err));
        find_phases(s, s->document[s->documents++], path);
        at += length;
    }
    if (at < n) GEODEC_THROW(GEODEC_LIMIT, "%s holds more than %d documents", path, DOCUMENTS_MAX);
done:
    geodec_mem_free(text);
    return st;
}

/* If folder is NULL, name is a path. */
static geodec_status add_file(geodec_import_data *e, sources *s, const char *folder, const char *name, geodec_err *err)
{
    char *path = e->file[e->n_files];
    struct stat there;
    const int room = (int)sizeof e->file[0],
              need = snprintf(path, (size_t)room, "%s%s%s", folder ? folder : "", folder ? "/" : "", name);
    if (need < 0 || need >= room) GEODEC_FAIL(GEODEC_LIMIT, "the path is too long");
    if (folder && stat(path, &there) != 0)
        return GEODEC_OK; /* phases 2 to 4 may be missing; phase 1 is checked later */
    e->n_files++;
    GEODEC_PASS(read_file(s, path, err));
    return GEODEC_OK;
}

static geodec_status read_rows(const geodec_json *rows, const char *where, geodec_import_data *e, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = geodec_json_length(rows);
    if (n < 1 || n > GEODEC_EXPORT_POINTS_MAX)
        GEODEC_THROW(n > 0 ? GEODEC_LIMIT : GEODEC_FORMAT, "%s: 'cloud' is not a list of points, or is too long",
                     where);
    GEODEC_NEW(e->x, n * GEODEC_EXPORT_COORDINATES);
    for (int64_t i = 0; i < n; i++) {
        const geodec_json *row = geodec_json_at(rows, i);
        if (geodec_json_length(row) != GEODEC_EXPORT_COORDINATES)
            GEODEC_THROW(GEODEC_FORMAT, "%s: point %lld of 'cloud' does not have %d coordinates", where, (long long)i,
                         GEODEC_EXPORT_COORDINATES);
        for (int64_t c = 0; c < GEODEC_EXPORT_COORDINATES; c++)
            GEODEC_TRY_MSG(
                geodec_json_get_f64(geodec_json_at(row, c), NULL, &e->x[i * GEODEC_EXPORT_COORDINATES + c], err),
                "%s: point %lld of 'cloud'", where, (long long)i);
    }
    e->points = n;
done:
    return st;
}

static geodec_status read_eigenvalues(const geodec_json *list, const char *where, geodec_import_data *e,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = geodec_json_length(list);
    if (n < GEODEC_EXPORT_COORDINATES || n > GEODEC_EXPORT_EIGENVALUES_MAX)
        GEODEC_THROW(n > GEODEC_EXPORT_EIGENVALUES_MAX ? GEODEC_LIMIT : GEODEC_FORMAT,
                     "%s: 'eigenvalues' is not a list of at least %d numbers, or is too long", where,
                     GEODEC_EXPORT_COORDINATES);
    GEODEC_NEW(e->eigenvalue, n);
    for (int64_t i = 0; i < n; i++) {
        GEODEC_TRY_MSG(geodec_json_get_f64(geodec_json_at(list, i), NULL, &e->eigenvalue[i], err),
                       "%s: eigenvalue %lld", where, (long long)i);
        if (!(e->eigenvalue[i] >= 0) || !isfinite(e->eigenvalue[i]) ||
            (i > 0 && e->eigenvalue[i] > e->eigenvalue[i - 1]))
            GEODEC_THROW(GEODEC_FORMAT, "%s: eigenvalue %lld is negative, or larger than the one before", where,
                         (long long)i);
    }
    e->values = n;
done:
    return st;
}

/* Figures of all phases; a missing figure, or one of another type, is an error. */
static geodec_status read_figures(const sources *s, geodec_import_data *e, geodec_err *err)
{
    for (size_t f = 0; f < sizeof figures / sizeof *figures; f++) {
        const geodec_json *phase = s->phase[figures[f].phase];
        const char *where = s->where[figures[f].phase], *key = figures[f].key;
        geodec_import_attr *a = &e->attr[e->n_attrs];
        if (!phase) continue;
        *a = (geodec_import_attr){.name = figures[f].attr, .whole = figures[f].whole};
        if ((a->whole ? geodec_json_get_i64(phase, key, &a->i, NULL) : geodec_json_get_f64(phase, key, &a->d, NULL)) !=
            GEODEC_OK)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: '%s' is missing, or not a %snumber", where, key, a->whole ? "whole " : "");
        if (a->i < 0) GEODEC_FAIL(GEODEC_FORMAT, "%s: '%s' is negative", where, key);
        if (figures[f].at && a->whole)
            memcpy((char *)e + figures[f].at, &a->i, sizeof a->i);
        else if (figures[f].at)
            memcpy((char *)e + figures[f].at, &a->d, sizeof a->d);
        e->n_attrs++;
    }
    return GEODEC_OK;
}

/* Points of phase 3 whose scalar curvature is not exactly zero: the reference's mean often comes from a single
 * point. */
static geodec_status count_curved(const sources *s, geodec_import_data *e, geodec_err *err)
{
    if (!s->phase[2]) return GEODEC_OK;
    const geodec_json *list = geodec_json_member(s->phase[2], "points");
    const int64_t n = geodec_json_length(list);
    if (n > GEODEC_EXPORT_POINTS_MAX) GEODEC_FAIL(GEODEC_LIMIT, "%s: 'points' is too long a list", s->where[2]);
    if (n < 0) GEODEC_FAIL(GEODEC_FORMAT, "%s: 'points' is not a list", s->where[2]);
    geodec_import_attr *a = &e->attr[e->n_attrs++];
    *a = (geodec_import_attr){.name = "published_curvature_nonzero", .whole = true};
    for (int64_t i = 0; i < n; i++) {
        double r = 0;
        if (geodec_json_get_f64(geodec_json_at(list, i), "R", &r, NULL) != GEODEC_OK)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: 'R' of point %lld is missing, or not a number", s->where[2], (long long)i);
        a->i += r != 0;
    }
    return GEODEC_OK;
}

/* Phase 1, which is required, and the figures of all phases. */
static geodec_status read_phase1(const sources *s, const char *path, geodec_import_data *e, geodec_err *err)
{
    const geodec_json *p = s->phase[0];
    const char *name, *where = s->where[0];
    if (!p) GEODEC_FAIL(GEODEC_FORMAT, "%s: no phase 1 of an export", path);
    GEODEC_PASS(read_rows(geodec_json_member(p, "cloud"), where, e, err));
    GEODEC_PASS(read_eigenvalues(geodec_json_member(p, "eigenvalues"), where, e, err));
    GEODEC_PASS(read_figures(s, e, err));
    if (geodec_json_get_str(p, "model_name", &name, NULL) != GEODEC_OK)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: 'model_name' is missing, or is not a string", where);
    if (e->attr[SAMPLES].i != e->points)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: the sample count is %lld, but there are %lld points", where,
                    (long long)e->attr[SAMPLES].i, (long long)e->points);
    if (e->components != e->values || e->intrinsic_dim < 1 || e->intrinsic_dim > e->values || e->width < e->values ||
        !(e->total_variance > 0) || !(e->explained > 0) || !(e->explained <= 1))
        GEODEC_FAIL(
            GEODEC_FORMAT,
            "%s: figures that do not belong together (%lld components, %lld eigenvalues, dimension %lld of %lld)",
            where, (long long)e->components, (long long)e->values, (long long)e->intrinsic_dim, (long long)e->width);
    (void)snprintf(e->model, sizeof e->model, "%s", name);
    for (char *c = e->model; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    return GEODEC_OK;
}

geodec_status geodec_import_read(const char *path, geodec_import_data *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    sources s = {0};
    geodec_import_data *e = NULL;
    GEODEC_NEW(e, 1);
    struct stat there;
    if (stat(path, &there) != 0 || !S_ISDIR(there.st_mode)) {
        GEODEC_TRY(add_file(e, &s, NULL, path, err));
    } else {
        for (int p = 0; p < PHASES; p++) GEODEC_TRY(add_file(e, &s, path, phase_file[p], err));
        /* a folder may have the single file instead */
        if (!s.phase[0] && e->n_files < PHASES) GEODEC_TRY(add_file(e, &s, path, "manifold_export.json", err));
        if (e->n_files == 0)
            GEODEC_THROW(GEODEC_NOTFOUND, "%s: neither %s nor manifold_export.json", path, phase_file[0]);
    }
    GEODEC_TRY(read_phase1(&s, path, e, err));
    GEODEC_TRY(count_curved(&s, e, err));
    *out = *e;
    e->x = e->eigenvalue = NULL;
done:
    for (int i = 0; i < s.documents; i++) geodec_json_free(s.document[i]);
    if (e) geodec_import_clear(e);
    geodec_mem_free(e);
    return st;
}

void geodec_import_clear(geodec_import_data *e)
{
    GEODEC_FREE(e->x, e->eigenvalue);
    memset(e, 0, sizeof *e);
}

geodec_status geodec_import_lift(const geodec_import_data *e, int64_t n, uint64_t seed, double *x, geodec_err *err)
{
    enum { M = GEODEC_EXPORT_COORDINATES };
    if (n < M || n > e->values)
        GEODEC_FAIL(GEODEC_RANGE, "dimension %lld is outside %d..%lld", (long long)n, M, (long long)e->values);
    for (int64_t i = 0; i < e->points; i++) {
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("export lift", (uint64_t)i));
        memcpy(x + i * n, e->x + i * M, M * sizeof *x);
        for (int64_t j = M; j < n; j++) x[i * n + j] = sqrt(fmax(e->eigenvalue[j], 1e-6)) * geodec_rng_normal(&r);
    }
    return GEODEC_OK;
}

geodec_status geodec_import_write_attrs(const geodec_import_data *e, geodec_artifact *a, geodec_err *err)
{
    GEODEC_PASS(geodec_artifact_put_str(a, "published_model", e->model, err));
    for (int i = 0; i < e->n_attrs; i++) {
        const geodec_import_attr *v = &e->attr[i];
        if (v->whole)
            GEODEC_PASS(geodec_artifact_put_i64(a, v->name, v->i, err));
        else
            GEODEC_PASS(geodec_artifact_put_f64(a, v->name, v->d, err));
    }
    return GEODEC_OK;
}

/* ---- matrices of other programs ---------------------------------------------------------------------------------- */

/* Whether a folder has safetensors files. */
static geodec_status has_shards(const char *path, bool *found, geodec_err *err)
{
    DIR *d = opendir(path);
    *found = false;
    if (!d) GEODEC_FAIL(GEODEC_IO, "%s: %s", path, strerror(errno));
    for (const struct dirent *e = readdir(d); e && !*found; e = readdir(d))
        *found = geodec_import_states_is_name(e->d_name);
    (void)closedir(d);
    return GEODEC_OK;
}

geodec_status geodec_import_format(const char *path, const char *dataset, const char **found, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    struct stat s;
    unsigned char head[16] = {0};
    if (stat(path, &s) != 0) GEODEC_THROW(GEODEC_NOTFOUND, "%s: no such file or folder", path);
    if (S_ISDIR(s.st_mode)) {
        bool shards;
        GEODEC_TRY(has_shards(path, &shards, err));
        *found = shards ? "safetensors" : "export";
        goto done;
    }
    if (!S_ISREG(s.st_mode)) GEODEC_THROW(GEODEC_FORMAT, "%s is not a regular file", path);
    const size_t n = geodec_file_head(path, head, sizeof head);
    if (n == 0 && s.st_size > 0) GEODEC_THROW(GEODEC_IO, "%s cannot be read", path);
    size_t at = 0;
    while (at < n && strchr(" \t\r\n", head[at]) && head[at]) at++;
    if (n >= 6 && memcmp(head, "\x93NUMPY", 6) == 0)
        *found = "npy";
    else if (n > 8 && head[8] == '{' && !head[5] && !head[6] && !head[7]) /* after the length of a header */
        *found = "safetensors";
    else if ((n >= 4 && memcmp(head, "\x89HDF", 4) == 0) || dataset[0]) /* a user block may come first */
        *found = "hdf5";
    else
        *found = at < n && head[at] == '{' ? "export" : "text";
done:
    return st;
}
