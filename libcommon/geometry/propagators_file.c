/* The propagators artifact. */
#include "base/mem.h"
#include "geometry/propagators.h"
#include "geometry/spaces.h"
#include "io/merge.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

static const geodec_field fields[] = {
    {"/phi", GEODEC_F64, "P,S,n,n", 0, "1", "dx(t_k)/dx(0) at fixed coordinate velocity (variational equation)", 0},
    {"/flow", GEODEC_F64, "P,S,m,m", GEODEC_FIELD_OPTIONAL, "1", "d(x,v)(t_k)/d(x,v)(0)", 0},
    {"/singular", GEODEC_F64, "P,n", 0, "1", "singular values of Phi_T, falling", 0},
    {"/symplectic", GEODEC_F64, "P", GEODEC_FIELD_OPTIONAL, "1",
     "|F^T Omega_T F - Omega_0| / |Omega_0|, largest entries", 0},
    {"/volume", GEODEC_F64, "P", GEODEC_FIELD_OPTIONAL, "1", "|ln det F + ln det g(x_T) - ln det g(x_0)|", 0},
    {"/norm", GEODEC_F64, "P", GEODEC_FIELD_OPTIONAL, "1",
     "largest h |A|_F of a step; the Magnus series converges below pi", 0},
    {"/control_path", GEODEC_I32, "C", 0, "1", "control: paths compared with central differences of the flow", 0},
    {"/control_gap", GEODEC_F64, "C", 0, "1", "max |Phi_T - differences| on them", 0},
    {"/x", GEODEC_F64, "P,S,n", 0, "activation", "nodes of the path (principal coordinates)", 0},
    {"/v", GEODEC_F64, "P,S,n", 0, "activation", "dx/dt", 0},
    {"/status", GEODEC_U8, "P", 0, "1", "0 ok, 1 non-finite, 2 speed drift, 3 left hull", 0},
    {"/good", GEODEC_I32, "P", 0, "1", "last valid node; later ones repeat it", 0},
    {"/point", GEODEC_I32, "P", 0, "1", "point of the metric the path begins at", 0},
    {"/next", GEODEC_I32, "P", 0, "1", "point its velocity aims at, -1 for a random direction", 0},
    {"/activation_row", GEODEC_I32, "P", 0, "1", "row of the activations of the start", 0},
    {"/next_row", GEODEC_I32, "P", 0, "1", "row of the activations of the successor, -1 without", 0},
};

