#include "lab/worlds/truth.h"

#include "artifact/binding.h"

#define AT(m) GEODEC_AT(geodec_world_truth, m)
#define IN(m) GEODEC_IN(geodec_world_truth, m)

static const geodec_field fields[] = {
    {"/scalar", GEODEC_F64, "N", GEODEC_FIELD_NONFINITE, "1/activation^2",
     "scalar curvature of the set at the row, closed form; NaN: a world without a geometry", 0, AT(world.scalar)},
    {"/sectional_min", GEODEC_F64, "N", GEODEC_FIELD_NONFINITE, "1/activation^2",
     "least sectional curvature over the planes of the frame", 0, AT(world.sectional_min)},
    {"/sectional_max", GEODEC_F64, "N", GEODEC_FIELD_NONFINITE, "1/activation^2", "largest", 0,
     AT(world.sectional_max)},
    {"/sequence", GEODEC_I32, "N", 0, "1", "number of the row's text", 0, AT(world.sequence)},
    {"/position", GEODEC_I32, "N", 0, "1", "position in it", 0, AT(world.position)},
    {"/turned", GEODEC_U8, "N", 0, "1", "1: the step to the row was turned back at an edge of the piece", 0,
     AT(world.turned)},
    {"/covered", GEODEC_U8, "N", GEODEC_FIELD_OPTIONAL, "1", "families: 1 where the row is in a family", 0,
     AT(world.covered)},
    {"/parameter", GEODEC_F64, "N,P", 0, "1", "intrinsic parameters of the row: chart coordinates, or a unit vector", 0,
     AT(world.parameter)},
    {"/natural", GEODEC_F64, "N,M", 0, "activation", "the row's point without noise, in the space of the set", 0,
     AT(world.y)},
    {"/frame", GEODEC_F64, "N,n,M", GEODEC_FIELD_OPTIONAL, "1", "orthonormal tangent vectors there", 0,
     AT(world.frame)},
    {"/heading", GEODEC_F64, "N,n", 0, "1",
     "texts: unit direction of the last step, carried along to the row, in its frame; 0 for independent rows", 0,
     AT(world.heading)},
    {"/basis", GEODEC_F64, "M,d", 0, "1",
     "orthonormal rows: the state is natural times basis, and the noise (activations: less their /shift)", 0,
     AT(world.basis)},
};

static const geodec_attr attrs[] = {
    {"set", GEODEC_ATTR_STR, 0,
     "sphere, hyperbolic, product, torus, quadratic, flat, field, families, gaussian (worlds.h)",
     GEODEC_NAMED(geodec_world_truth, world.set, geodec_world_set_names)},
    {"sampling", GEODEC_ATTR_STR, 0, "independent, walk, geodesic",
     GEODEC_NAMED(geodec_world_truth, world.sampling, geodec_world_sampling_names)},
    {"strength", GEODEC_ATTR_F64, 0,
     "of the curvature, the field, or the share of rows in families; 0: the control, 1: the closed form as given",
     IN(world.strength)},
    {"radius", GEODEC_ATTR_F64, 0, "R, before strength", IN(world.radius)},
    {"cap", GEODEC_ATTR_F64, 0, "geodesic size of the piece over R", IN(world.cap)},
    {"tube", GEODEC_ATTR_F64, 0, "torus: r; families: largest distance within a family", IN(world.tube)},
    {"length", GEODEC_ATTR_F64, 0, "product: of the interval", IN(world.length)},
    {"amplitude", GEODEC_ATTR_F64, 0, "field: standard deviation of log g at strength 1", IN(world.amplitude)},
    {"scale", GEODEC_ATTR_F64, 0, "field: length over which it varies", IN(world.scale)},
    {"family", GEODEC_ATTR_I64, 0, "families: rows of each", IN(world.family)},
    {"families", GEODEC_ATTR_I64, 0, "their number", IN(world.families)},
    {"noise", GEODEC_ATTR_F64, 0, "standard deviation of the noise in each direction of the set's space",
     IN(world.noise)},
    {"noise_variance", GEODEC_ATTR_F64, 0, "variance of the noise, all directions", IN(world.noise_variance)},
    {"set_variance", GEODEC_ATTR_F64, 0, "variance of the points without noise, all directions",
     IN(world.set_variance)},
    {"step", GEODEC_ATTR_F64, 0, "arc length of a step along a text", IN(world.step)},
    {"turn", GEODEC_ATTR_F64, 0, "walk: rate of turning", IN(world.turn)},
    {"share", GEODEC_ATTR_F64, 0, "geodesic: share of the next step that is the geodesic continuation",
     IN(world.share)},
    {"texts", GEODEC_ATTR_I64, 0, "texts", IN(world.texts)},
    {"turns", GEODEC_ATTR_I64, 0, "rows whose step was turned back at an edge", IN(world.turns)},
    {"steps", GEODEC_ATTR_I64, 0, "steps measured: to rows that were not turned back", IN(steps.counted)},
    {"step_measured", GEODEC_ATTR_F64, 0, "root of the mean square chord of these steps", IN(steps.length)},
    {"share_measured", GEODEC_ATTR_F64, 0, "coefficient of these steps on the geodesic continuation", IN(steps.share)},
    {"share_random", GEODEC_ATTR_F64, 0, "control: the coefficient on geodesics in random directions",
     IN(steps.random)},
    {"error_geodesic", GEODEC_ATTR_F64, 0, "squared error of the continuation over the squared steps", IN(steps.error)},
    {"error_straight", GEODEC_ATTR_F64, 0, "of the step before, continued straight", IN(steps.straight)},
    {"checked", GEODEC_ATTR_I64, 0, "rows at which the closed forms were compared with differences", IN(check.rows)},
    {"check_acceleration", GEODEC_ATTR_F64, 0,
     "largest tangential acceleration of a geodesic in the space of the states, by differences, times the root of "
     "set_variance",
     IN(check.acceleration)},
    {"check_curved", GEODEC_ATTR_I64, 0, "of these rows, those of a set with a chart", IN(check.curved)},
    {"check_curvature", GEODEC_ATTR_F64, 0,
     "largest gap between the scalar curvature of the chart's metric, by differences, and the closed form, times "
     "set_variance",
     IN(check.curvature)},
    {"like_total", GEODEC_ATTR_F64, 0, "variance of the data that the world is like; 0: of none", IN(like.total)},
    {"like_span", GEODEC_ATTR_F64, 0, "its variance in as many leading directions as the set has", IN(like.span)},
    {"like_step", GEODEC_ATTR_F64, 0, "root of its mean square step in these, less that of the noise", IN(like.step)},
};

static const geodec_extent extents[] = {
    {"N", IN(world.points), 0, 0},  {"P", IN(world.parameters), 0, 0}, {"M", IN(world.natural), 0, 0},
    {"d", IN(world.ambient), 0, 0}, {"n", IN(world.n), 0, 0},
};

const geodec_kind geodec_world_truth_kind = {
    GEODEC_ABOUT("world", 1, 0, "geodec-worlds",
                 "the truth of a synthetic world: a positive control with closed forms"),
    GEODEC_TABLES(fields, attrs, extents),
};
