#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/cloud.h"

#include <math.h>
#include <string.h>

#define AT(m) GEODEC_AT(geodec_cloud, m)
#define IN(m) GEODEC_IN(geodec_cloud, m)
#define WHEN(m) GEODEC_WHEN(geodec_cloud, m)
static const geodec_rows controls = {"T", sizeof(geodec_cloud_subset), offsetof(geodec_cloud, made.control), true};
#define SUBSET(m) GEODEC_OF_ROW(geodec_cloud_subset, m)
#define ENDS(m) GEODEC_OF_ROW_APART(geodec_cloud_subset, m, sizeof(double))
#define CONTROL(m) GEODEC_OF_ROWS(&controls, geodec_cloud_subset, m, 0, 0)
#define CONTROL_ENDS(m) GEODEC_OF_ROWS(&controls, geodec_cloud_subset, m, sizeof(double), 0)
static const geodec_field fields[] = {
    {"/coordinates", GEODEC_F64, "N,K", GEODEC_FIELD_STREAM, "activation", "principal coordinates: basis (x - mean)", 0,
     AT(coordinate)},
    {"/row", GEODEC_I32, "N", 0, "1", "row of the activations", 0, AT(row)},
    {"/token", GEODEC_I32, "N", 0, "1", "token id", 0, AT(token)},
    {"/position", GEODEC_I32, "N", 0, "1", "position in its sequence", 0, AT(position)},
    {"/sequence", GEODEC_I32, "N", 0, "1", "number of its sequence", 0, AT(sequence)},
    {"/mean", GEODEC_F64, "d", 0, "activation", "mean state", 0, AT(mean)},
    {"/basis", GEODEC_F64, "K,d", 0, "1", "principal directions, orthonormal rows", 0, AT(basis)},
    {"/eigenvalues", GEODEC_F64, "E", 0, "activation^2", "variances along all directions, falling, divisor N-1", 0,
     AT(eigenvalue)},
    {"/ladder/points", GEODEC_I64, "T", 0, "1", "sizes of the nested random subsets: N/4, N/2, N", 0, SUBSET(points)},
    {"/ladder/components", GEODEC_I64, "T", 0, "1", "K: components that explain the share of variance", 0,
     SUBSET(components)},
    {"/ladder/twonn_points", GEODEC_I64, "T", 0, "1", "points TwoNN looked at", 0, SUBSET(twonn.points)},
    {"/ladder/twonn_ml", GEODEC_F64, "T", GEODEC_FIELD_NONFINITE, "1",
     "TwoNN dimension of the states, in all d coordinates, maximum likelihood (Facco 2017); NaN: ties dominate", 0,
     SUBSET(twonn.ml)},
    {"/ladder/twonn_ml_interval", GEODEC_F64, "T,2", GEODEC_FIELD_NONFINITE, "1", "its 95 % bootstrap interval", 0,
     ENDS(twonn.ml_low)},
    {"/ladder/twonn_fit", GEODEC_F64, "T", GEODEC_FIELD_NONFINITE, "1",
     "the same, line fit without the largest 10 % of mu", 0, SUBSET(twonn.fit)},
    {"/ladder/twonn_fit_interval", GEODEC_F64, "T,2", GEODEC_FIELD_NONFINITE, "1", "its 95 % bootstrap interval", 0,
     ENDS(twonn.fit_low)},
    {"/ladder/twonn_used", GEODEC_I64, "T", GEODEC_FIELD_OPTIONAL, "1",
     "points whose two nearest distances differ: ratios in the estimate", 2, SUBSET(twonn.used)},
    {"/ladder/twonn_ratios", GEODEC_I64, "T", GEODEC_FIELD_OPTIONAL, "1", "different values of these ratios", 2,
     SUBSET(twonn.ratios)},
    {"/ladder/twonn_kept_ml", GEODEC_F64, "T", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "TwoNN in the K kept coordinates, maximum likelihood", 2, SUBSET(kept.ml)},
    {"/ladder/twonn_kept_fit", GEODEC_F64, "T", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "TwoNN in the K kept coordinates, line fit", 2, SUBSET(kept.fit)},
    {"/ladder/twonn_kept_fit_interval", GEODEC_F64, "T,2", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "its 95 % bootstrap interval", 2, ENDS(kept.fit_low)},
    {"/ladder/theiler_points", GEODEC_I64, "T", GEODEC_FIELD_OPTIONAL, "1",
     "points of a part, in which no two points of a text are nearer than the window", 3, SUBSET(theiler.part_points)},
    {"/ladder/theiler_ml", GEODEC_F64, "T", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "TwoNN with neighbours in time left out, maximum likelihood", 3, SUBSET(theiler.twonn.ml)},
    {"/ladder/theiler_fit", GEODEC_F64, "T", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1", "the same, line fit",
     3, SUBSET(theiler.twonn.fit)},
    {"/ladder/theiler_fit_interval", GEODEC_F64, "T,2", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "its 95 % bootstrap interval, over blocks of consecutive points", 3, ENDS(theiler.twonn.fit_low)},
    {"/ladder/dimension", GEODEC_F64, "T", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "the recommended dimension: theiler_ml corrected for the number of points, by uniform points on spheres", 3,
     SUBSET(theiler.dimension)},
    {"/ladder/dimension_interval", GEODEC_F64, "T,2", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "its 95 % bootstrap interval, over blocks of consecutive points", 3, ENDS(theiler.low)},
    {"/ladder/kept_dimension", GEODEC_F64, "T", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "the dimension in the K kept coordinates", 3, SUBSET(theiler_kept.dimension)},
    {"/ladder/kept_dimension_interval", GEODEC_F64, "T,2", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "its 95 % bootstrap interval", 3, ENDS(theiler_kept.low)},
    {"/control/points", GEODEC_I64, "T", 0, "1", "points of the Gaussian control's spectrum", 0, CONTROL(points)},
    {"/control/components", GEODEC_I64, "T", 0, "1", "K of a Gaussian cloud with the same spectrum", 0,
     CONTROL(components)},
    {"/control/twonn_points", GEODEC_I64, "T", 0, "1", "points of the control TwoNN looked at", 0,
     CONTROL(twonn.points)},
    {"/control/twonn_ml", GEODEC_F64, "T", GEODEC_FIELD_NONFINITE, "1", "TwoNN of the control, maximum likelihood", 0,
     CONTROL(twonn.ml)},
    {"/control/twonn_ml_interval", GEODEC_F64, "T,2", GEODEC_FIELD_NONFINITE, "1", "its 95 % bootstrap interval", 0,
     CONTROL_ENDS(twonn.ml_low)},
    {"/control/twonn_fit", GEODEC_F64, "T", GEODEC_FIELD_NONFINITE, "1", "TwoNN of the control, line fit", 0,
     CONTROL(twonn.fit)},
    {"/control/twonn_fit_interval", GEODEC_F64, "T,2", GEODEC_FIELD_NONFINITE, "1", "its 95 % bootstrap interval", 0,
     CONTROL_ENDS(twonn.fit_low)},
    {"/control/twonn_used", GEODEC_I64, "T", GEODEC_FIELD_OPTIONAL, "1",
     "points whose two nearest distances differ: ratios in the estimate", 2, CONTROL(twonn.used)},
    {"/control/twonn_ratios", GEODEC_I64, "T", GEODEC_FIELD_OPTIONAL, "1", "different values of these ratios", 2,
     CONTROL(twonn.ratios)},
    {"/control/twonn_kept_ml", GEODEC_F64, "T", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "TwoNN of the control in the K kept coordinates, maximum likelihood", 2, CONTROL(kept.ml)},
    {"/control/twonn_kept_fit", GEODEC_F64, "T", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "TwoNN of the control in the K kept coordinates, line fit", 2, CONTROL(kept.fit)},
    {"/control/twonn_kept_fit_interval", GEODEC_F64, "T,2", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "its 95 % bootstrap interval", 2, CONTROL_ENDS(kept.fit_low)},
    {"/control/theiler_points", GEODEC_I64, "T", GEODEC_FIELD_OPTIONAL, "1",
     "points of a part, in which no two points of a text are nearer than the window", 3, CONTROL(theiler.part_points)},
    {"/control/theiler_ml", GEODEC_F64, "T", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "TwoNN of the control with neighbours in time left out, maximum likelihood", 3, CONTROL(theiler.twonn.ml)},
    {"/control/theiler_fit", GEODEC_F64, "T", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1", "the same, line fit",
     3, CONTROL(theiler.twonn.fit)},
    {"/control/theiler_fit_interval", GEODEC_F64, "T,2", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "its 95 % bootstrap interval, over blocks of consecutive points", 3, CONTROL_ENDS(theiler.twonn.fit_low)},
    {"/control/dimension", GEODEC_F64, "T", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "the recommended dimension of the control: theiler_ml corrected for the number of points, by uniform points on "
     "spheres",
     3, CONTROL(theiler.dimension)},
    {"/control/dimension_interval", GEODEC_F64, "T,2", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "its 95 % bootstrap interval, over blocks of consecutive points", 3, CONTROL_ENDS(theiler.low)},
    {"/control/kept_dimension", GEODEC_F64, "T", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "the dimension of the control in the K kept coordinates", 3, CONTROL(theiler_kept.dimension)},
    {"/control/kept_dimension_interval", GEODEC_F64, "T,2", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE, "1",
     "its 95 % bootstrap interval", 3, CONTROL_ENDS(theiler_kept.low)},
};

