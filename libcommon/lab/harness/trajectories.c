#include "lab/harness/trajectories.h"

#include "base/mem.h"
#include "geometry/pca.h"

#include <string.h>

enum { SLAB = 1024 /* rows */ };

geodec_harness_chart_options geodec_harness_chart_defaults(void)
{
    return (geodec_harness_chart_options){.n = 8, .points = 800, .paths = 4000};
}

/* Data of the rows without their states. */
typedef struct rows {
    const geodec_activations *a;
    const geodec_harness_chart_options *o;
    int64_t first, last; /* kept layers read: first .. last */
    int32_t *text, *sequence, *position;
    bool *training; /* neither held out nor in a gap */
} rows;

typedef geodec_status (*slab_fn)(void *ctx, int64_t layer, int64_t row0, int64_t count, const double *x,
                                 geodec_err *err);

/* Whether a state is a training state. The first state is the same in every text and would be on both sides: left out.
 * */
static bool usable(const rows *r, int64_t row) { return r->training[row] && r->position[row] > 0; }

/* Calls fn on slabs of rows of each layer read, as float64. */
static geodec_status each_slab(const rows *r, const geodec_hooks *hooks, const char *what, slab_fn fn, void *ctx,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = r->a->d;
    float *state = NULL;
    double *x = NULL;
    uint8_t *scratch = NULL;
    GEODEC_NEW_EACH(SLAB * d, state, x);
    GEODEC_NEW(scratch, (int64_t)geodec_activations_scratch(r->a, SLAB));
    for (int64_t l = r->first; l <= r->last; l++)
        for (int64_t row = 0; row < r->a->rows; row += SLAB) {
            const int64_t count = r->a->rows - row < SLAB ? r->a->rows - row : SLAB;
            GEODEC_TRY(geodec_hooks_progress(hooks, what, (l - r->first) * r->a->rows + row,
                                             (r->last - r->first + 1) * r->a->rows, err));
            GEODEC_TRY(geodec_activations_read(r->a, l, row, count, state, scratch, err));
            for (int64_t i = 0; i < count * d; i++) x[i] = (double)state[i];
            GEODEC_TRY(fn(ctx, l, row, count, x, err));
        }
done:
    GEODEC_FREE(state, x, scratch);
    return st;
}

/* ---- the chart --------------------------------------------------------------------------------------------------- */

typedef struct gather_moments {
    const rows *r;
    geodec_pca_moments moments;
    geodec_pool *pool;
    double *kept; /* [SLAB][d] */
} gather_moments;

static geodec_status add_training(void *ctx, int64_t layer, int64_t row0, int64_t count, const double *x,
                                  geodec_err *err)
{
    gather_moments *g = ctx;
    const int64_t d = g->r->a->d;
    int64_t kept = 0;
    (void)layer;
    for (int64_t i = 0; i < count; i++)
        if (usable(g->r, row0 + i)) memcpy(g->kept + kept++ * d, x + i * d, (size_t)d * sizeof *x);
    return kept > 0 ? geodec_pca_moments_add(&g->moments, kept, g->kept, g->pool, err) : GEODEC_OK;
}

static geodec_status make_chart(const rows *r, geodec_pool *pool, const geodec_hooks *hooks, geodec_harness_charted *c,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    gather_moments g = {.r = r, .pool = pool};
    geodec_pca pca = {0};
    double kept = 0;
    GEODEC_NEW(g.kept, SLAB * r->a->d);
    GEODEC_TRY(geodec_pca_moments_init(&g.moments, r->a->d, NULL, err));
    GEODEC_TRY(each_slab(r, hooks, "chart", add_training, &g, err));
    GEODEC_TRY(geodec_pca_from_moments(&g.moments, 1, &pca, err));
    if (pca.k < c->n)
        GEODEC_THROW(GEODEC_SCARCE, "the states fill %lld dimensions; the chart needs %lld", (long long)pca.k,
                     (long long)c->n);
    GEODEC_NEW_COPY(c->basis, pca.basis, c->n * c->d);
    GEODEC_NEW_COPY(c->mean, pca.mean, c->d);
    for (int64_t i = 0; i < c->n; i++) kept += pca.eigenvalue[i];
    c->explained = kept / pca.total;
    c->leading = pca.eigenvalue[0] / pca.total;
done:
    geodec_pca_moments_clear(&g.moments);
    geodec_pca_clear(&pca);
    geodec_mem_free(g.kept);
    return st;
}