static const geodec_attr attrs[] = {
    {"scheme", GEODEC_ATTR_STR, 0, "exponential integrator; published = the harness's rule"},
    {"order", GEODEC_ATTR_I64, 0, "its order; 0 = not the derivative of the flow"},
    {"dense", GEODEC_ATTR_STR, 0, "inner nodes: hermite or integrate"},
    {"dl", GEODEC_ATTR_F64, 0, "parameter length between nodes"},
    {"path_method", GEODEC_ATTR_STR, 0, "how the paths were made: rk4 or adaptive"},
    {"path_rtol", GEODEC_ATTR_F64, 0, "its tolerance"},
    {"velocity", GEODEC_ATTR_STR, 0, "initial velocities: sequence, random or given"},
    {"symplectic_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX | GEODEC_FIELD_OPTIONAL,
     "largest residual of the symplectic form"},
    {"volume_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX | GEODEC_FIELD_OPTIONAL, "largest residual of the volume"},
    {"norm_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX | GEODEC_FIELD_OPTIONAL, "largest h |A|_F"},
    {"control_gap_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX, "control: largest |Phi_T - differences of the flow|"},
    {"phi_minus_identity", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED,
     "median |Phi_T - I|_F / |I|_F over the paths: what Phi adds to a shift"},
};

/* Median over the paths of |Phi_T - I|_F / |I|_F. */
static geodec_status median_shift(int64_t P, int64_t S, int64_t n, const double *phis, double *median, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t nn = n * n;
    double *shift = NULL;
    GEODEC_NEW(shift, P);
    for (int64_t i = 0; i < P; i++) {
        const double *phi = phis + (i * S + S - 1) * nn;
        double sum = 0;
        for (int64_t k = 0; k < nn; k++) {
            const double d = phi[k] - (k % (n + 1) == 0 ? 1 : 0);
            sum += d * d;
        }
        shift[i] = sqrt(sum / (double)n);
    }
    GEODEC_TRY(geodec_stats_median(P, shift, median, err));
done:
    geodec_mem_free(shift);
    return st;
}

static geodec_status derive(geodec_merge *whole, const char *attr, double *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t P, S, n;
    double *phi = NULL;
    (void)attr; /* there is one */
    GEODEC_TRY(geodec_merge_dim(whole, "P", &P, err));
    GEODEC_TRY(geodec_merge_dim(whole, "S", &S, err));
    GEODEC_TRY(geodec_merge_dim(whole, "n", &n, err));
    GEODEC_TRY(geodec_merge_read(whole, "/phi", &phi, err));
    GEODEC_TRY(median_shift(P, S, n, phi, value, err));
done:
    geodec_mem_free(phi);
    return st;
}

const geodec_kind geodec_kind_propagators = {
    .name = "propagators",
    .major = 1,
    .minor = 1,
    .tool = "geodec-propagate",
    .purpose = "linear propagators along geodesics",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
    .shards = "P,C",
    .derive = derive,
};

static geodec_status write_reports(const geodec_propagators *p, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t P = p->paths.paths;
    double *block = NULL;
    GEODEC_NEW(block, 3 * P);
    for (int64_t i = 0; i < P; i++) {
        const geodec_propagate_report *r = &p->report[i];
        block[i] = r->symplectic;
        block[P + i] = r->volume;
        block[2 * P + i] = r->norm;
    }
    if (!p->rule) { /* another rule has no flow that could keep anything */
        GEODEC_TRY(geodec_artifact_write(a, "/symplectic", block, err));
        GEODEC_TRY(geodec_artifact_write(a, "/volume", block + P, err));
        GEODEC_TRY(geodec_artifact_write(a, "/norm", block + 2 * P, err));
    }
    GEODEC_TRY(geodec_artifact_write(a, "/control_path", p->control_path, err));
    GEODEC_TRY(geodec_artifact_write(a, "/control_gap", p->control_gap, err));
done:
    geodec_mem_free(block);
    return st;
}

static geodec_status put_figures(const geodec_propagators *p, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_geodesics *g = &p->paths;
    double symplectic = 0, volume = 0, norm = 0, gap = 0, median;
    for (int64_t i = 0; i < g->paths; i++) {
        symplectic = fmax(symplectic, p->report[i].symplectic);
        volume = fmax(volume, p->report[i].volume);
        norm = fmax(norm, p->report[i].norm);
    }
    for (int64_t c = 0; c < p->controls; c++) gap = fmax(gap, p->control_gap[c]);
    GEODEC_TRY(median_shift(g->paths, g->nodes, g->n, p->phi, &median, err));
    if (!p->rule) {
        GEODEC_TRY(geodec_artifact_put_f64(a, "symplectic_largest", symplectic, err));
        GEODEC_TRY(geodec_artifact_put_f64(a, "volume_largest", volume, err));
        GEODEC_TRY(geodec_artifact_put_f64(a, "norm_largest", norm, err));
    }
    GEODEC_TRY(geodec_artifact_put_f64(a, "control_gap_largest", gap, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "phi_minus_identity", median, err));
done:
    return st;
}

geodec_status geodec_propagators_write(const geodec_propagators *p, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_geodesics *g = &p->paths;
    const bool adaptive = g->options.method == GEODEC_GEODESIC_ADAPTIVE;
    GEODEC_TRY(geodec_artifact_set_dim(a, "P", g->paths, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "S", g->nodes, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "n", g->n, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "C", p->controls, err));
    GEODEC_TRY(geodec_artifact_write(a, "/phi", p->phi, err));
    if (p->flow) {
        GEODEC_TRY(geodec_artifact_set_dim(a, "m", 2 * g->n, err));
        GEODEC_TRY(geodec_artifact_write(a, "/flow", p->flow, err));
    }
    GEODEC_TRY(geodec_artifact_write(a, "/singular", p->singular, err));
    GEODEC_TRY(write_reports(p, a, err));
    GEODEC_TRY(geodec_artifact_write(a, "/x", g->x, err));
    GEODEC_TRY(geodec_artifact_write(a, "/v", g->v, err));
    GEODEC_TRY(geodec_artifact_write(a, "/status", g->status, err));
    GEODEC_TRY(geodec_artifact_write(a, "/good", g->good, err));
    GEODEC_TRY(geodec_artifact_write(a, "/point", g->point, err));
    GEODEC_TRY(geodec_artifact_write(a, "/next", g->next, err));
    GEODEC_TRY(geodec_artifact_write(a, "/activation_row", g->activation_row, err));
    GEODEC_TRY(geodec_artifact_write(a, "/next_row", g->next_row, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "scheme", p->rule ? p->rule : geodec_magnus_name(p->options.scheme), err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "order", p->rule ? 0 : geodec_magnus_order(p->options.scheme), err));
    GEODEC_TRY(
        geodec_artifact_put_str(a, "dense", p->options.dense == GEODEC_DENSE_INTEGRATE ? "integrate" : "hermite", err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "dl", g->dl, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "path_method", adaptive ? "adaptive" : "rk4", err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "path_rtol", g->options.rtol, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "velocity", geodec__velocity_name(g->velocity), err));
    GEODEC_TRY(put_figures(p, a, err));
done:
    return st;
}

geodec_status geodec_propagators_read(const geodec_artifact *a, geodec_propagators *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_propagators p = {.options = geodec_propagate_defaults()};
    geodec_geodesics *g = &p.paths;
    const char *path = geodec_artifact_path(a), *scheme, *dense, *method, *velocity;
    GEODEC_TRY(geodec_artifact_dim(a, "P", &g->paths, err));
    GEODEC_TRY(geodec_artifact_dim(a, "S", &g->nodes, err));
    GEODEC_TRY(geodec_artifact_dim(a, "n", &g->n, err));
    if (g->paths < 1 || g->nodes < 2 || g->n < 1 || g->n > GEODEC_SPACE_DIM_MAX)
        GEODEC_THROW(GEODEC_FORMAT, "%s: %lld paths of %lld nodes in dimension %lld", path, (long long)g->paths,
                     (long long)g->nodes, (long long)g->n);
    GEODEC_TRY(geodec_artifact_read(a, "/phi", &p.phi, err));
    GEODEC_TRY(geodec_artifact_read(a, "/singular", &p.singular, err));
    GEODEC_TRY(geodec_artifact_read(a, "/x", &g->x, err));
    GEODEC_TRY(geodec_artifact_read(a, "/v", &g->v, err));
    GEODEC_TRY(geodec_artifact_read(a, "/status", &g->status, err));
    GEODEC_TRY(geodec_artifact_read(a, "/good", &g->good, err));
    GEODEC_TRY(geodec_artifact_read(a, "/point", &g->point, err));
    GEODEC_TRY(geodec_artifact_read(a, "/next", &g->next, err));
    GEODEC_TRY(geodec_artifact_read(a, "/activation_row", &g->activation_row, err));
    GEODEC_TRY(geodec_artifact_read(a, "/next_row", &g->next_row, err));
    GEODEC_TRY(geodec_artifact_get_str(a, "scheme", &scheme, err));
    GEODEC_TRY_MSG(geodec_magnus_find(scheme, &p.options.scheme, err), "%s", path);
    GEODEC_TRY(geodec_artifact_get_str(a, "dense", &dense, err));
    GEODEC_TRY(geodec_artifact_get_str(a, "path_method", &method, err));
    GEODEC_TRY(geodec_artifact_get_str(a, "velocity", &velocity, err));
    GEODEC_TRY(geodec_artifact_get_f64(a, "dl", &g->dl, err));
    g->options = geodec_geodesic_defaults();
    GEODEC_TRY(geodec_artifact_get_f64(a, "path_rtol", &g->options.rtol, err));
    if (!(g->dl > 0)) GEODEC_THROW(GEODEC_FORMAT, "%s: dl = %g", path, g->dl);
    for (int64_t i = 0; i < g->paths; i++) {
        if (g->good[i] < 0 || g->good[i] >= g->nodes || g->status[i] > GEODEC_PATH_LEFT_HULL)
            GEODEC_THROW(GEODEC_FORMAT, "%s: path %lld is good up to node %d, status %d", path, (long long)i,
                         (int)g->good[i], (int)g->status[i]);
    }
    p.options.dense = strcmp(dense, "integrate") == 0 ? GEODEC_DENSE_INTEGRATE : GEODEC_DENSE_HERMITE;
    g->velocity = geodec__velocity_find(velocity);
    g->options.steps = g->nodes - 1;
    g->options.dl = g->dl;
    g->options.method = strcmp(method, "adaptive") == 0 ? GEODEC_GEODESIC_ADAPTIVE : GEODEC_GEODESIC_RK4;
    *out = p;
    p = (geodec_propagators){0};
done:
    geodec_propagators_clear(&p);
    return st;
}