static const geodec_attr attrs[] = {
    {"layer", GEODEC_ATTR_I64, 0, "layer of the model: blocks passed, 0 = embedding", IN(layer)},
    {"variance", GEODEC_ATTR_F64, 0, "share of variance the K components were to explain", IN(variance)},
    {"explained", GEODEC_ATTR_F64, 0, "share they explain", IN(made.explained)},
    {"total_variance", GEODEC_ATTR_F64, 0, "sum of all eigenvalues", IN(made.total_variance)},
    {"participation_ratio", GEODEC_ATTR_F64, 0, "(sum lambda)^2 / sum lambda^2", IN(made.participation)},
    {"k_int", GEODEC_ATTR_I64, 0, "integer intrinsic dimension the later stages use", IN(k_int)},
    {"sketch_width", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL,
     "components are from a random sketch of this width; eigenvalues behind it are equal parts of what is left of the "
     "total (absent: exact)",
     IN(made.sketch_width), WHEN(made.sketch_width)},
    {"sketch_residual", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "largest |C q - theta q| of the K components over the first eigenvalue: how far an eigenvalue may be off",
     IN(made.sketch_residual), WHEN(made.sketch_width)},
    {"n_rows", GEODEC_ATTR_I64, 0, "rows of the activations", IN(made.rows)},
    {"n_duplicates", GEODEC_ATTR_I64, 0, "rows dropped because an earlier one has the same state", IN(made.duplicates)},
    {"n_extreme", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL,
     "different rows whose norm is above the median by more than 10 standard deviations (1.4826 MAD)",
     IN(made.extreme)},
    {"n_dropped_extreme", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "of them left out (--drop-outliers)",
     IN(made.dropped)},
    {"extreme_share", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "their share of the squared norms of all different rows",
     IN(made.extreme_share)},
    {"largest_norm", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "largest norm over the median norm",
     IN(made.extreme_norm)},
    {"theiler_window", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL,
     "in the theiler estimates points of a text nearer than so many positions are not neighbours (1: plain)",
     IN(made.theiler_window), WHEN(made.theiler_window)},
    {"theiler_parts", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "parts that the points were divided into for it",
     IN(made.theiler_parts), WHEN(made.theiler_window)},
    {"time_neighbours", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "share of the points whose nearest neighbour is of the same text, nearer than the window (1: than 2 positions)",
     IN(made.time_near), WHEN(made.theiler_window)},
    {"time_neighbours_chance", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "the same for positions without meaning",
     IN(made.time_chance), WHEN(made.theiler_window)},
    {"dimension_doubt", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL,
     "sum of 1: time neighbours, left out; 2: time neighbours remain, because there are too few points for a larger "
     "window; 4: too few points for the dimension (above 2 log10 of the points of a part, or N/4 and N disagree)",
     IN(made.doubt), WHEN(made.theiler_window)},
    {"n_left_out", GEODEC_ATTR_I64, 0, "rows left out by the random choice of max_points", IN(left_out)},
    {"source", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "where the points are from: states (also when absent), coordinates of another program, or the published export",
     IN(source)},
    {"measured_dims", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL,
     "so many coordinates are measured, the rest is generated noise (absent: all)", IN(measured), WHEN(measured)},
    {"published_model", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "export: the model's name"},
    {"published_samples", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "export, phase 1: states"},
    {"published_width", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "export, phase 1: width of the states"},
    {"published_intrinsic_dim", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "export, phase 1: integer intrinsic dimension"},
    {"published_twonn", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "export, phase 1: TwoNN before rounding"},
    {"published_components", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL,
     "export, phase 1: components that explain 95 % of the variance"},
    {"published_explained", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "export, phase 1: share they explain"},
    {"published_total_variance", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "export, phase 1: sum of all variances"},
    {"published_symmetry_score", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "export, phase 2: mean similarity of heads"},
    {"published_generators", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "export, phase 2: generators found"},
    {"published_scalar_curvature", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "export, phase 3: mean scalar curvature"},
    {"published_curvature_max", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "export, phase 3: largest scalar curvature"},
    {"published_curvature_min", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "export, phase 3: smallest scalar curvature"},
    {"published_curvature_points", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "export, phase 3: points of the field"},
    {"published_curvature_dim", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "export, phase 3: its dimension"},
    {"published_curvature_nonzero", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL,
     "export, phase 3: points whose scalar curvature is not exactly zero"},
    {"published_fisher_trace", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "export, phase 3: mean trace of its Fisher matrix"},
    {"published_axioms", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "export, phase 4: axioms"},
    {"published_consistency", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "export, phase 4: consistency score"},
};

