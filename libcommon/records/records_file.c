#include "artifact/binding.h"
#include "base/mem.h"
#include "linalg/stats.h"
#include "records/records.h"

#include <math.h>

#define AT(m) GEODEC_AT(geodec_records, m)
#define IN(m) GEODEC_IN(geodec_records, m)
static const geodec_field fields[] = {
    {"/q", GEODEC_F64, "R,n", 0, "activation", "anchors: where the paths begin (principal coordinates)", 0, AT(q)},
    {"/g", GEODEC_F32, "R,G", 0, "1", "metric at the anchor, rows of the upper triangle, G = n (n+1) / 2", 0, AT(g)},
    {"/v0", GEODEC_F32, "R,n", 0, "activation", "initial velocity, g-unit", 0, AT(v0)},
    {"/x", GEODEC_F16, "R,W,n", 0, "1", "waypoints relative to the anchor, in units of x_scale", 0, AT(x)},
    {"/v", GEODEC_F16, "R,W,n", 0, "1", "velocities at the waypoints, in units of v_scale (cubic Hermite)", 0, AT(v)},
    {"/x_scale", GEODEC_F32, "R", 0, "activation", "largest coordinate of x - q", 0, AT(x_scale)},
    {"/v_scale", GEODEC_F32, "R", 0, "activation", "largest coordinate of v", 0, AT(v_scale)},
    {"/x_error", GEODEC_F32, "R", 0, "1", "largest g-length of (interpolated - path) over all nodes", 0, AT(x_error)},
    {"/rank", GEODEC_I32, "R", 0, "1", "rank r of the stored Phi - I; n when full", 0, AT(rank)},
    {"/full", GEODEC_U8, "R", 0, "1", "1 where Phi - I is stored entry by entry (2 n r >= n^2)", 0, AT(full)},
    {"/offset", GEODEC_I64, "R1", 0, "1", "first number of a record in /factor; R1 = R + 1", 0, AT(offset)},
    {"/factor", GEODEC_F32, "F", 0, "1",
     "per record, waypoints 1..W-1: U [n][r], V [n][r] with Phi = I + U V^T, or Phi - I [n][n]", 0, AT(factor)},
    {"/phi_error", GEODEC_F32, "R", 0, "1", "largest |stored - Phi|_F / |Phi|_F, rounding included", 0, AT(phi_error)},
    {"/naive_error", GEODEC_F32, "R", 0, "1", "control: the same with Phi itself cut to rank r", 0, AT(naive_error)},
    {"/rank_error", GEODEC_F32, "R,n", GEODEC_FIELD_OPTIONAL, "1",
     "relative error of the last Phi at ranks 1..n of Phi - I", 1, AT(rank_error)},
    {"/rank_naive", GEODEC_F32, "R,n", GEODEC_FIELD_OPTIONAL, "1", "control: the same with Phi itself cut", 1,
     AT(rank_naive)},
    {"/rho", GEODEC_F32, "R", 0, "1", "g-length at which the mean miss of x_T + Phi_T d reaches tau path lengths", 0,
     AT(rho)},
    {"/rho_censored", GEODEC_U8, "R", 0, "1", "0 no, 1 at least the largest length tried, 2 below the smallest", 0,
     AT(rho_censored)},
    {"/rho_error", GEODEC_F32, "R", 0, "1",
     "mean miss of the stored record at rho in fresh directions, path lengths; -1 = broke down", 0, AT(rho_error)},
    {"/activation_row", GEODEC_I32, "R", 0, "1", "row of the activations of the anchor", 0, AT(activation_row)},
    {"/logit_row", GEODEC_I32, "R", 0, "1", "row the logits are from: the successor's, else the anchor's; -1 without",
     0, AT(logit_row)},
    {"/logit_index", GEODEC_I32, "R,M", GEODEC_FIELD_OPTIONAL, "1", "tokens of the largest logits, falling", 0,
     AT(logit_index)},
    {"/logit_value", GEODEC_F32, "R,M", GEODEC_FIELD_OPTIONAL, "nat", "their logits", 0, AT(logit_value)},
};

