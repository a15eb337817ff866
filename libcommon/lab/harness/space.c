#include "lab/harness/space.h"

#include <string.h>

geodec_status geodec_harness_space_open(const char *path, geodec_harness_space *out, geodec_err *err)
{
    geodec_artifact *file = NULL;
    memset(out, 0, sizeof *out);
    GEODEC_PASS(geodec_artifact_open(&geodec_metric_kind, path, &file, err));
    return geodec_harness_space_take(file, out, err);
}

geodec_status geodec_harness_space_take(geodec_artifact *file, geodec_harness_space *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    memset(out, 0, sizeof *out);
    out->file = file;
    GEODEC_TRY(geodec_metric_read_tables(out->file, &out->metric, err));
    if (out->metric.kind == GEODEC_METRIC_PUBLISHED) {
        GEODEC_TRY(geodec_metric_read_matrices(out->file, &out->metric, err));
        GEODEC_TRY(geodec_harness_manifold_read(out->file, &out->metric, &out->manifold, err));
        out->published = &out->manifold;
        out->space = &out->manifold.space;
    } else {
        GEODEC_TRY_MSG(
            geodec_metric_space_from(out->file, &out->metric, geodec_metric_field_limit(), &out->smooth, err), "%s",
            geodec_artifact_path(out->file));
        out->space = out->smooth.space;
        out->field = out->smooth.field;
    }
done:
    if (st != GEODEC_OK) geodec_harness_space_close(out);
    return st;
}

geodec_status geodec_harness_space_check(const geodec_harness_space *s, bool published, geodec_err *err)
{
    const char *path = geodec_artifact_path(s->file);
    if (published && !s->published)
        GEODEC_FAIL(GEODEC_INVAL, "%s is of kind %s; geodec-published metric makes the published one", path,
                    geodec_metric_type_name(s->metric.kind));
    if (!published && s->published)
        GEODEC_FAIL(GEODEC_INVAL, "%s is the published manifold: use geodec-published", path);
    return GEODEC_OK;
}

void geodec_harness_space_close(geodec_harness_space *s)
{
    geodec_metric_space_clear(&s->smooth);
    if (s->published) geodec_harness_manifold_clear(&s->manifold);
    geodec_metric_clear(&s->metric);
    geodec_artifact_close(s->file);
    memset(s, 0, sizeof *s);
}