static const geodec_extent extents[] = {
    {"N", IN(points)}, {"K", IN(k)}, {"d", IN(d)}, {"E", IN(values)}, {"T", .plus = GEODEC_CLOUD_SUBSETS}};

const geodec_kind geodec_cloud_kind = {
    .name = "cloud",
    .major = 1,
    .minor = 3,
    .tool = "geodec-cloud",
    .purpose = "hidden states of one layer in principal coordinates, with spectrum and intrinsic dimension",
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"T", sizeof(geodec_cloud_subset), offsetof(geodec_cloud, made.subset), true},
};

/* Files before minor 3 have no dimension: it is not 0. */
static void forget_dimension(geodec_cloud_subset subset[GEODEC_CLOUD_SUBSETS])
{
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        geodec_theiler *const both[] = {&subset[t].theiler, &subset[t].theiler_kept};
        for (int i = 0; i < 2; i++) {
            geodec_twonn *const w = &both[i]->twonn;
            both[i]->dimension = both[i]->low = both[i]->high = NAN;
            w->ml = w->ml_low = w->ml_high = w->fit = w->fit_low = w->fit_high = NAN;
        }
    }
}

geodec_status geodec_cloud_read(const geodec_artifact *a, geodec_cloud *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_cloud c = {0};
    GEODEC_TRY(geodec_artifact_load(a, &c, err));
    if (c.points < 1 || c.k < 1 || c.d < c.k || c.values < c.k || c.k_int < 1) {
        GEODEC_THROW(GEODEC_FORMAT, "%s: sizes that do not belong together (N %lld, K %lld, d %lld, E %lld)",
                     geodec_artifact_path(a), (long long)c.points, (long long)c.k, (long long)c.d, (long long)c.values);
    }
    if (c.made.theiler_window == 0) {
        forget_dimension(c.made.subset);
        forget_dimension(c.made.control);
    }
    GEODEC_NEW(c.cloud_row, c.points);
    for (int64_t i = 0; i < c.points; i++) c.cloud_row[i] = (int32_t)i;
    *out = c;
done:
    if (st != GEODEC_OK) geodec_cloud_clear(&c);
    return st;
}