static const geodec_attr attrs[] = {
    {"stride", GEODEC_ATTR_I64, 0, "nodes of the path per waypoint", IN(stride)},
    {"dl", GEODEC_ATTR_F64, 0, "parameter length between nodes", IN(dl)},
    {"phi_tolerance", GEODEC_ATTR_F64, 0, "relative error of Phi allowed in the choice of the rank",
     IN(options.phi_tolerance)},
    {"x_tolerance", GEODEC_ATTR_F64, 0, "g-length allowed in the choice of the stride", IN(options.x_tolerance)},
    {"tau", GEODEC_ATTR_F64, 0, "mean miss, in lengths of the path, that defines rho", IN(options.tau)},
    {"dropped", GEODEC_ATTR_I64, 0, "paths without status ok, left out", IN(dropped)},
    {"mean_rank", GEODEC_ATTR_F64, 0, "mean rank of the stored Phi - I", IN(figures.mean_rank)},
    {"n_full", GEODEC_ATTR_I64, 0, "records stored in full", IN(figures.full)},
    {"bytes_per_record", GEODEC_ATTR_F64, 0, "of this store", IN(figures.bytes)},
    {"bytes_per_record_plain", GEODEC_ATTR_F64, 0, "of the same content uncompressed: every node, float32",
     IN(figures.bytes_plain)},
    {"x_error_largest", GEODEC_ATTR_F64, 0, "largest interpolation error, g-length", IN(figures.x_error_largest)},
    {"phi_error_largest", GEODEC_ATTR_F64, 0, "largest relative error of a stored propagator",
     IN(figures.phi_error_largest)},
    {"naive_error_median", GEODEC_ATTR_F64, 0, "control: median error of Phi cut to the same rank",
     IN(figures.naive_error_median)},
    {"rho_median", GEODEC_ATTR_F64, 0, "median radius", IN(figures.rho_median)},
    {"rho_n_censored", GEODEC_ATTR_I64, 0, "records whose radius lies outside the range tried",
     IN(figures.rho_censored)},
    {"rho_error_mean", GEODEC_ATTR_F64, 0, "mean miss of stored records at rho in path lengths, where tau is expected",
     IN(figures.rho_error_mean)},
    {"lookup_queries", GEODEC_ATTR_I64, 0, "queries of the lookup trial", IN(trial.queries)},
    {"lookup_recall", GEODEC_ATTR_F64, 0, "recall of the two-stage lookup against exhaustive search", IN(trial.recall)},
    {"lookup_recall_screen", GEODEC_ATTR_F64, 0, "control: recall of the best of the 8 nearest by Euclid",
     IN(trial.recall_screen)},
    {"lookup_evaluations", GEODEC_ATTR_F64, 0, "exact distances per query of the two-stage lookup",
     IN(trial.evaluations)},
    {"lookup_inside", GEODEC_ATTR_F64, 0, "share of queries within rho of their record", IN(trial.inside)},
};

static const geodec_extent extents[] = {{"R", IN(records)}, {"R1", IN(records), 0, 1}, {"n", IN(n)},
                                        {"G", IN(packed)},  {"W", IN(waypoints)},      {"F", IN(factors)},
                                        {"M", IN(logits)}};

const geodec_kind geodec_records_kind = {
    .name = "records",
    .major = 1,
    .minor = 1,
    .tool = "geodec-records",
    .purpose = "compressed trajectory records",
    GEODEC_TABLES(fields, attrs, extents),
};

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static double largest(int64_t n, const float *a)
{
    double top = 0;
    for (int64_t i = 0; i < n; i++) top = fmax(top, (double)a[i]);
    return top;
}

static geodec_status median_of(int64_t n, const float *a, double *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *copy = NULL;
    GEODEC_NEW(copy, n);
    for (int64_t i = 0; i < n; i++) copy[i] = (double)a[i];
    geodec_stats_sort(n, copy);
    *out = geodec_stats_percentile(n, copy, 0.5);
done:
    geodec_mem_free(copy);
    return st;
}

