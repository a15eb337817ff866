#include "artifact/binding.h"
#include "artifact/merge.h"
#include "base/mem.h"
#include "chain/propagators.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

#define AT(m) GEODEC_AT(geodec_propagators, m)
#define IN(m) GEODEC_IN(geodec_propagators, m)
#define NAMED(m, names) GEODEC_NAMED(geodec_propagators, m, names)
#define ROW(m) GEODEC_OF_ROW(geodec_propagate_report, m)
#define OF_FLOW GEODEC_WHEN(geodec_propagators, of_flow)
static const geodec_field fields[] = {
    {"/phi", GEODEC_F64, "P,S,n,n", 0, "1", "dx(t_k)/dx(0) at fixed coordinate velocity (variational equation)", 0,
     AT(phi)},
    {"/flow", GEODEC_F64, "P,S,m,m", GEODEC_FIELD_OPTIONAL, "1", "d(x,v)(t_k)/d(x,v)(0)", 0, AT(flow)},
    {"/singular", GEODEC_F64, "P,n", 0, "1", "singular values of Phi_T, falling", 0, AT(singular)},
    {"/symplectic", GEODEC_F64, "P", GEODEC_FIELD_OPTIONAL, "1",
     "|F^T Omega_T F - Omega_0| / |Omega_0|, largest entries", 0, ROW(symplectic), OF_FLOW},
    {"/volume", GEODEC_F64, "P", GEODEC_FIELD_OPTIONAL, "1", "|ln det F + ln det g(x_T) - ln det g(x_0)|", 0,
     ROW(volume), OF_FLOW},
    {"/norm", GEODEC_F64, "P", GEODEC_FIELD_OPTIONAL, "1",
     "largest h |A|_F of a step; the Magnus series converges below pi", 0, ROW(norm), OF_FLOW},
    {"/control_path", GEODEC_I32, "C", 0, "1", "control: paths compared with central differences of the flow", 0,
     AT(control_path)},
    {"/control_gap", GEODEC_F64, "C", 0, "1", "max |Phi_T - differences| on them", 0, AT(control_gap)},
    {"/x", GEODEC_F64, "P,S,n", 0, "activation", "nodes of the path (principal coordinates)", 0, AT(paths.x)},
    {"/v", GEODEC_F64, "P,S,n", 0, "activation", "dx/dt", 0, AT(paths.v)},
    {"/status", GEODEC_U8, "P", 0, "1", "0 ok, 1 non-finite, 2 speed drift, 3 left hull", 0, AT(paths.status)},
    {"/good", GEODEC_I32, "P", 0, "1", "last valid node; later ones repeat it", 0, AT(paths.good)},
    {"/point", GEODEC_I32, "P", 0, "1", "point of the metric the path begins at", 0, AT(paths.point)},
    {"/next", GEODEC_I32, "P", 0, "1", "point its velocity aims at, -1 for a random direction", 0, AT(paths.next)},
    {"/activation_row", GEODEC_I32, "P", 0, "1", "row of the activations of the start", 0, AT(paths.activation_row)},
    {"/next_row", GEODEC_I32, "P", 0, "1", "row of the activations of the successor, -1 without", 0,
     AT(paths.next_row)},
};

static const char *const denses[] = {[GEODEC_DENSE_HERMITE] = "hermite", [GEODEC_DENSE_INTEGRATE] = "integrate", NULL};

