/* The geodesics artifact. */
#include "base/mem.h"
#include "geometry/geodesics.h"
#include "geometry/spaces.h"

#include <string.h>

static const geodec_field fields[] = {
    {"/x", GEODEC_F64, "P,S,n", 0, "activation", "nodes of the path (principal coordinates)", 0},
    {"/v", GEODEC_F64, "P,S,n", 0, "activation", "dx/dt; g-unit at the start, so t is arc length", 0},
    {"/speed2", GEODEC_F64, "P,S", 0, "1", "g(v,v), constant on a geodesic", 0},
    {"/drift", GEODEC_F64, "P", 0, "1", "max |g(v,v) / g(v0,v0) - 1|", 0},
    {"/status", GEODEC_U8, "P", 0, "1", "0 ok, 1 non-finite, 2 speed drift, 3 left hull", 0},
    {"/good", GEODEC_I32, "P", 0, "1", "last valid node; later ones repeat it", 0},
    {"/point", GEODEC_I32, "P", 0, "1", "point of the metric the path begins at", 0},
    {"/next", GEODEC_I32, "P", 0, "1", "point its velocity aims at, -1 for a random direction", 0},
    {"/activation_row", GEODEC_I32, "P", 0, "1", "row of the activations of the start", 0},
    {"/next_row", GEODEC_I32, "P", 0, "1", "row of the activations of the successor, -1 without", 0},
};

