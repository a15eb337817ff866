#include "artifact/binding.h"
#include "base/mem.h"
#include "drafters/depth_sink.h"

#define AT(m) GEODEC_AT(geodec_depth, m)
#define IN(m) GEODEC_IN(geodec_depth, m)

static const geodec_field fields[] = {
    {"/explained", GEODEC_F64, "L", 0, "1", "E_l after l = 1, 2, .. blocks: variance in the k leading components", 0,
     AT(explained)},
    {"/spectrum", GEODEC_F64, "L,w", 0, "1", "shares of the variance after l blocks, falling", 0, AT(spectrum)},
    {"/token", GEODEC_I32, "T,n", 0, "1", "the texts, written by the model itself; 0 after their end", 0,
     GEODEC_ARRAY(geodec_depth, token, [0][0])},
    {"/length", GEODEC_I32, "T", 0, "1", "tokens of each", 0, GEODEC_ARRAY(geodec_depth, n, [0])},
};
static const geodec_attr attrs[] = {
    {"sink", GEODEC_ATTR_I64, 0, "l*: the first l with E_l within 1e-3 of the largest", IN(sink.layer)},
    {"ratio", GEODEC_ATTR_F64, 0, "l* over the number of layers (published: about 2/3)"},
    {"components", GEODEC_ATTR_I64, 0, "k: components that explain 95 % after the last block", IN(sink.components)},
    {"states", GEODEC_ATTR_I64, 0, "states of a layer", IN(sink.states)},
};
static const geodec_extent extents[] = {
    {"L", IN(n_layer)}, {"w", IN(width)}, {"T", .plus = GEODEC_DEPTH_TEXTS}, {"n", .plus = GEODEC_DEPTH_LENGTH}};

static geodec_status put_ratio(const void *object, geodec_artifact *a, const char *name, geodec_err *err)
{
    const geodec_depth *d = object;
    return geodec_artifact_put_f64(a, name, (double)d->sink.layer / d->n_layer, err);
}

const geodec_kind geodec_depth_kind = {
    .name = "depth",
    .major = 1,
    .tool = "geodec-depth",
    .purpose = "the depth sink of a model: explained variance of the residual stream by depth, and what a probe needs",
    GEODEC_TABLES(fields, attrs, extents),
    .put = put_ratio,
};

void geodec_depth_clear(geodec_depth *d)
{
    geodec_artifact_clear(&geodec_depth_kind, d);
    *d = (geodec_depth){0};
}

geodec_status geodec_depth_write(const geodec_depth *d, geodec_artifact *out, geodec_err *err)
{
    return geodec_artifact_save(out, d, err);
}

geodec_status geodec_depth_read(const geodec_artifact *in, geodec_depth *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_depth d = {0};
    int64_t rows = 0;
    const char *name = geodec_artifact_path(in);
    GEODEC_TRY(geodec_artifact_load(in, &d, err));
    if (d.n_layer < 1 || d.width < 1 || d.sink.layer < 1 || d.sink.layer > d.n_layer || d.sink.components < 1 ||
        d.sink.components > d.width)
        GEODEC_THROW(GEODEC_FORMAT, "%s: sizes that do not belong together", name);
    for (int t = 0; t < GEODEC_DEPTH_TEXTS; t++) {
        if (d.n[t] < 0 || d.n[t] > GEODEC_DEPTH_LENGTH)
            GEODEC_THROW(GEODEC_FORMAT, "%s: a text of %d tokens", name, d.n[t]);
        rows += d.n[t] > 0 ? d.n[t] - 1 : 0;
    }
    if (rows < 2) GEODEC_THROW(GEODEC_FORMAT, "%s: no texts", name);
    d.sink.states = rows;
    GEODEC_MOVE(*out, d);
done:
    geodec_depth_clear(&d);
    return st;
}
