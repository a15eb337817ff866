/* The records artifact. */
#include "base/mem.h"
#include "linalg/stats.h"
#include "records/records.h"

#include <math.h>
#include <string.h>

static const geodec_field fields[] = {
    {"/q", GEODEC_F64, "R,n", 0, "activation", "anchors: where the paths begin (principal coordinates)", 0},
    {"/g", GEODEC_F32, "R,G", 0, "1", "metric at the anchor, rows of the upper triangle, G = n (n+1) / 2", 0},
    {"/v0", GEODEC_F32, "R,n", 0, "activation", "initial velocity, g-unit", 0},
    {"/x", GEODEC_F16, "R,W,n", 0, "1", "waypoints relative to the anchor, in units of x_scale", 0},
    {"/v", GEODEC_F16, "R,W,n", 0, "1", "velocities at the waypoints, in units of v_scale (cubic Hermite)", 0},
    {"/x_scale", GEODEC_F32, "R", 0, "activation", "largest coordinate of x - q", 0},
    {"/v_scale", GEODEC_F32, "R", 0, "activation", "largest coordinate of v", 0},
    {"/x_error", GEODEC_F32, "R", 0, "1", "largest g-length of (interpolated - path) over all nodes", 0},
    {"/rank", GEODEC_I32, "R", 0, "1", "rank r of the stored Phi - I; n when full", 0},
    {"/full", GEODEC_U8, "R", 0, "1", "1 where Phi - I is stored entry by entry (2 n r >= n^2)", 0},
    {"/offset", GEODEC_I64, "R1", 0, "1", "first number of a record in /factor; R1 = R + 1", 0},
    {"/factor", GEODEC_F32, "F", 0, "1",
     "per record, waypoints 1..W-1: U [n][r], V [n][r] with Phi = I + U V^T, or Phi - I [n][n]", 0},
    {"/phi_error", GEODEC_F32, "R", 0, "1", "largest |stored - Phi|_F / |Phi|_F, rounding included", 0},
    {"/naive_error", GEODEC_F32, "R", 0, "1", "control: the same with Phi itself cut to rank r", 0},
    {"/rank_error", GEODEC_F32, "R,n", GEODEC_FIELD_OPTIONAL, "1",
     "relative error of the last Phi at ranks 1..n of Phi - I", 1},
    {"/rank_naive", GEODEC_F32, "R,n", GEODEC_FIELD_OPTIONAL, "1", "control: the same with Phi itself cut", 1},
    {"/rho", GEODEC_F32, "R", 0, "1", "g-length at which the mean miss of x_T + Phi_T d reaches tau path lengths", 0},
    {"/rho_censored", GEODEC_U8, "R", 0, "1", "0 no, 1 at least the largest length tried, 2 below the smallest", 0},
    {"/rho_error", GEODEC_F32, "R", 0, "1",
     "mean miss of the stored record at rho in fresh directions, path lengths; -1 = broke down", 0},
    {"/activation_row", GEODEC_I32, "R", 0, "1", "row of the activations of the anchor", 0},
    {"/logit_row", GEODEC_I32, "R", 0, "1", "row the logits are from: the successor's, else the anchor's; -1 without",
     0},
    {"/logit_index", GEODEC_I32, "R,M", GEODEC_FIELD_OPTIONAL, "1", "tokens of the largest logits, falling", 0},
    {"/logit_value", GEODEC_F32, "R,M", GEODEC_FIELD_OPTIONAL, "nat", "their logits", 0},
};

