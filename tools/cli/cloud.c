#include "cli/cloud.h"

geodec_status cloud_dim(const cli *c, const geodec_cloud *cloud, int64_t asked, int64_t otherwise, int64_t *n,
                        geodec_err *err)
{
    *n = asked > 0 ? asked : otherwise;
    if (*n > cloud->k)
        GEODEC_FAIL(GEODEC_RANGE, "--dim: %s has %lld coordinates, not %lld", c->args[0], (long long)cloud->k,
                    (long long)*n);
    return GEODEC_OK;
}
