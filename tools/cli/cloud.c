#include "cli/cloud.h"

geodec_status cloud_dim(const cli *c, const geodec_cloud *cloud, int64_t asked, int64_t otherwise, int64_t *n,
                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *n = asked > 0 ? asked : otherwise;
    if (*n > cloud->k)
        GEODEC_THROW(GEODEC_RANGE, "--dim: %s has %lld coordinates, not %lld", c->args[0], (long long)cloud->k,
                     (long long)*n);
done:
    return st;
}