static const geodec_attr attrs[] = {
    {"stride", GEODEC_ATTR_I64, 0, "nodes of the path per waypoint"},
    {"dl", GEODEC_ATTR_F64, 0, "parameter length between nodes"},
    {"phi_tolerance", GEODEC_ATTR_F64, 0, "relative error of Phi allowed in the choice of the rank"},
    {"x_tolerance", GEODEC_ATTR_F64, 0, "g-length allowed in the choice of the stride"},
    {"tau", GEODEC_ATTR_F64, 0, "mean miss, in lengths of the path, that defines rho"},
    {"dropped", GEODEC_ATTR_I64, 0, "paths without status ok, left out"},
    {"mean_rank", GEODEC_ATTR_F64, 0, "mean rank of the stored Phi - I"},
    {"n_full", GEODEC_ATTR_I64, 0, "records stored in full"},
    {"bytes_per_record", GEODEC_ATTR_F64, 0, "of this store"},
    {"bytes_per_record_plain", GEODEC_ATTR_F64, 0, "of the same content uncompressed: every node, float32"},
    {"x_error_largest", GEODEC_ATTR_F64, 0, "largest interpolation error, g-length"},
    {"phi_error_largest", GEODEC_ATTR_F64, 0, "largest relative error of a stored propagator"},
    {"naive_error_median", GEODEC_ATTR_F64, 0, "control: median error of Phi cut to the same rank"},
    {"rho_median", GEODEC_ATTR_F64, 0, "median radius"},
    {"rho_n_censored", GEODEC_ATTR_I64, 0, "records whose radius lies outside the range tried"},
    {"rho_error_mean", GEODEC_ATTR_F64, 0, "mean miss of stored records at rho in path lengths, where tau is expected"},
    {"lookup_queries", GEODEC_ATTR_I64, 0, "queries of the lookup trial"},
    {"lookup_recall", GEODEC_ATTR_F64, 0, "recall of the two-stage lookup against exhaustive search"},
    {"lookup_recall_screen", GEODEC_ATTR_F64, 0, "control: recall of the best of the 8 nearest by Euclid"},
    {"lookup_evaluations", GEODEC_ATTR_F64, 0, "exact distances per query of the two-stage lookup"},
    {"lookup_inside", GEODEC_ATTR_F64, 0, "share of queries within rho of their record"},
};