/* ---- paths and points -------------------------------------------------------------------------------------------- */

typedef struct places {
    const rows *r;
    geodec_harness_charted *c;
    int64_t layers;      /* looked at */
    int64_t *path;       /* [rows] path of the row layer by layer, -1 = not taken */
    const int64_t *pick; /* [points] layer * rows + row, rising */
    int64_t next;        /* pick */
    double *y;           /* [SLAB][n] */
    geodec_pool *pool;
} places;

static geodec_status place_slab(void *ctx, int64_t layer, int64_t row0, int64_t count, const double *x, geodec_err *err)
{
    places *p = ctx;
    geodec_harness_charted *c = p->c;
    const int64_t n = c->n, l = layer - p->r->first, R = p->r->a->rows;
    GEODEC_PASS(geodec_pca_project(c->d, n, c->basis, c->mean, count, x, p->y, p->pool, err));
    for (int64_t i = 0; i < count; i++) {
        const int64_t to = p->path ? p->path[row0 + i] * p->layers + l : row0 + i;
        if (!p->path || p->path[row0 + i] >= 0) memcpy(c->x + to * n, p->y + i * n, (size_t)n * sizeof *p->y);
    }
    for (; p->next < c->points && p->pick[p->next] < l * R + row0 + count; p->next++) {
        const int64_t i = p->pick[p->next] - l * R - row0;
        memcpy(c->point + p->next * n, p->y + i * n, (size_t)n * sizeof *p->y);
        memcpy(c->state + p->next * c->d, x + i * c->d, (size_t)c->d * sizeof *x);
        c->point_row[p->next] = row0 + i;
        c->point_place[p->next] = (int32_t)layer;
    }
    return GEODEC_OK;
}

static geodec_status lay_out(const rows *r, int64_t *path, geodec_harness_charted *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t R = r->a->rows, layers = r->last - r->first + 1;
    int64_t *list = NULL, count = 0, paths = 0;
    if (path) { /* one path a token */
        GEODEC_NEW(list, R);
        for (int64_t i = 0; i < R; i++)
            if (r->position[i] > 0 && r->text[i] != GEODEC_SPLIT_NONE) list[count++] = i;
        geodec_harness_thin(list, &count, r->o->paths,
                            geodec_rng_stream(r->o->split->seed, geodec_rng_id("layer paths", 0)));
        for (int64_t i = 0; i < R; i++) path[i] = -1;
        for (int64_t i = 0; i < count; i++) path[list[i]] = i;
        GEODEC_NEW(c->offset, count + 1);
        GEODEC_NEW(c->text, count);
        GEODEC_NEW(c->x, count * layers * c->n);
        for (int64_t i = 0; i < count; i++) {
            c->offset[i + 1] = (i + 1) * layers;
            c->text[i] = r->text[list[i]];
        }
        paths = count;
    } else { /* one a run of consecutive positions */
        GEODEC_NEW(c->offset, R + 1);
        GEODEC_NEW(c->text, R);
        GEODEC_NEW(c->x, R * c->n);
        for (int64_t i = 0; i < R; i++) {
            if (i > 0 && r->position[i] > 1 && r->sequence[i] == r->sequence[i - 1] &&
                r->position[i] == r->position[i - 1] + 1 && r->text[i] == r->text[i - 1])
                continue;
            c->offset[paths] = i;
            c->text[paths++] = r->text[i];
        }
        c->offset[paths] = R;
    }
    c->t = (geodec_trajectories){
        .paths = paths, .n = c->n, .offset = c->offset, .text = c->text, .x = c->x, .places = path != NULL};
done:
    geodec_mem_free(list);
    return st;
}

