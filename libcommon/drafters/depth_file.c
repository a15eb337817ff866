/* The artifact of the depth sink. */
#include "base/mem.h"
#include "drafters/depth_sink.h"

#include <math.h>
#include <string.h>

static const geodec_field fields[] = {
    {"/explained", GEODEC_F64, "L", 0, "1", "E_l after l = 1, 2, .. blocks: variance in the k leading components", 0},
    {"/spectrum", GEODEC_F64, "L,w", 0, "1", "shares of the variance after l blocks, falling", 0},
    {"/token", GEODEC_I32, "T,n", 0, "1", "the texts, which the model wrote itself; 0 behind their end", 0},
    {"/length", GEODEC_I32, "T", 0, "1", "tokens of each", 0},
};
static const geodec_attr attrs[] = {
    {"sink", GEODEC_ATTR_I64, 0, "l*: the first l with E_l within 1e-3 of the largest"},
    {"ratio", GEODEC_ATTR_F64, 0, "l* over the number of layers (the papers: about 2/3)"},
    {"components", GEODEC_ATTR_I64, 0, "k: components that explain 95 % after the last block"},
    {"states", GEODEC_ATTR_I64, 0, "states of a layer"},
};
const geodec_kind geodec_kind_depth = {
    .name = "depth",
    .major = 1,
    .tool = "geodec-depth",
    .purpose = "the depth sink of a model: explained variance of the residual stream by depth, and what a probe needs",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

geodec_status geodec_depth_write(const geodec_depth *d, geodec_artifact *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_artifact_set_dim(out, "L", d->n_layer, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "w", d->width, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "T", GEODEC_DEPTH_TEXTS, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "n", GEODEC_DEPTH_LENGTH, err));
    GEODEC_TRY(geodec_artifact_write(out, "/explained", d->explained, err));
    GEODEC_TRY(geodec_artifact_write(out, "/spectrum", d->spectrum, err));
    GEODEC_TRY(geodec_artifact_write(out, "/token", d->token, err));
    GEODEC_TRY(geodec_artifact_write(out, "/length", d->n, err));
    GEODEC_TRY(geodec_artifact_put_i64(out, "sink", d->sink.layer, err));
    GEODEC_TRY(geodec_artifact_put_f64(out, "ratio", (double)d->sink.layer / d->n_layer, err));
    GEODEC_TRY(geodec_artifact_put_i64(out, "components", d->sink.components, err));
    GEODEC_TRY(geodec_artifact_put_i64(out, "states", d->sink.states, err));
done:
    return st;
}

geodec_status geodec_depth_read(const geodec_artifact *in, geodec_depth *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_depth d = {0};
    int64_t layers, texts, length, sink, components, rows = 0;
    int32_t *token = NULL, *n = NULL;
    const char *name = geodec_artifact_path(in);
    GEODEC_TRY(geodec_artifact_dim(in, "L", &layers, err));
    GEODEC_TRY(geodec_artifact_dim(in, "w", &d.width, err));
    GEODEC_TRY(geodec_artifact_dim(in, "T", &texts, err));
    GEODEC_TRY(geodec_artifact_dim(in, "n", &length, err));
    GEODEC_TRY(geodec_artifact_get_i64(in, "sink", &sink, err));
    GEODEC_TRY(geodec_artifact_get_i64(in, "components", &components, err));
    if (texts != GEODEC_DEPTH_TEXTS || length != GEODEC_DEPTH_LENGTH || layers < 1 || layers > INT32_MAX ||
        d.width < 1 || sink < 1 || sink > layers || components < 1 || components > d.width)
        GEODEC_THROW(GEODEC_FORMAT, "%s: sizes that do not belong together", name);
    GEODEC_TRY(geodec_artifact_read(in, "/explained", &d.explained, err));
    GEODEC_TRY(geodec_artifact_read(in, "/spectrum", &d.spectrum, err));
    GEODEC_TRY(geodec_artifact_read(in, "/token", &token, err));
    GEODEC_TRY(geodec_artifact_read(in, "/length", &n, err));
    for (int t = 0; t < GEODEC_DEPTH_TEXTS; t++) {
        if (n[t] < 0 || n[t] > GEODEC_DEPTH_LENGTH) GEODEC_THROW(GEODEC_FORMAT, "%s: a text of %d tokens", name, n[t]);
        rows += n[t] > 0 ? n[t] - 1 : 0;
    }
    if (rows < 2) GEODEC_THROW(GEODEC_FORMAT, "%s: no texts", name);
    memcpy(d.token, token, sizeof d.token);
    memcpy(d.n, n, sizeof d.n);
    d.n_layer = (int32_t)layers;
    d.sink = (geodec_depth_sink){(int32_t)sink, (int32_t)components, rows};
    *out = d;
    d = (geodec_depth){0};
done:
    geodec_depth_clear(&d);
    geodec_mem_free(token);
    geodec_mem_free(n);
    return st;
}