/* Figures of the attributes. */
static geodec_status sum_up(geodec_records *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_records_figures *f = &r->figures;
    const int64_t R = r->records;
    const double each = 1 / (double)R;
    double rank = 0, at_rho = 0;
    int64_t sound = 0;
    *f = (geodec_records_figures){.bytes = (double)geodec_records_bytes(r) * each,
                                  .bytes_plain = (double)geodec_records_bytes_plain(r) * each,
                                  .x_error_largest = largest(R, r->x_error),
                                  .phi_error_largest = largest(R, r->phi_error)};
    for (int64_t i = 0; i < R; i++) {
        rank += r->rank[i];
        f->full += r->full[i];
        f->rho_censored += r->rho_censored[i] != GEODEC_CENSORED_NONE;
        if (r->rho_error[i] < 0) continue;
        at_rho += (double)r->rho_error[i];
        sound++;
    }
    f->mean_rank = rank * each;
    f->rho_error_mean = sound ? at_rho / (double)sound : 0;
    GEODEC_TRY(median_of(R, r->naive_error, &f->naive_error_median, err));
    GEODEC_TRY(median_of(R, r->rho, &f->rho_median, err));
done:
    return st;
}

geodec_status geodec_records_write(const geodec_records *r, const geodec_lookup_trial *trial, geodec_artifact *a,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_records file = *r;
    if (!r->rank_error || !r->rank_naive) file.rank_error = file.rank_naive = NULL; /* not valid without its partner */
    file.packed = r->n * (r->n + 1) / 2;
    file.factors = r->offset[r->records];
    file.trial = *trial;
    GEODEC_TRY(sum_up(&file, err));
    GEODEC_TRY(geodec_artifact_save(a, &file, err));
done:
    return st;
}

void geodec_records_clear(geodec_records *r)
{
    geodec_artifact_clear(&geodec_records_kind, r);
    *r = (geodec_records){0};
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static geodec_status check_sizes(const geodec_records *r, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (r->records < 1 || r->n < 1 || r->n > GEODEC_RBF_MAX_N || r->packed != r->n * (r->n + 1) / 2 ||
        r->waypoints < 2 || r->stride < 1 || r->stride > INT32_MAX || !(r->dl > 0))
        GEODEC_THROW(GEODEC_FORMAT, "%s: sizes that do not belong together (R %lld, n %lld, W %lld, stride %lld)", path,
                     (long long)r->records, (long long)r->n, (long long)r->waypoints, (long long)r->stride);
    if (r->offset[0] != 0 || r->offset[r->records] != r->factors)
        GEODEC_THROW(GEODEC_FORMAT, "%s: /offset does not cover /factor", path);
    if (!r->rank_error != !r->rank_naive || !r->logit_index != !r->logit_value)
        GEODEC_THROW(GEODEC_FORMAT, "%s: of /rank_error, /rank_naive or of /logit_index, /logit_value one is missing",
                     path);
    for (int64_t i = 0; i < r->records; i++) {
        const bool sound = r->full[i] ? r->rank[i] == r->n : r->rank[i] >= 0 && 2 * r->rank[i] < r->n;
        if (!sound || r->full[i] > 1 ||
            r->offset[i + 1] - r->offset[i] !=
                geodec_compress_factors_size(r->n, r->waypoints - 1, r->rank[i], r->full[i]))
            GEODEC_THROW(GEODEC_FORMAT, "%s: record %lld has rank %d and %lld numbers", path, (long long)i,
                         (int)r->rank[i], (long long)(r->offset[i + 1] - r->offset[i]));
    }
done:
    return st;
}

geodec_status geodec_records_read(const geodec_artifact *a, geodec_records *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_records r = {.options = geodec_records_defaults()};
    GEODEC_TRY(geodec_artifact_load(a, &r, err));
    GEODEC_TRY(check_sizes(&r, geodec_artifact_path(a), err));
    *out = r;
    r = (geodec_records){0};
done:
    geodec_records_clear(&r);
    return st;
}