static geodec_status place_all(const rows *r, geodec_pool *pool, const geodec_hooks *hooks, geodec_harness_charted *c,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t R = r->a->rows, layers = r->last - r->first + 1;
    places p = {.r = r, .c = c, .layers = layers, .pool = pool};
    int64_t *pick = NULL;
    GEODEC_NEW(pick, layers * R);
    GEODEC_NEW(p.y, SLAB * c->n);
    if (r->o->index < 0) GEODEC_NEW(p.path, R);
    GEODEC_TRY(lay_out(r, p.path, c, err));
    for (int64_t l = 0; l < layers; l++)
        for (int64_t i = 0; i < R; i++)
            if (usable(r, i)) pick[c->points++] = l * R + i;
    geodec_harness_thin(pick, &c->points, r->o->points,
                        geodec_rng_stream(r->o->split->seed, geodec_rng_id("metric points", 0)));
    p.pick = pick;
    GEODEC_NEW(c->point, c->points * c->n);
    GEODEC_NEW(c->state, c->points * c->d);
    GEODEC_NEW_EACH(c->points, c->point_row, c->point_place);
    GEODEC_TRY(each_slab(r, hooks, "trajectories", place_slab, &p, err));
done:
    GEODEC_FREE(pick, p.path, p.y);
    return st;
}

static geodec_status read_rows(rows *r, geodec_split *split, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_artifact *file = r->a->file;
    GEODEC_TRY(geodec_artifact_read(file, "/sequence", &r->sequence, err));
    GEODEC_TRY(geodec_artifact_read(file, "/position", &r->position, err));
    GEODEC_TRY(geodec_activations_units(file, &r->text, split, err));
    GEODEC_NEW(r->training, r->a->rows);
    for (int64_t i = 0; i < r->a->rows; i++) r->training[i] = geodec_harness_split_on(r->o->split, r->text[i], false);
done:
    return st;
}

geodec_status geodec_harness_charted_make(const geodec_activations *a, const geodec_harness_chart_options *o,
                                          geodec_pool *pool, const geodec_hooks *hooks, geodec_harness_charted *out,
                                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    rows r = {.a = a, .o = o, .first = o->index < 0 ? 0 : o->index, .last = o->index < 0 ? a->layers - 1 : o->index};
    geodec_harness_charted c = {.n = o->n, .d = a->d};
    if (o->n > a->d && o->n <= GEODEC_RBF_MAX_N)
        GEODEC_THROW(GEODEC_SCARCE, "states of width %lld; the chart needs %lld dimensions", (long long)a->d,
                     (long long)o->n);
    if (o->n < 1 || o->n > GEODEC_RBF_MAX_N || o->index >= a->layers || o->points < 2)
        GEODEC_THROW(GEODEC_RANGE, "a chart of %lld dimensions with %lld points at layer %lld of %lld", (long long)o->n,
                     (long long)o->points, (long long)o->index, (long long)a->layers);
    GEODEC_TRY(read_rows(&r, &c.split, err));
    if (o->basis) { /* its shares of the variance are not known without another pass: 0 */
        GEODEC_NEW_COPY(c.basis, o->basis, c.n * c.d);
        GEODEC_NEW_COPY(c.mean, o->mean, c.d);
    } else {
        GEODEC_TRY(make_chart(&r, pool, hooks, &c, err));
    }
    GEODEC_TRY(place_all(&r, pool, hooks, &c, err));
    GEODEC_MOVE(*out, c);
done:
    geodec_harness_charted_clear(&c);
    GEODEC_FREE(r.text, r.sequence, r.position, r.training);
    return st;
}

void geodec_harness_charted_clear(geodec_harness_charted *c)
{
    GEODEC_FREE(c->basis, c->mean, c->offset, c->text, c->x, c->point, c->state, c->point_row, c->point_place);
    memset(c, 0, sizeof *c);
}
