#include "base/mem.h"
#include "lowrank/projection.h"

geodec_status geodec_projection_apply(const geodec_projection *p, geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_factor *f = NULL;
    GEODEC_NEW(f, p->parts);
    for (int64_t i = 0; i < p->parts; i++)
        f[i] = (geodec_factor){.layer = p->part[i].layer,
                               .slot = p->part[i].slot,
                               .k = p->part[i].k,
                               .in = p->data + p->part[i].in,
                               .out = p->data + p->part[i].out};
    GEODEC_TRY(geodec_model_factor(m, p->parts, f, p->half, err));
done:
    geodec_mem_free(f);
    return st;
}

geodec_status geodec_projection_load(const char *path, geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    geodec_projection p = {0};
    GEODEC_TRY(geodec_artifact_open(&geodec_projection_kind, path, &a, err));
    GEODEC_TRY(geodec_projection_read(a, m, &p, err));
    GEODEC_TRY_MSG(geodec_projection_apply(&p, m, err), "%s", path);
done:
    geodec_projection_clear(&p);
    geodec_artifact_close(a);
    return st;
}