const geodec_kind geodec_kind_records = {
    .name = "records",
    .major = 1,
    .minor = 1,
    .tool = "geodec-records",
    .purpose = "compressed trajectory records",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
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

static geodec_status write_summary(const geodec_records *r, const geodec_lookup_trial *t, geodec_artifact *a,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t R = r->records;
    const double each = 1 / (double)R;
    double rank = 0, at_rho = 0, naive, rho;
    int64_t full = 0, censored = 0, sound = 0;
    for (int64_t i = 0; i < R; i++) {
        rank += r->rank[i];
        full += r->full[i];
        censored += r->rho_censored[i] != GEODEC_CENSORED_NONE;
        if (r->rho_error[i] < 0) continue;
        at_rho += (double)r->rho_error[i];
        sound++;
    }
    GEODEC_TRY(median_of(R, r->naive_error, &naive, err));
    GEODEC_TRY(median_of(R, r->rho, &rho, err));
    const geodec_records_options *o = &r->options;
    GEODEC_TRY(geodec_artifact_put_i64(a, "stride", r->stride, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "dl", r->dl, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "phi_tolerance", o->phi_tolerance, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "x_tolerance", o->x_tolerance, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "tau", o->tau, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "dropped", r->dropped, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "mean_rank", rank * each, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n_full", full, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "bytes_per_record", (double)geodec_records_bytes(r) * each, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "bytes_per_record_plain", (double)geodec_records_bytes_plain(r) * each, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "x_error_largest", largest(R, r->x_error), err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "phi_error_largest", largest(R, r->phi_error), err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "naive_error_median", naive, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "rho_median", rho, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "rho_n_censored", censored, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "rho_error_mean", sound ? at_rho / (double)sound : 0, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "lookup_queries", t->queries, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "lookup_recall", t->recall, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "lookup_recall_screen", t->recall_screen, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "lookup_evaluations", t->evaluations, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "lookup_inside", t->inside, err));
done:
    return st;
}

geodec_status geodec_records_write(const geodec_records *r, const geodec_lookup_trial *trial, geodec_artifact *a,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_artifact_set_dim(a, "R", r->records, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "R1", r->records + 1, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "n", r->n, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "G", r->n * (r->n + 1) / 2, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "W", r->waypoints, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "F", r->offset[r->records], err));
    GEODEC_TRY(geodec_artifact_write(a, "/q", r->q, err));
    GEODEC_TRY(geodec_artifact_write(a, "/g", r->g, err));
    GEODEC_TRY(geodec_artifact_write(a, "/v0", r->v0, err));
    GEODEC_TRY(geodec_artifact_write(a, "/x", r->x, err));
    GEODEC_TRY(geodec_artifact_write(a, "/v", r->v, err));
    GEODEC_TRY(geodec_artifact_write(a, "/x_scale", r->x_scale, err));
    GEODEC_TRY(geodec_artifact_write(a, "/v_scale", r->v_scale, err));
    GEODEC_TRY(geodec_artifact_write(a, "/x_error", r->x_error, err));
    GEODEC_TRY(geodec_artifact_write(a, "/rank", r->rank, err));
    GEODEC_TRY(geodec_artifact_write(a, "/full", r->full, err));
    GEODEC_TRY(geodec_artifact_write(a, "/offset", r->offset, err));
    GEODEC_TRY(geodec_artifact_write(a, "/factor", r->factor, err));
    GEODEC_TRY(geodec_artifact_write(a, "/phi_error", r->phi_error, err));
    GEODEC_TRY(geodec_artifact_write(a, "/naive_error", r->naive_error, err));
    if (r->rank_error && r->rank_naive) {
        GEODEC_TRY(geodec_artifact_write(a, "/rank_error", r->rank_error, err));
        GEODEC_TRY(geodec_artifact_write(a, "/rank_naive", r->rank_naive, err));
    }
    GEODEC_TRY(geodec_artifact_write(a, "/rho", r->rho, err));
    GEODEC_TRY(geodec_artifact_write(a, "/rho_censored", r->rho_censored, err));
    GEODEC_TRY(geodec_artifact_write(a, "/rho_error", r->rho_error, err));
    GEODEC_TRY(geodec_artifact_write(a, "/activation_row", r->activation_row, err));
    GEODEC_TRY(geodec_artifact_write(a, "/logit_row", r->logit_row, err));
    if (r->logit_index) {
        GEODEC_TRY(geodec_artifact_set_dim(a, "M", r->logits, err));
        GEODEC_TRY(geodec_artifact_write(a, "/logit_index", r->logit_index, err));
        GEODEC_TRY(geodec_artifact_write(a, "/logit_value", r->logit_value, err));
    }
    GEODEC_TRY(write_summary(r, trial, a, err));
done:
    return st;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static geodec_status check_sizes(const geodec_records *r, const geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *path = geodec_artifact_path(a);
    int64_t factors = 0;
    GEODEC_TRY(geodec_artifact_dim(a, "F", &factors, err));
    if (r->offset[0] != 0 || r->offset[r->records] != factors)
        GEODEC_THROW(GEODEC_FORMAT, "%s: /offset does not cover /factor", path);
    for (int64_t i = 0; i < r->records; i++) {
        const bool sound = r->full[i] ? r->rank[i] == r->n : r->rank[i] >= 0 && 2 * r->rank[i] < r->n;
        if (!sound || r->full[i] > 1 ||
            r->offset[i + 1] - r->offset[i] != geodec_factors_size(r->n, r->waypoints - 1, r->rank[i], r->full[i]))
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
    const char *path = geodec_artifact_path(a);
    int64_t packed, ends;
    GEODEC_TRY(geodec_artifact_dim(a, "R", &r.records, err));
    GEODEC_TRY(geodec_artifact_dim(a, "R1", &ends, err));
    GEODEC_TRY(geodec_artifact_dim(a, "n", &r.n, err));
    GEODEC_TRY(geodec_artifact_dim(a, "G", &packed, err));
    GEODEC_TRY(geodec_artifact_dim(a, "W", &r.waypoints, err));
    GEODEC_TRY(geodec_artifact_get_i64(a, "stride", &r.stride, err));
    GEODEC_TRY(geodec_artifact_get_f64(a, "dl", &r.dl, err));
    if (r.records < 1 || ends != r.records + 1 || r.n < 1 || r.n > GEODEC_RBF_MAX_N || packed != r.n * (r.n + 1) / 2 ||
        r.waypoints < 2 || r.stride < 1 || r.stride > INT32_MAX || !(r.dl > 0))
        GEODEC_THROW(GEODEC_FORMAT, "%s: sizes that do not belong together (R %lld, n %lld, W %lld, stride %lld)", path,
                     (long long)r.records, (long long)r.n, (long long)r.waypoints, (long long)r.stride);
    GEODEC_TRY(geodec_artifact_read(a, "/q", &r.q, err));
    GEODEC_TRY(geodec_artifact_read(a, "/g", &r.g, err));
    GEODEC_TRY(geodec_artifact_read(a, "/v0", &r.v0, err));
    GEODEC_TRY(geodec_artifact_read(a, "/x", &r.x, err));
    GEODEC_TRY(geodec_artifact_read(a, "/v", &r.v, err));
    GEODEC_TRY(geodec_artifact_read(a, "/x_scale", &r.x_scale, err));
    GEODEC_TRY(geodec_artifact_read(a, "/v_scale", &r.v_scale, err));
    GEODEC_TRY(geodec_artifact_read(a, "/x_error", &r.x_error, err));
    GEODEC_TRY(geodec_artifact_read(a, "/rank", &r.rank, err));
    GEODEC_TRY(geodec_artifact_read(a, "/full", &r.full, err));
    GEODEC_TRY(geodec_artifact_read(a, "/offset", &r.offset, err));
    GEODEC_TRY(geodec_artifact_read(a, "/factor", &r.factor, err));
    GEODEC_TRY(geodec_artifact_read(a, "/phi_error", &r.phi_error, err));
    GEODEC_TRY(geodec_artifact_read(a, "/naive_error", &r.naive_error, err));
    if (geodec_artifact_has(a, "/rank_error") && geodec_artifact_has(a, "/rank_naive")) {
        GEODEC_TRY(geodec_artifact_read(a, "/rank_error", &r.rank_error, err));
        GEODEC_TRY(geodec_artifact_read(a, "/rank_naive", &r.rank_naive, err));
    }
    GEODEC_TRY(geodec_artifact_read(a, "/rho", &r.rho, err));
    GEODEC_TRY(geodec_artifact_read(a, "/rho_censored", &r.rho_censored, err));
    GEODEC_TRY(geodec_artifact_read(a, "/rho_error", &r.rho_error, err));
    GEODEC_TRY(geodec_artifact_read(a, "/activation_row", &r.activation_row, err));
    GEODEC_TRY(geodec_artifact_read(a, "/logit_row", &r.logit_row, err));
    if (geodec_artifact_has(a, "/logit_index") && geodec_artifact_has(a, "/logit_value")) {
        GEODEC_TRY(geodec_artifact_dim(a, "M", &r.logits, err));
        GEODEC_TRY(geodec_artifact_read(a, "/logit_index", &r.logit_index, err));
        GEODEC_TRY(geodec_artifact_read(a, "/logit_value", &r.logit_value, err));
    }
    GEODEC_TRY(geodec_artifact_get_f64(a, "phi_tolerance", &r.options.phi_tolerance, err));
    GEODEC_TRY(geodec_artifact_get_f64(a, "x_tolerance", &r.options.x_tolerance, err));
    GEODEC_TRY(geodec_artifact_get_f64(a, "tau", &r.options.tau, err));
    GEODEC_TRY(geodec_artifact_get_i64(a, "dropped", &r.dropped, err));
    GEODEC_TRY(check_sizes(&r, a, err));
    *out = r;
    r = (geodec_records){0};
done:
    geodec_records_clear(&r);
    return st;
}
