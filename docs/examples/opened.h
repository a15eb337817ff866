/* What the examples of the later stages share: a METRIC.h5 and its space. */
#include <geodec/geodec.h>
#include <geodec/metric.h>

typedef struct opened {
    geodec_artifact *file;
    geodec_metric metric;
    geodec_metric_space space; /* stays where it is */
} opened;

static inline geodec_status opened_metric(const char *path, opened *o, geodec_err *err)
{
    geodec_status st = geodec_artifact_open(geodec_kinds_find("metric"), path, &o->file, err);
    if (st == GEODEC_OK) st = geodec_metric_read(o->file, &o->metric, err);
    if (st == GEODEC_OK) st = geodec_metric_space_init(&o->metric, &o->space, err);
    return st;
}

static inline void opened_close(opened *o)
{
    geodec_metric_space_clear(&o->space);
    geodec_metric_clear(&o->metric);
    geodec_artifact_close(o->file);
}
