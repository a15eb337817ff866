/* One point of the field by the kernels of rbf_kernel.h, from the sites that have weight there. */
#include "base/mem.h"
#include "geometry/rbf_internal.h"
#include "geometry/rbf_kernel.h"

#include <math.h>

/* What a point needs while it is computed: on the stack for few sites. */
typedef struct work {
    geodec__rbf_sites sites;
    double *heap_scratch, *scratch;
    int32_t *index;
    double small[GEODEC__RBF_FAST_SITES * 72];
} work;

static void work_free(work *w)
{
    geodec_mem_free(w->heap_scratch);
    geodec_mem_free(w->index);
}

/* *fast: whether the kernels serve this point; if not, it is one for the blocked sums of rbf.c. */
static geodec_status work_for(const geodec_rbf *f, geodec__rbf_task task, const double *x, work *w, bool *fast,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    w->heap_scratch = NULL;
    w->index = NULL;
    w->scratch = w->small;
    w->sites = (geodec__rbf_sites){.n = f->n,
                                   .count = f->n_sites,
                                   .row = f->row,
                                   .site = f->site,
                                   .site_t = f->site_t,
                                   .log_g = f->log_g,
                                   .sigma = f->sigma};
    *fast = f->n <= GEODEC__RBF_FAST_N;
    if (!*fast) goto done;
    for (int64_t a = 0; a < f->n; a++)
        if (!isfinite(x[a])) GEODEC_THROW(GEODEC_NUMERIC, "coordinate %lld of the point is not finite", (long long)a);
    if (f->tree) {
        int64_t where;
        const double least = geodec__rbf_tree_nearest(f->tree, x, &where);
        if (!isfinite(least)) GEODEC_THROW(GEODEC_NUMERIC, "the point is too far from every site");
        /* a hair more than the cut-off: the kernel decides */
        const double radius2 = (least + 2 * RBF_CUTOFF * f->sigma * f->sigma) * (1 + 1e-12);
        GEODEC_NEW(w->index, RBF_FAST_ACTIVE);
        w->sites.count = geodec__rbf_tree_within(f->tree, x, radius2, RBF_FAST_ACTIVE, w->index);
        w->sites.index = w->index;
        *fast = w->sites.count <= RBF_FAST_ACTIVE;
        if (!*fast) goto done;
    }
    if (w->sites.count > GEODEC__RBF_FAST_SITES) {
        GEODEC_NEW(w->heap_scratch, geodec__rbf_scratch(task, f->n, w->sites.count));
        w->scratch = w->heap_scratch;
    }
done:
    return st;
}

static geodec_status failure(double bad, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (!isfinite(bad)) GEODEC_THROW(GEODEC_NUMERIC, "the metric is not finite here");
    GEODEC_THROW(GEODEC_NUMERIC, "the metric has the eigenvalue exp(%g)", bad);
done:
    return st;
}

geodec_status geodec__rbf_first(const geodec_rbf *f, const double *x, double *g, double *dg, bool *done_here,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    work w;
    double bad;
    GEODEC_TRY(work_for(f, RBF_FIELD, x, &w, done_here, err));
    if (*done_here && !f->kernels->first(&w.sites, x, g, dg, w.scratch, &bad)) GEODEC_TRY(failure(bad, err));
done:
    work_free(&w);
    return st;
}

geodec_status geodec__rbf_path(const geodec_space *space, const double *x, const double *v, double *speed2,
                               double *accel, bool *done_here, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_rbf *f = (const geodec_rbf *)(const void *)space;
    work w;
    double bad;
    GEODEC_TRY(work_for(f, RBF_PATH, x, &w, done_here, err));
    if (*done_here && !f->kernels->path(&w.sites, x, v, speed2, accel, w.scratch, &bad)) GEODEC_TRY(failure(bad, err));
done:
    work_free(&w);
    return st;
}

geodec_status geodec__rbf_variation(const geodec_space *space, const double *x, const double *v, double *gv,
                                    double *dgvv, bool *done_here, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_rbf *f = (const geodec_rbf *)(const void *)space;
    work w;
    double bad;
    GEODEC_TRY(work_for(f, RBF_VARIATION, x, &w, done_here, err));
    if (*done_here && !f->kernels->variation(&w.sites, x, v, gv, dgvv, w.scratch, &bad)) GEODEC_TRY(failure(bad, err));
done:
    work_free(&w);
    return st;
}

geodec_status geodec__rbf_riemann(const geodec_space *space, const double *x, double *riem, bool *done_here,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_rbf *f = (const geodec_rbf *)(const void *)space;
    work w;
    double bad;
    *done_here = false;
    if (f->n > 8) return st;
    GEODEC_TRY(work_for(f, RBF_RIEMANN, x, &w, done_here, err));
    if (*done_here && !f->kernels->riemann(&w.sites, x, riem, w.scratch, &bad)) GEODEC_TRY(failure(bad, err));
done:
    work_free(&w);
    return st;
}