static const geodec_attr attrs[] = {
    {"scheme", GEODEC_ATTR_STR, 0, "exponential integrator; published = the harness's rule", IN(scheme)},
    {"order", GEODEC_ATTR_I64, 0, "its order; 0 = not the derivative of the flow", IN(order)},
    {"dense", GEODEC_ATTR_STR, 0, "inner nodes: hermite or integrate", NAMED(options.dense, denses)},
    {"dl", GEODEC_ATTR_F64, 0, "parameter length between nodes", IN(paths.dl)},
    {"path_method", GEODEC_ATTR_STR, 0, "how the paths were made: `method` of the geodesics",
     NAMED(paths.options.method, geodec__geodesics_methods)},
    {"path_rtol", GEODEC_ATTR_F64, 0, "its tolerance", IN(paths.options.rtol)},
    {"velocity", GEODEC_ATTR_STR, 0, "initial velocities: sequence, random or given",
     NAMED(paths.velocity, geodec__geodesics_velocity_names)},
    {"symplectic_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX | GEODEC_FIELD_OPTIONAL,
     "largest residual of the symplectic form", IN(largest.symplectic), OF_FLOW},
    {"volume_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX | GEODEC_FIELD_OPTIONAL, "largest residual of the volume",
     IN(largest.volume), OF_FLOW},
    {"norm_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX | GEODEC_FIELD_OPTIONAL, "largest h |A|_F", IN(largest.norm),
     OF_FLOW},
    {"control_gap_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX, "control: largest |Phi_T - differences of the flow|",
     IN(gap_largest)},
    {"phi_minus_identity", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED,
     "median |Phi_T - I|_F / |I|_F over the paths: what Phi adds to a shift", IN(shift)},
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

static const geodec_extent extents[] = {
    {"P", IN(paths.paths)}, {"S", IN(paths.nodes)}, {"n", IN(paths.n)}, {"C", IN(controls)}, {"m", IN(paths.n), 2, 0}};

const geodec_kind geodec_propagators_kind = {
    .name = "propagators",
    .major = 1,
    .minor = 1,
    .tool = "geodec-propagate",
    .purpose = "linear propagators along geodesics",
    GEODEC_TABLES(fields, attrs, extents),
    .shards = "P,C",
    .derive = derive,
    .rows = {"P", sizeof(geodec_propagate_report), offsetof(geodec_propagators, report), false},
};

void geodec_propagators_clear(geodec_propagators *p)
{
    geodec_geodesics_clear(&p->paths); /* the table has not all of them */
    geodec_artifact_clear(&geodec_propagators_kind, p);
    geodec_mem_free(p->control_step);
    *p = (geodec_propagators){0};
}

geodec_status geodec_propagators_write(const geodec_propagators *p, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_geodesics *g = &p->paths;
    geodec_propagators file = *p;
    file.of_flow = !p->rule; /* another rule has no flow with invariants */
    file.scheme = p->rule ? p->rule : geodec_magnus_name(p->options.scheme);
    file.order = p->rule ? 0 : geodec_magnus_order(p->options.scheme);
    file.largest = (geodec_propagate_report){0};
    file.gap_largest = 0;
    for (int64_t i = 0; i < g->paths; i++) {
        file.largest.symplectic = fmax(file.largest.symplectic, p->report[i].symplectic);
        file.largest.volume = fmax(file.largest.volume, p->report[i].volume);
        file.largest.norm = fmax(file.largest.norm, p->report[i].norm);
    }
    for (int64_t c = 0; c < p->controls; c++) file.gap_largest = fmax(file.gap_largest, p->control_gap[c]);
    GEODEC_TRY(median_shift(g->paths, g->nodes, g->n, p->phi, &file.shift, err));
    GEODEC_TRY(geodec_artifact_save(a, &file, err));
done:
    return st;
}

geodec_status geodec_propagators_read(const geodec_artifact *a, geodec_propagators *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_propagators p = {.options = geodec_propagate_defaults(), .paths.options = geodec_geodesic_defaults()};
    const char *scheme;
    GEODEC_TRY(geodec_artifact_load(a, &p, err));
    GEODEC_TRY(geodec__geodesics_check(&p.paths, geodec_artifact_path(a), err));
    GEODEC_TRY(geodec_artifact_get_str(a, "scheme", &scheme, err));
    GEODEC_TRY_MSG(geodec_magnus_find(scheme, &p.options.scheme, err), "%s", geodec_artifact_path(a));
    p.paths.options.steps = p.paths.nodes - 1;
    p.paths.options.dl = p.paths.dl;
    *out = p;
    p = (geodec_propagators){0};
done:
    geodec_propagators_clear(&p);
    return st;
}
