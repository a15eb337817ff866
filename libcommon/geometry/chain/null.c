#include "chain/null.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

static geodec_status copy_attr(const geodec_artifact *in, geodec_artifact *out, const geodec_attr *a, geodec_err *err)
{
    int64_t i;
    double d;
    const char *s;
    if (!geodec_artifact_has_attr(in, a->name) || geodec_artifact_has_attr(out, a->name)) return GEODEC_OK;
    switch (a->type) {
    case GEODEC_ATTR_I64:
        GEODEC_PASS(geodec_artifact_get_i64(in, a->name, &i, err));
        GEODEC_PASS(geodec_artifact_put_i64(out, a->name, i, err));
        break;
    case GEODEC_ATTR_F64:
        GEODEC_PASS(geodec_artifact_get_f64(in, a->name, &d, err));
        GEODEC_PASS(geodec_artifact_put_f64(out, a->name, d, err));
        break;
    case GEODEC_ATTR_STR:
        GEODEC_PASS(geodec_artifact_get_str(in, a->name, &s, err));
        GEODEC_PASS(geodec_artifact_put_str(out, a->name, s, err));
        break;
    }
    return GEODEC_OK;
}

static void gaussian(const geodec_cloud *c, uint64_t seed)
{
    for (int64_t i = 0; i < c->points; i++) {
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("null cloud", (uint64_t)i));
        for (int64_t j = 0; j < c->k; j++) c->coordinate[i * c->k + j] = sqrt(c->eigenvalue[j]) * geodec_rng_normal(&r);
    }
}

/* Points that are followed by their successor in the text. */
static int64_t successors(const geodec_cloud *c)
{
    int64_t n = 0;
    for (int64_t i = 1; i < c->points; i++)
        n += c->sequence[i] == c->sequence[i - 1] && (int64_t)c->position[i] == (int64_t)c->position[i - 1] + 1;
    return n;
}

geodec_status geodec_null_build(const geodec_artifact *cloud, geodec_surrogate kind, uint64_t seed,
                                geodec_artifact *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_cloud c = {0};
    double *y = NULL;
    const char *source = "states";
    GEODEC_TRY(geodec_cloud_read(cloud, &c, err));
    if (kind == GEODEC_SURROGATE_PHASE && successors(&c) == 0)
        GEODEC_THROW(GEODEC_SCARCE,
                     "%s: no point is followed by its successor in a text, so there is nothing along the text to keep; "
                     "gaussian and shuffle need none",
                     geodec_artifact_path(cloud));
    if (geodec_artifact_has_attr(cloud, "source")) GEODEC_TRY(geodec_artifact_get_str(cloud, "source", &source, err));
    /* coordinates of another program are not principal components: they may be correlated and not centred */
    if (kind == GEODEC_SURROGATE_GAUSSIAN && strcmp(source, "coordinates") != 0) {
        gaussian(&c, seed);
    } else {
        GEODEC_NEW(y, c.points * c.k);
        GEODEC_TRY(
            geodec_surrogate_draw(kind, c.points, c.k, c.coordinate, seed, geodec_rng_id("null cloud", 0), y, err));
        memcpy(c.coordinate, y, (size_t)(c.points * c.k) * sizeof *y);
    }
    for (int64_t i = 0; kind != GEODEC_SURROGATE_PHASE && i < c.points; i++) {
        c.sequence[i] = (int32_t)i;
        c.position[i] = 0;
    }
    /* the Gaussian control replaces the figures of the subsets */
    memcpy(c.made.subset, c.made.control, sizeof c.made.subset);
    c.made.time_near = c.made.time_chance = 0; /* of independent points */
    c.made.doubt = 0;
    GEODEC_TRY(geodec_artifact_save(out, &c, err));
    for (int a = 0; a < geodec_cloud_kind.n_attrs; a++)
        GEODEC_TRY(copy_attr(cloud, out, &geodec_cloud_kind.attrs[a], err));
done:
    geodec_mem_free(y);
    geodec_cloud_clear(&c);
    return st;
}