void geodec_cloud_thin(geodec_cloud *c, int64_t count, uint64_t seed)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("cloud-thin", 0));
    int64_t got = 0;
    if (count <= 0 || count >= c->points) return;
    /* selection sampling: row i is taken with probability (still needed) / (still left) */
    for (int64_t i = 0; got < count; i++) {
        if (geodec_rng_below(&r, (uint64_t)(c->points - i)) >= (uint64_t)(count - got)) continue;
        int32_t *const ids[] = {c->row, c->sequence, c->position, c->token, c->cloud_row};
        for (size_t f = 0; f < sizeof ids / sizeof *ids; f++) ids[f][got] = ids[f][i];
        memmove(c->coordinate + got * c->k, c->coordinate + i * c->k, (size_t)c->k * sizeof *c->coordinate);
        got++;
    }
    c->points = count;
}

double geodec_cloud_noise(const geodec_cloud *c)
{
    double left = 0;
    if (c->k >= c->d) return sqrt(c->d <= c->values ? fmax(0, c->eigenvalue[c->d - 1]) : 0);
    for (int64_t i = c->k; i < c->values; i++) left += fmax(0, c->eigenvalue[i]);
    return sqrt(left / (double)(c->d - c->k));
}

int64_t geodec_cloud_dimension(const geodec_cloud *c)
{
    enum { LEAST = 2, MOST = 12 };
    const int64_t n = c->k_int < LEAST ? LEAST : c->k_int > MOST ? MOST : c->k_int;
    return n < c->k ? n : c->k;
}

geodec_status geodec_cloud_coordinates(const geodec_cloud *c, int64_t n, double **x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *out = NULL;
    GEODEC_NEW(out, c->points * n);
    for (int64_t i = 0; i < c->points; i++) memcpy(out + i * n, c->coordinate + i * c->k, (size_t)n * sizeof *out);
    *x = out;
done:
    return st;
}

void geodec_cloud_clear(geodec_cloud *c)
{
    geodec_artifact_clear(&geodec_cloud_kind, c);
    geodec_mem_free(c->cloud_row);
    memset(c, 0, sizeof *c);
}