static const geodec_attr attrs[] = {
    {"dl", GEODEC_ATTR_F64, 0, "parameter length between nodes"},
    {"method", GEODEC_ATTR_STR, 0, "rk4 (one step between nodes) or adaptive (Prince-Dormand 8(9))"},
    {"rtol", GEODEC_ATTR_F64, 0, "tolerance of the adaptive method, relative to the path's length"},
    {"drift_max", GEODEC_ATTR_F64, 0, "largest speed drift with status ok"},
    {"velocity", GEODEC_ATTR_STR, 0, "sequence (towards the next state of the text), random or given"},
    {"hull_radius", GEODEC_ATTR_F64, 0, "a node farther than this from every point has left the hull; 0 = no hull"},
    {"n_ok", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "paths with status ok"},
    {"n_nonfinite", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "paths that broke down"},
    {"n_drift", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "paths whose speed drifted"},
    {"n_left_hull", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "paths that left the hull"},
    {"drift_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX, "largest speed drift"},
    {"control_paths", GEODEC_ATTR_I64, GEODEC_ATTR_SUM,
     "control: paths integrated again by the adaptive method at rtol 1e-9"},
    {"refinement_error", GEODEC_ATTR_F64, GEODEC_ATTR_MAX,
     "largest distance of their coordinates from that, unit of the points"},
};

const geodec_kind geodec_kind_geodesics = {
    .name = "geodesics",
    .major = 1,
    .minor = 0,
    .tool = "geodec-geodesic",
    .purpose = "geodesics of the smooth field from points of the cloud",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
    .shards = "P",
};

static const char *const velocity_names[] = {"sequence", "random", "given"};

const char *geodec__velocity_name(geodec_velocity v) { return velocity_names[v]; }

geodec_velocity geodec__velocity_find(const char *name)
{
    for (int i = 1; i < 3; i++)
        if (strcmp(name, velocity_names[i]) == 0) return (geodec_velocity)i;
    return GEODEC_VELOCITY_SEQUENCE;
}

geodec_status geodec_geodesics_write(const geodec_geodesics *g, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t count[4] = {0};
    double largest = 0;
    for (int64_t p = 0; p < g->paths; p++) {
        count[g->status[p] & 3]++;
        largest = g->drift[p] > largest ? g->drift[p] : largest;
    }
    const geodec_geodesic_options *o = &g->options;
    GEODEC_TRY(geodec_artifact_set_dim(a, "P", g->paths, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "S", g->nodes, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "n", g->n, err));
    GEODEC_TRY(geodec_artifact_write(a, "/x", g->x, err));
    GEODEC_TRY(geodec_artifact_write(a, "/v", g->v, err));
    GEODEC_TRY(geodec_artifact_write(a, "/speed2", g->speed2, err));
    GEODEC_TRY(geodec_artifact_write(a, "/drift", g->drift, err));
    GEODEC_TRY(geodec_artifact_write(a, "/status", g->status, err));
    GEODEC_TRY(geodec_artifact_write(a, "/good", g->good, err));
    GEODEC_TRY(geodec_artifact_write(a, "/point", g->point, err));
    GEODEC_TRY(geodec_artifact_write(a, "/next", g->next, err));
    GEODEC_TRY(geodec_artifact_write(a, "/activation_row", g->activation_row, err));
    GEODEC_TRY(geodec_artifact_write(a, "/next_row", g->next_row, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "dl", g->dl, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "method", o->method == GEODEC_GEODESIC_ADAPTIVE ? "adaptive" : "rk4", err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "rtol", o->rtol, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "drift_max", o->drift_max, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "velocity", geodec__velocity_name(g->velocity), err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "hull_radius", g->hull_radius, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n_ok", count[GEODEC_PATH_OK], err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n_nonfinite", count[GEODEC_PATH_NONFINITE], err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n_drift", count[GEODEC_PATH_DRIFT], err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n_left_hull", count[GEODEC_PATH_LEFT_HULL], err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "drift_largest", largest, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "control_paths", g->control_paths, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "refinement_error", g->refinement_error, err));
done:
    return st;
}

geodec_status geodec_geodesics_read(const geodec_artifact *a, geodec_geodesics *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_geodesics g = {0};
    const char *path = geodec_artifact_path(a), *method, *velocity;
    GEODEC_TRY(geodec_artifact_dim(a, "P", &g.paths, err));
    GEODEC_TRY(geodec_artifact_dim(a, "S", &g.nodes, err));
    GEODEC_TRY(geodec_artifact_dim(a, "n", &g.n, err));
    if (g.paths < 1 || g.nodes < 2 || g.n < 1 || g.n > GEODEC_SPACE_DIM_MAX)
        GEODEC_THROW(GEODEC_FORMAT, "%s: %lld paths of %lld nodes in dimension %lld", path, (long long)g.paths,
                     (long long)g.nodes, (long long)g.n);
    GEODEC_TRY(geodec_artifact_read(a, "/x", &g.x, err));
    GEODEC_TRY(geodec_artifact_read(a, "/v", &g.v, err));
    GEODEC_TRY(geodec_artifact_read(a, "/speed2", &g.speed2, err));
    GEODEC_TRY(geodec_artifact_read(a, "/drift", &g.drift, err));
    GEODEC_TRY(geodec_artifact_read(a, "/status", &g.status, err));
    GEODEC_TRY(geodec_artifact_read(a, "/good", &g.good, err));
    GEODEC_TRY(geodec_artifact_read(a, "/point", &g.point, err));
    GEODEC_TRY(geodec_artifact_read(a, "/next", &g.next, err));
    GEODEC_TRY(geodec_artifact_read(a, "/activation_row", &g.activation_row, err));
    GEODEC_TRY(geodec_artifact_read(a, "/next_row", &g.next_row, err));
    GEODEC_TRY(geodec_artifact_get_f64(a, "dl", &g.dl, err));
    GEODEC_TRY(geodec_artifact_get_str(a, "method", &method, err));
    GEODEC_TRY(geodec_artifact_get_str(a, "velocity", &velocity, err));
    GEODEC_TRY(geodec_artifact_get_f64(a, "hull_radius", &g.hull_radius, err));
    if (!(g.dl > 0)) GEODEC_THROW(GEODEC_FORMAT, "%s: dl = %g", path, g.dl);
    for (int64_t p = 0; p < g.paths; p++) {
        if (g.good[p] < 0 || g.good[p] >= g.nodes || g.status[p] > GEODEC_PATH_LEFT_HULL)
            GEODEC_THROW(GEODEC_FORMAT, "%s: path %lld is good up to node %d, status %d", path, (long long)p,
                         (int)g.good[p], (int)g.status[p]);
    }
    g.velocity = geodec__velocity_find(velocity);
    g.options = geodec_geodesic_defaults();
    g.options.steps = g.nodes - 1;
    g.options.dl = g.dl;
    GEODEC_TRY(geodec_artifact_get_f64(a, "rtol", &g.options.rtol, err));
    g.options.method = strcmp(method, "adaptive") == 0 ? GEODEC_GEODESIC_ADAPTIVE : GEODEC_GEODESIC_RK4;
    *out = g;
    g = (geodec_geodesics){0};
done:
    geodec_geodesics_clear(&g);
    return st;
}
