/* Points of the field by the kernels of rbf_kernel_internal.h, each from the sites that have weight there. */
#include "base/mem.h"
#include "geometry/rbf_internal.h"
#include "geometry/rbf_kernel_internal.h"

#include <math.h>

_Static_assert((int)GEODEC_SPACE_TOGETHER == (int)GEODEC__RBF_TOGETHER, "slices");

/* Memory for the computation of a few points: on the stack for few sites. */
typedef struct work {
    geodec__rbf_job job[GEODEC_SPACE_TOGETHER];
    int32_t *index[GEODEC_SPACE_TOGETHER];
    double *heap;
    double small[16384];
} work;

static void work_free(work *w, int64_t points)
{
    for (int64_t i = 0; i < points; i++) geodec_mem_free(w->index[i]);
    geodec_mem_free(w->heap);
}

/* The sites with weight at x; more of them than the kernels take are counted only. */
static geodec_status sites_at(const geodec_rbf *f, const double *x, geodec__rbf_sites *s, int32_t **index,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *s = (geodec__rbf_sites){.n = f->n,
                             .count = f->n_sites,
                             .row = f->row,
                             .site = f->site,
                             .site_t = f->site_t,
                             .log_g = f->log_g,
                             .log_t = f->log_t,
                             .sigma = f->sigma};
    for (int64_t a = 0; a < f->n; a++)
        if (!isfinite(x[a])) GEODEC_THROW(GEODEC_NUMERIC, "coordinate %lld of the point is not finite", (long long)a);
    if (!f->tree) goto done;
    int64_t where;
    const double least = geodec__rbf_tree_nearest(f->tree, x, &where);
    if (!isfinite(least)) GEODEC_THROW(GEODEC_NUMERIC, "the point is too far from every site");
    /* slightly above the cut-off, which the kernel applies exactly */
    const double radius2 = (least + 2 * RBF_CUTOFF * f->sigma * f->sigma) * (1 + 1e-12);
    GEODEC_NEW(*index, RBF_FAST_ACTIVE);
    s->count = geodec__rbf_tree_within(f->tree, x, radius2, RBF_FAST_ACTIVE, *index);
    s->index = *index;
done:
    return st;
}

static geodec_status failure(double bad, geodec_err *err)
{
    if (!isfinite(bad)) GEODEC_FAIL(GEODEC_NUMERIC, "the metric is not finite here");
    GEODEC_FAIL(GEODEC_NUMERIC, "the metric has the eigenvalue exp(%g)", bad);
    return GEODEC_OK;
}

/* x, v [points][n] (v NULL for a task without); first, second: stride1, stride2 doubles from a point's result to the
 * next, NULL = not computed. *done_here false: a point needs the blocked sums of rbf.c, and nothing was written.
 * The error is that of the first point that fails. */
static geodec_status run(const geodec_rbf *f, geodec__rbf_task task, int64_t points, const double *x, const double *v,
                         double *first, int64_t stride1, double *second, int64_t stride2, bool *done_here,
                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    work w;
    int64_t own = 0, most = 0;
    int64_t i = 0;
    w.heap = NULL;
    for (int64_t k = 0; k < points; k++) w.index[k] = NULL;
    *done_here = f->n <= GEODEC__RBF_FAST_N;
    for (; i < points && *done_here; i++) {
        geodec__rbf_job *j = &w.job[i];
        GEODEC_TRY(sites_at(f, x + i * f->n, &j->sites, &w.index[i], err));
        *done_here = !f->tree || j->sites.count <= RBF_FAST_ACTIVE;
        j->x = x + i * f->n;
        j->v = v ? v + i * f->n : NULL;
        j->first = first ? first + i * stride1 : NULL;
        j->second = second ? second + i * stride2 : NULL;
        own += geodec__rbf_own(f->n, j->sites.count);
        if (j->sites.count > most) most = j->sites.count;
    }
    if (!*done_here) goto done;
    const int64_t all = own + geodec__rbf_common(task, f->n, most);
    if (all > (int64_t)(sizeof w.small / sizeof *w.small)) GEODEC_NEW(w.heap, all);
    double *scratch = w.heap ? w.heap : w.small;
    for (i = 0; i < points; i++) {
        w.job[i].scratch = scratch;
        scratch += geodec__rbf_own(f->n, w.job[i].sites.count);
    }
    f->kernels->run[task]((int)points, w.job, scratch);
    for (i = 0; i < points; i++)
        if (!w.job[i].ok) GEODEC_TRY(failure(w.job[i].bad, err));
done:
    work_free(&w, points);
    return st;
}

geodec_status geodec__rbf_first(const geodec_rbf *f, const double *x, double *g, double *dg, bool *done_here,
                                geodec_err *err)
{
    return run(f, RBF_FIELD, 1, x, NULL, g, 0, dg, 0, done_here, err);
}

geodec_status geodec__rbf_path(const geodec_space *space, int64_t points, const double *x, const double *v,
                               double *speed2, double *accel, bool *done_here, geodec_err *err)
{
    const geodec_rbf *f = (const geodec_rbf *)(const void *)space;
    return run(f, RBF_PATH, points, x, v, speed2, 1, accel, f->n, done_here, err);
}

geodec_status geodec__rbf_variation(const geodec_space *space, int64_t points, const double *x, const double *v,
                                    double *gv, double *dgvv, bool *done_here, geodec_err *err)
{
    const geodec_rbf *f = (const geodec_rbf *)(const void *)space;
    return run(f, RBF_VARIATION, points, x, v, gv, f->n * f->n, dgvv, f->n * f->n, done_here, err);
}

geodec_status geodec__rbf_riemann(const geodec_space *space, const double *x, double *riem, bool *done_here,
                                  geodec_err *err)
{
    const geodec_rbf *f = (const geodec_rbf *)(const void *)space;
    *done_here = false;
    if (f->n > 8) return GEODEC_OK;
    return run(f, RBF_RIEMANN, 1, x, NULL, riem, 0, NULL, 0, done_here, err);
}
