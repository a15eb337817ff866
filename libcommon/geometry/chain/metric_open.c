#include "chain/metric_open.h"

#include "artifact/artifact.h"
#include "chain/metric.h"

#include <string.h>

geodec_status geodec_metric_file_open(const char *path, geodec_metric_file *out, geodec_err *err)
{
    geodec_artifact *file = NULL;
    memset(out, 0, sizeof *out);
    GEODEC_PASS(geodec_artifact_open(&geodec_metric_kind, path, &file, err));
    return geodec_metric_file_take(file, out, err);
}

geodec_status geodec_metric_file_take(geodec_artifact *file, geodec_metric_file *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_metric_file_take_any(file, out, err));
    if (!out->space)
        GEODEC_THROW(GEODEC_INVAL, "%s is the published manifold: use geodec-published", geodec_artifact_path(file));
done:
    if (st != GEODEC_OK) geodec_metric_file_close(out);
    return st;
}

geodec_status geodec_metric_file_take_any(geodec_artifact *file, geodec_metric_file *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    memset(out, 0, sizeof *out);
    out->file = file;
    GEODEC_TRY(geodec_metric_read_tables(out->file, &out->metric, err));
    if (out->metric.kind == GEODEC_METRIC_PUBLISHED) {
        GEODEC_TRY(geodec_metric_read_matrices(out->file, &out->metric, err));
        goto done;
    }
    GEODEC_TRY_MSG(geodec_metric_space_from(out->file, &out->metric, geodec_metric_field_limit(), &out->smooth, err),
                   "%s", geodec_artifact_path(out->file));
    out->space = out->smooth.space;
    out->field = out->smooth.field;
done:
    if (st != GEODEC_OK) geodec_metric_file_close(out);
    return st;
}

void geodec_metric_file_close(geodec_metric_file *s)
{
    geodec_metric_space_clear(&s->smooth);
    geodec_metric_clear(&s->metric);
    geodec_artifact_close(s->file);
    memset(s, 0, sizeof *s);
}
