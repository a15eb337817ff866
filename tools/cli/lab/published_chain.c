#include "cli/lab/published_chain.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "chain/christoffel.h"
#include "chain/riemann.h"
#include "cli/cloud.h"
#include "cli/space.h"
#include "io/foreign.h"
#include "lab/harness/space.h"
#include "lab/published/propagators.h"
#include "linalg/stats.h"

static geodec_harness_options harness_options(const published_chain *o)
{
    geodec_harness_options h = geodec_harness_defaults();
    if (o->neighbours > 0) h.k = o->neighbours;
    if (o->ridge > 0) h.ridge = o->ridge;
    if (o->clip_min > 0) h.clip_min = o->clip_min;
    if (o->clip_max > 0) h.clip_max = o->clip_max;
    if (o->sigma > 0) h.sigma = o->sigma;
    if (o->h > 0) h.h = o->h;
    return h;
}

geodec_status published_metric(const cli *c, const published_chain *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_cloud cloud = {0};
    geodec_metric m = {0};
    geodec_harness_manifold manifold = {0};
    geodec_metric_medians own;
    const geodec_metric_medians control = {0};
    const geodec_harness_options h = harness_options(o);
    cli_stage stage = {0};
    double *x = NULL;
    int64_t n;
    GEODEC_TRY(stage_begin(&stage, c, o->output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_cloud_kind, c->args[1], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    if (o->dim == 0 && cloud.k < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld principal component; the metric needs at least 2 (--dim 1 forces it)",
                     (long long)cloud.k);
    if (o->dim > cloud.k)
        GEODEC_THROW(GEODEC_RANGE, "--dim: %s has %lld coordinates, not %lld", c->args[1], (long long)cloud.k,
                     (long long)o->dim);
    GEODEC_TRY(cloud_dim(c, &cloud, o->dim, geodec_cloud_dimension(&cloud), &n, err));
    if (o->sample > 0) geodec_cloud_thin(&cloud, o->sample, c->seed);
    GEODEC_TRY(geodec_cloud_coordinates(&cloud, n, &x, err));
    GEODEC_TRY(geodec_harness_manifold_fit(cloud.points, n, x, &h, c->pool, &c->hooks, &manifold, err));
    GEODEC_TRY(geodec_harness_manifold_metric(&manifold, &h, c->pool, &c->hooks, &m, err));
    GEODEC_TRY(geodec_metric_summary(&m, &own, err));
    GEODEC_TRY(stage_create(&stage, &geodec_metric_kind, err));
    geodec_metric_writer out = {.n = n, .file = stage.out};
    GEODEC_TRY(geodec_metric_write_slab(&out, 0, m.points, m.log_g, err));
    const geodec_metric_source source = {.cloud_row = cloud.cloud_row,
                                         .activation_row = cloud.row,
                                         .sequence = cloud.sequence,
                                         .position = cloud.position,
                                         .d = cloud.d,
                                         .basis = cloud.basis,
                                         .mean = cloud.mean,
                                         .layer = cloud.layer,
                                         .control = control};
    GEODEC_TRY(geodec_metric_write(&m, &source, stage.out, err));
    GEODEC_TRY(geodec_harness_manifold_write(&manifold, h.h, stage.out, err));
    GEODEC_TRY(stage_commit(&stage, err));
    geodec_metric_say(&c->hooks, &m, &own, &control);
done:
    stage_end(&stage);
    geodec_cloud_clear(&cloud);
    geodec_metric_clear(&m);
    geodec_harness_manifold_clear(&manifold);
    geodec_mem_free(x);
    return st;
}

/* Opens the published metric c->args[1]; added: to the provenance. */
static geodec_status open_metric(cli_stage *stage, bool added, geodec_harness_space *in, geodec_err *err)
{
    const char *path = stage->c->args[1];
    geodec_artifact *file = NULL;
    GEODEC_PASS(added ? stage_space_file(stage, path, &file, err)
                      : geodec_artifact_open(&geodec_metric_kind, path, &file, err));
    GEODEC_PASS(geodec_harness_space_take(file, in, err));
    if (!in->published)
        GEODEC_FAIL(GEODEC_INVAL, "%s is of kind %s; geodec-published metric makes the published one", path,
                    geodec_metric_type_name(in->of.metric.kind));
    return GEODEC_OK;
}

/* The control is the exact derivative of the field without the harness's anchors. */
geodec_status published_christoffel(const cli *c, const published_chain *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_space in = {0};
    geodec_christoffel g = {0};
    geodec_christoffel_options opt = geodec_christoffel_defaults();
    geodec_harness_fitted fitted;
    geodec_rbf *smooth = NULL;
    cli_stage stage = {0};
    double median = 0;
    GEODEC_TRY(stage_begin(&stage, c, o->output, err));
    GEODEC_TRY(open_metric(&stage, true, &in, err));
    opt.step = o->h;
    if (opt.step == 0) GEODEC_TRY(geodec_artifact_get_f64(in.of.file, "published_h", &opt.step, err));
    geodec_harness_fitted_init(&fitted, in.published, opt.step);
    GEODEC_TRY(geodec_metric_field(&in.of.metric, &smooth, err));
    if (o->control >= 0) opt.control = o->control;
    opt.deriv = GEODEC_DERIV_FD;
    opt.table = in.published->gamma;
    opt.other = geodec_rbf_space(smooth);
    GEODEC_TRY(geodec_christoffel_compute(&fitted.space, in.of.metric.points, in.of.metric.point, &opt, c->pool,
                                          &c->hooks, &g, err));
    STAGE_WRITE(&stage, &geodec_christoffel_kind,
                geodec_christoffel_write(&g, in.of.metric.point, "samples", in.of.metric.sigma, stage.out, err));
    GEODEC_TRY(geodec_stats_median(g.points, g.largest, &median, err));
    cli_say(c,
            "%lld samples, dimension %lld: median max |Gamma| %.3g, metric residual at most %.1e, analytic control "
            "within %.1e",
            (long long)g.points, (long long)in.of.metric.n, median, g.worst_residual, g.worst_gap);
done:
    stage_end(&stage);
    geodec_rbf_destroy(smooth);
    geodec_harness_space_close(&in);
    geodec_christoffel_clear(&g);
    return st;
}

geodec_status published_geodesic(const cli *c, const published_chain *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_space in = {0};
    geodec_geodesics g = {0};
    geodec_geodesics_options opt = geodec_geodesics_defaults();
    cli_stage stage = {0};
    double *x0 = NULL, *v0 = NULL;
    opt.seed = c->seed;
    opt.hull_radius = -1; /* the published harness has no hull */
    if (o->paths >= 0) opt.paths = o->paths;
    if (o->steps > 0) opt.path.steps = o->steps;
    if (o->dl > 0) opt.path.dl = o->dl;
    if (o->control >= 0) opt.control = o->control;
    GEODEC_TRY(stage_begin(&stage, c, o->output, err));
    GEODEC_TRY(open_metric(&stage, false, &in, err));
    if (o->draws) { /* velocities are not normalised */
        int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, in.of.metric.n};
        GEODEC_TRY(geodec_foreign_read(o->draws, "/geodesic/x0", 2, shape, NULL, &x0, err));
        GEODEC_TRY(geodec_foreign_read(o->draws, "/geodesic/v0", 2, shape, NULL, &v0, err));
        opt.velocity = GEODEC_VELOCITY_GIVEN;
        opt.x0 = x0;
        opt.v0 = v0;
        opt.starts = shape[0];
        GEODEC_TRY(stage_file(&stage, o->draws, err));
    }
    GEODEC_TRY(geodec_geodesics_compute(&in.of.metric, in.space, in.of.file, &opt, c->pool, &c->hooks, &g, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&stage.p, in.of.file, err));
    STAGE_WRITE(&stage, &geodec_geodesics_kind, geodec_geodesics_write(&g, stage.out, err));
    geodec_geodesics_say(&c->hooks, &g);
done:
    stage_end(&stage);
    geodec_harness_space_close(&in);
    geodec_geodesics_clear(&g);
    GEODEC_FREE(x0, v0);
    return st;
}

/* The harness's tensor lacks the symmetries of a curvature: they are reported and not required. */
geodec_status published_riemann(const cli *c, const published_chain *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *path_file = NULL;
    geodec_harness_space in = {0};
    geodec_geodesics paths = {0};
    geodec_riemann r = {0};
    geodec_riemann_options opt = {.samples = o->sample >= 0 ? o->sample : 512,
                                  .midpoints = o->midpoints,
                                  .control = o->control >= 0 ? o->control : 64,
                                  .tensors = o->tensors,
                                  .seed = c->seed};
    const bool along = c->n_args > 2;
    cli_stage stage = {0};
    double *x = NULL;
    GEODEC_TRY(stage_begin(&stage, c, o->output, err));
    GEODEC_TRY(open_metric(&stage, true, &in, err));
    if (o->draws) {
        int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, in.of.metric.n};
        GEODEC_TRY(geodec_foreign_read(o->draws, "/riemann/points", 2, shape, NULL, &x, err));
        GEODEC_TRY(stage_file(&stage, o->draws, err));
        opt.x = x;
        opt.given = shape[0];
    }
    if (along) {
        GEODEC_TRY(stage_open(&stage, &geodec_geodesics_kind, c->args[2], &path_file, err));
        GEODEC_TRY(geodec_geodesics_read(path_file, &paths, err));
    }
    GEODEC_TRY(
        geodec_riemann_compute(&in.of.metric, in.space, along ? &paths : NULL, &opt, c->pool, &c->hooks, &r, err));
    STAGE_WRITE(&stage, &geodec_riemann_kind, geodec_artifact_save(stage.out, &r, err));
    const geodec_curvature_check *w = &r.worst;
    const double *m = r.median_abs_scalar;
    cli_say(c,
            "%lld points in %lld coordinates: median |scalar curvature| %.3g at samples, %.3g at midpoints, %.3g on "
            "paths; symmetries within %.0e, Bianchi %.0e",
            (long long)r.points, (long long)in.of.metric.n, m[GEODEC_PLACE_SAMPLE], m[GEODEC_PLACE_MIDPOINT],
            m[GEODEC_PLACE_PATH], w->first_pair > w->exchange ? w->first_pair : w->exchange, w->bianchi);
done:
    stage_end(&stage);
    geodec_harness_space_close(&in);
    geodec_geodesics_clear(&paths);
    geodec_riemann_clear(&r);
    geodec_mem_free(x);
    return st;
}

