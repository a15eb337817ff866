/* The published manifold in a metric artifact: its tables unchanged, so that later stages compute with the same bits.
 * Not bound by the table of the kind, which is the metric's: these are optional additions. */
#include "base/mem.h"
#include "lab/harness/manifold.h"

geodec_status geodec_harness_manifold_metric(const geodec_harness_manifold *m, const geodec_harness_options *o,
                                             geodec_pool *pool, const geodec_hooks *hooks, geodec_metric *out,
                                             geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric_options options = geodec_metric_defaults();
    if (!m->g_raw) GEODEC_THROW(GEODEC_INVAL, "a manifold made from tables has no metric before smoothing");
    options.k = o->k;
    options.clip_min = o->clip_min;
    options.clip_max = o->clip_max;
    options.sigma = m->sigma;
    options.centre = GEODEC_CENTRE_POINT;
    GEODEC_TRY(geodec_metric_from_matrices(GEODEC_METRIC_PUBLISHED, m->samples, m->n, m->point, m->g_raw, &options,
                                           pool, hooks, out, err));
    out->options.ridge = o->ridge;
done:
    return st;
}

geodec_status geodec_harness_manifold_write(const geodec_harness_manifold *m, double h, geodec_artifact *a,
                                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_artifact_write(a, "/published/g_raw", m->g_raw, err));
    GEODEC_TRY(geodec_artifact_write(a, "/published/g", m->g, err));
    GEODEC_TRY(geodec_artifact_write(a, "/published/gamma", m->gamma, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "published_h", h, err));
done:
    return st;
}

geodec_status geodec_harness_manifold_read(const geodec_artifact *a, const geodec_metric *metric,
                                           geodec_harness_manifold *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *g_raw = NULL, *g = NULL, *gamma = NULL;
    if (metric->kind != GEODEC_METRIC_PUBLISHED || !geodec_artifact_has(a, "/published/g_raw") ||
        !geodec_artifact_has(a, "/published/g") || !geodec_artifact_has(a, "/published/gamma")) {
        GEODEC_THROW(GEODEC_FORMAT, "%s: no published manifold; make it with geodec-metric --mode ref",
                     geodec_artifact_path(a));
    }
    GEODEC_TRY(geodec_artifact_read(a, "/published/g_raw", &g_raw, err));
    GEODEC_TRY(geodec_artifact_read(a, "/published/g", &g, err));
    GEODEC_TRY(geodec_artifact_read(a, "/published/gamma", &gamma, err));
    GEODEC_TRY(
        geodec_harness_manifold_table(metric->points, metric->n, metric->point, g, gamma, metric->sigma, m, err));
    st = geodec_harness_field_init(&m->fitted, m->samples, m->n, m->point, g_raw, m->sigma, false, err);
    if (st != GEODEC_OK) {
        geodec_harness_manifold_clear(m);
        goto done;
    }
    m->g_raw = g_raw;
    g_raw = NULL;
done:
    GEODEC_FREE(g_raw, g, gamma);
    return st;
}
