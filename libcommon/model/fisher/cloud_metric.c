#include "fisher/cloud_metric.h"

#include "base/mem.h"
#include "linalg/expm.h"
#include "linalg/stats.h"

/* Checks that every point of the cloud is the row it names. */
static geodec_status check_rows(const geodec_model_states *s, const geodec_cloud *cloud, geodec_err *err)
{
    bool same = s->view.d == cloud->d;
    for (int64_t i = 0; same && i < cloud->points; i++) {
        const int32_t row = cloud->row[i];
        same = row >= 0 && row < s->view.rows && s->position[row] == cloud->position[i] &&
               s->token[row] == cloud->token[i];
    }
    if (!same) GEODEC_FAIL(GEODEC_CHECKSUM, "the cloud is not from %s", geodec_artifact_path(s->file));
    return GEODEC_OK;
}

geodec_status geodec_fisher_of_cloud(const geodec_model_states *s, const geodec_cloud *cloud, int64_t n, double ridge,
                                     const geodec_hooks *hooks, double **g, geodec_fisher_medians *medians,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model_states_rows rows = {0};
    const int64_t count = cloud->points;
    double *out = NULL, *trace = NULL, *entropy = NULL, *condition = NULL;
    int32_t *floored = NULL;
    GEODEC_TRY(check_rows(s, cloud, err));
    GEODEC_NEW(out, count * n * n);
    GEODEC_NEW_EACH(count, trace, entropy, condition, floored);
    GEODEC_TRY(geodec_model_states_rows_read(s, cloud->layer, count, cloud->row, &rows, err));
    GEODEC_TRY(geodec_fisher_metric(s->reference, &rows.s, n, cloud->basis, NULL, hooks, out, NULL, entropy, err));
    GEODEC_TRY(geodec_fisher_regularise(count, n, ridge, out, trace, condition, floored, err));
    *medians = (geodec_fisher_medians){0};
    for (int64_t i = 0; i < count; i++) {
        medians->floored += floored[i];
        trace[i] /= (double)n;
    }
    GEODEC_TRY(geodec_stats_median(count, trace, &medians->trace, err));
    GEODEC_TRY(geodec_stats_median(count, entropy, &medians->entropy, err));
    GEODEC_TRY(geodec_stats_median(count, condition, &medians->condition, err));
    GEODEC_MOVE(*g, out);
done:
    geodec_model_states_rows_clear(&rows);
    GEODEC_FREE(out, trace, entropy, condition, floored);
    return st;
}

geodec_status geodec_fisher_blend(const geodec_metric *m, double weight, double *g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n;
    double *l = NULL, *other = NULL;
    GEODEC_NEW_EACH(n * n, l, other);
    for (int64_t i = 0; i < m->points; i++) {
        GEODEC_TRY(geodec_logm_spd(n, g + i * n * n, l, err));
        geodec_sym_unpack(n, m->log_g + i * geodec_sym_packed(n), other);
        for (int64_t j = 0; j < n * n; j++) l[j] = (1 - weight) * other[j] + weight * l[j];
        GEODEC_TRY(geodec_expm_sym(n, l, g + i * n * n, err));
    }
done:
    GEODEC_FREE(l, other);
    return st;
}