geodec_status published_propagate(const cli *c, const published_chain *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *path_file = NULL;
    geodec_harness_space in = {0};
    geodec_geodesics paths = {0};
    geodec_propagators r = {0};
    cli_stage stage = {0};
    double gap = 0;
    GEODEC_TRY(stage_begin(&stage, c, o->output, err));
    GEODEC_TRY(open_metric(&stage, true, &in, err));
    GEODEC_TRY(stage_open(&stage, &geodec_geodesics_kind, c->args[2], &path_file, err));
    GEODEC_TRY(geodec_geodesics_read(path_file, &paths, err));
    GEODEC_TRY(geodec_published_propagators_compute(
        in.published, &paths, o->control >= 0 ? o->control : geodec_propagators_defaults().control, c->pool, &c->hooks,
        &r, err));
    STAGE_WRITE(&stage, &geodec_propagators_kind, geodec_propagators_write(&r, stage.out, err));
    for (int64_t i = 0; i < r.controls; i++) gap = r.control_gap[i] > gap ? r.control_gap[i] : gap;
    cli_say(c, "%lld propagators by the published rule: %.1e from differences of the flow on %lld paths",
            (long long)r.paths.paths, gap, (long long)r.controls);
done:
    stage_end(&stage);
    geodec_harness_space_close(&in);
    geodec_geodesics_clear(&paths);
    geodec_propagators_clear(&r);
    return st;
}
