#include "artifact/binding.h"
#include "chain/geodesics.h"
#include "geometry/space_closed.h"

#include <string.h>

#define AT(m) GEODEC_AT(geodec_geodesics, m)
#define IN(m) GEODEC_IN(geodec_geodesics, m)
static const geodec_field fields[] = {
    {"/x", GEODEC_F64, "P,S,n", 0, "activation", "nodes of the path (principal coordinates)", 0, AT(x)},
    {"/v", GEODEC_F64, "P,S,n", 0, "activation", "dx/dt; g-unit at the start, so t is arc length", 0, AT(v)},
    {"/speed2", GEODEC_F64, "P,S", 0, "1", "g(v,v), constant on a geodesic", 0, AT(speed2)},
    {"/drift", GEODEC_F64, "P", 0, "1", "max |g(v,v) / g(v0,v0) - 1|", 0, AT(drift)},
    {"/status", GEODEC_U8, "P", 0, "1", "0 ok, 1 non-finite, 2 speed drift, 3 left hull", 0, AT(status)},
    {"/good", GEODEC_I32, "P", 0, "1", "last valid node; later ones repeat it", 0, AT(good)},
    {"/point", GEODEC_I32, "P", 0, "1", "point of the metric the path begins at", 0, AT(point)},
    {"/next", GEODEC_I32, "P", 0, "1", "point its velocity aims at, -1 for a random direction", 0, AT(next)},
    {"/activation_row", GEODEC_I32, "P", 0, "1", "row of the activations of the start", 0, AT(activation_row)},
    {"/next_row", GEODEC_I32, "P", 0, "1", "row of the activations of the successor, -1 without", 0, AT(next_row)},
};

const char *const geodec__geodesics_velocity_names[] = {"sequence", "random", "given", NULL};
#define NAME_OF(NAME, name, order, text) #name,
const char *const geodec__geodesics_methods[] = {GEODEC_GEODESIC_TABLE(NAME_OF) NULL};

static const geodec_attr attrs[] = {
    {"dl", GEODEC_ATTR_F64, 0, "parameter length between nodes", IN(dl)},
    {"method", GEODEC_ATTR_STR, 0, GEODEC_GEODESIC_ITEMS,
     GEODEC_NAMED(geodec_geodesics, options.method, geodec__geodesics_methods)},
    {"rtol", GEODEC_ATTR_F64, 0, "tolerance of the adaptive method, relative to the path's length", IN(options.rtol)},
    {"drift_max", GEODEC_ATTR_F64, 0, "largest speed drift with status ok", IN(options.drift_max)},
    {"velocity", GEODEC_ATTR_STR, 0, "sequence (towards the next state of the text), random or given",
     GEODEC_NAMED(geodec_geodesics, velocity, geodec__geodesics_velocity_names)},
    {"hull_radius", GEODEC_ATTR_F64, 0, "a node farther than this from every point has left the hull; 0 = no hull",
     IN(hull_radius)},
    {"n_ok", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "paths with status ok", IN(count[GEODEC_PATH_OK])},
    {"n_nonfinite", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "paths that broke down", IN(count[GEODEC_PATH_NONFINITE])},
    {"n_drift", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "paths whose speed drifted", IN(count[GEODEC_PATH_DRIFT])},
    {"n_left_hull", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "paths that left the hull", IN(count[GEODEC_PATH_LEFT_HULL])},
    {"drift_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX, "largest speed drift", IN(drift_largest)},
    {"control_paths", GEODEC_ATTR_I64, GEODEC_ATTR_SUM,
     "control: paths integrated again by the adaptive method at rtol 1e-9", IN(control_paths)},
    {"refinement_error", GEODEC_ATTR_F64, GEODEC_ATTR_MAX,
     "largest distance of their coordinates from that, unit of the points", IN(refinement_error)},
};

static const geodec_extent extents[] = {{"P", IN(paths)}, {"S", IN(nodes)}, {"n", IN(n)}};

const geodec_kind geodec_geodesics_kind = {
    .name = "geodesics",
    .major = 1,
    .minor = 0,
    .tool = "geodec-geodesic",
    .purpose = "geodesics of the smooth field from points of the cloud",
    GEODEC_TABLES(fields, attrs, extents),
    .shards = "P",
};

void geodec_geodesics_clear(geodec_geodesics *g)
{
    geodec_artifact_clear(&geodec_geodesics_kind, g);
    *g = (geodec_geodesics){0};
}

geodec_status geodec_geodesics_write(const geodec_geodesics *g, geodec_artifact *a, geodec_err *err)
{
    geodec_geodesics file = *g;
    memset(file.count, 0, sizeof file.count);
    file.drift_largest = 0;
    for (int64_t p = 0; p < g->paths; p++) {
        file.count[g->status[p] & 3]++;
        file.drift_largest = g->drift[p] > file.drift_largest ? g->drift[p] : file.drift_largest;
    }
    return geodec_artifact_save(a, &file, err);
}

geodec_status geodec__geodesics_check(const geodec_geodesics *g, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (g->paths < 1 || g->nodes < 2 || g->n < 1 || g->n > GEODEC_SPACE_DIM_MAX)
        GEODEC_THROW(GEODEC_FORMAT, "%s: %lld paths of %lld nodes in dimension %lld", path, (long long)g->paths,
                     (long long)g->nodes, (long long)g->n);
    if (!(g->dl > 0)) GEODEC_THROW(GEODEC_FORMAT, "%s: dl = %g", path, g->dl);
    for (int64_t p = 0; p < g->paths; p++) {
        if (g->good[p] < 0 || g->good[p] >= g->nodes || g->status[p] > GEODEC_PATH_LEFT_HULL)
            GEODEC_THROW(GEODEC_FORMAT, "%s: path %lld is good up to node %d, status %d", path, (long long)p,
                         (int)g->good[p], (int)g->status[p]);
    }
done:
    return st;
}

geodec_status geodec_geodesics_read(const geodec_artifact *a, geodec_geodesics *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_geodesics g = {.options = geodec_geodesic_defaults()};
    GEODEC_TRY(geodec_artifact_load(a, &g, err));
    GEODEC_TRY(geodec__geodesics_check(&g, geodec_artifact_path(a), err));
    g.options.steps = g.nodes - 1;
    g.options.dl = g.dl;
    *out = g;
    g = (geodec_geodesics){0};
done:
    geodec_geodesics_clear(&g);
    return st;
}

void geodec_geodesics_say(const geodec_hooks *hooks, const geodec_geodesics *g)
{
    int64_t count[4] = {0};
    double drift = 0;
    for (int64_t p = 0; p < g->paths; p++) {
        count[g->status[p] & 3]++;
        drift = g->drift[p] > drift ? g->drift[p] : drift;
    }
    geodec_hooks_log(
        hooks, GEODEC_LOG_INFO,
        "%lld paths of length %g: %lld ok, %lld broke down, %lld drifted, %lld left the hull; speed drift at most "
        "%.1e; %lld again at rtol 1e-9 agree within %.1e",
        (long long)g->paths, g->dl * (double)(g->nodes - 1), (long long)count[GEODEC_PATH_OK],
        (long long)count[GEODEC_PATH_NONFINITE], (long long)count[GEODEC_PATH_DRIFT],
        (long long)count[GEODEC_PATH_LEFT_HULL], drift, (long long)g->control_paths, g->refinement_error);
}
