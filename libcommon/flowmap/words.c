#include "base/numbers.h"
#include "chain/cloud.h"
#include "flowmap/map.h"

#include <math.h>
#include <string.h>

static geodec_status parse_charts(const char *charts, geodec_flowmap_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const char *const kind[] = {"learned", "euclidean", "features", "random"};
    int k = 0;
    while (k < 4 && strcmp(charts, kind[k]) != 0) k++;
    if (k == 4) GEODEC_THROW(GEODEC_INVAL, "--charts: '%s' is none of learned, euclidean, features, random", charts);
    o->charts = (geodec_flowmap_charts)k;
done:
    return st;
}

geodec_status geodec_flowmap_words(const char *decays, const char *charts, geodec_flowmap_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(parse_charts(charts, o, err));
    GEODEC_TRY(geodec_numbers_parse(decays, "--decays", 0, nextafter(1, 0), GEODEC_FLOW_DECAYS_MAX, o->decay,
                                    &o->decays, err));
done:
    return st;
}

geodec_status geodec_flowmap_directions(const char *path, const geodec_activations *states, geodec_provenance *p,
                                        geodec_cloud *cloud, geodec_flowmap_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    int64_t n_layer;
    const char *mine, *its;
    GEODEC_TRY(geodec_artifact_open(&geodec_cloud_kind, path, &a, err));
    GEODEC_TRY(geodec_cloud_read(a, cloud, err));
    GEODEC_TRY(geodec_artifact_get_i64(states->file, "n_layer", &n_layer, err));
    GEODEC_TRY(geodec_artifact_get_str(states->file, "model_fingerprint", &mine, err));
    GEODEC_TRY(geodec_artifact_get_str(a, "model_fingerprint", &its, err));
    if (strcmp(mine, its) != 0) GEODEC_THROW(GEODEC_CHECKSUM, "%s: the cloud of another model", path);
    if (cloud->layer != n_layer || cloud->d != states->d)
        GEODEC_THROW(GEODEC_INVAL, "%s: a cloud of layer %lld; the flow map is baked from the last layer, %lld", path,
                     (long long)cloud->layer, (long long)n_layer);
    GEODEC_TRY(geodec_provenance_add_artifact(p, a, err));
    o->direction = cloud->basis;
    o->n_directions = cloud->k;
done:
    geodec_artifact_close(a);
    return st;
}
