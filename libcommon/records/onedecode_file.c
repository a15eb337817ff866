/* The artifact of OneDecode's cells. */
#include "base/mem.h"
#include "records/onedecode.h"

#include <string.h>

static const geodec_field fields[] = {
    GEODEC_STEP_FIELDS,
    {"/one_decode/centroid", GEODEC_F32, "C,k", 0, "1", "centres of the cells", 0},
    {"/one_decode/start", GEODEC_I64, "S", 0, "1", "entries of cell c: start[c] .. start[c+1]-1", 0},
    {"/one_decode/token", GEODEC_I32, "E", GEODEC_FIELD_COMPRESS, "1", "tokens that followed, most frequent first", 0},
    {"/one_decode/count", GEODEC_U32, "E", GEODEC_FIELD_COMPRESS, "1", "how often", 0},
    {"/one_decode/total", GEODEC_U32, "C", 0, "1", "places of the cell", 0},
    {"/one_decode/shrink", GEODEC_F32, "4", 0, "1",
     "confidence = shrink count / total, 0, 1, 2, 3+ drafts behind the last state, from texts of their own", 0},
};

static const geodec_attr attrs[] = {
    {"n_min", GEODEC_ATTR_I64, 0, "a cell of fewer places is a miss"},
    {"n_tokens", GEODEC_ATTR_I64, 0, "places counted"},
    {"V_bake", GEODEC_ATTR_I64, 0, "distinct tokens in the table"},
    {"places", GEODEC_ATTR_I64, 0, "of the test texts, for the figures below"},
    {"top1", GEODEC_ATTR_F64, 0, "share of places whose label is the cell's first token"},
    {"top8", GEODEC_ATTR_F64, 0, "share of places whose label is among the cell's first 8"},
    {"covered", GEODEC_ATTR_F64, 0, "share of places that are no miss"},
    {"claimed", GEODEC_ATTR_F64, 0, "mean confidence of the first token where there is one"},
    {"right", GEODEC_ATTR_F64, 0, "share of those that are right"},
    {"bigram_top1", GEODEC_ATTR_F64, 0, "control: counts by newest token"},
    {"bigram_top8", GEODEC_ATTR_F64, 0, "control"},
    {"unigram_top1", GEODEC_ATTR_F64, 0, "control: counts"},
    {"unigram_top8", GEODEC_ATTR_F64, 0, "control"},
};

const geodec_kind geodec_kind_onedecode = {
    .name = "onedecode",
    .major = 1,
    .minor = 0,
    .tool = "geodec-onedecode",
    .purpose = "OneDecode as counts: what the model said next in cells of in-context states",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

geodec_status geodec_onedecode_write(const geodec_onedecode *t, const geodec_onedecode_summary *s, geodec_artifact *out,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const struct {
        const char *name;
        int64_t value;
    } whole[] = {{"n_min", t->n_min}, {"n_tokens", s->fitted}, {"V_bake", s->labels}, {"places", s->places}};
    const struct {
        const char *name;
        double value;
    } real[] = {{"top1", s->cells_figures.top1},
                {"top8", s->cells_figures.top8},
                {"covered", s->covered},
                {"claimed", s->claimed},
                {"right", s->right},
                {"bigram_top1", s->bigram.top1},
                {"bigram_top8", s->bigram.top8},
                {"unigram_top1", s->unigram.top1},
                {"unigram_top8", s->unigram.top8}};
    GEODEC_TRY(geodec_step_write(&t->step, out, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "C", t->counts.cells, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "S", t->counts.cells + 1, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "E", t->counts.entries, err));
    GEODEC_TRY(geodec_artifact_write(out, "/one_decode/centroid", t->centroid, err));
    GEODEC_TRY(geodec_artifact_write(out, "/one_decode/start", t->counts.start, err));
    GEODEC_TRY(geodec_artifact_write(out, "/one_decode/token", t->counts.token, err));
    GEODEC_TRY(geodec_artifact_write(out, "/one_decode/count", t->counts.count, err));
    GEODEC_TRY(geodec_artifact_write(out, "/one_decode/total", t->counts.total, err));
    GEODEC_TRY(geodec_artifact_write(out, "/one_decode/shrink", t->shrink, err));
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        GEODEC_TRY(geodec_artifact_put_i64(out, whole[i].name, whole[i].value, err));
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        GEODEC_TRY(geodec_artifact_put_f64(out, real[i].name, real[i].value, err));
done:
    return st;
}

static geodec_status read_counts(const geodec_artifact *in, geodec_onedecode *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t starts;
    float *shrink = NULL;
    GEODEC_TRY(geodec_artifact_dim(in, "C", &t->counts.cells, err));
    GEODEC_TRY(geodec_artifact_dim(in, "S", &starts, err));
    GEODEC_TRY(geodec_artifact_dim(in, "E", &t->counts.entries, err));
    if (starts != t->counts.cells + 1)
        GEODEC_THROW(GEODEC_FORMAT, "%s: sizes that do not belong together", geodec_artifact_path(in));
    GEODEC_TRY(geodec_artifact_read(in, "/one_decode/centroid", &t->centroid, err));
    GEODEC_TRY(geodec_artifact_read(in, "/one_decode/start", &t->counts.start, err));
    GEODEC_TRY(geodec_artifact_read(in, "/one_decode/token", &t->counts.token, err));
    GEODEC_TRY(geodec_artifact_read(in, "/one_decode/count", &t->counts.count, err));
    GEODEC_TRY(geodec_artifact_read(in, "/one_decode/total", &t->counts.total, err));
    GEODEC_TRY(geodec_artifact_read(in, "/one_decode/shrink", &shrink, err));
    GEODEC_TRY(geodec_counts_check(&t->counts, t->step.vocab, geodec_artifact_path(in), err));
    for (int i = 0; i < GEODEC_ONEDECODE_DEPTHS; i++) {
        const bool sane = shrink[i] >= 0 && shrink[i] <= 1;
        if (!sane) GEODEC_THROW(GEODEC_FORMAT, "%s: a shrinkage is no share", geodec_artifact_path(in));
        t->shrink[i] = shrink[i];
    }
    GEODEC_NEW(t->half_square, t->counts.cells);
    for (int64_t c = 0; c < t->counts.cells; c++)
        for (int64_t i = 0; i < t->step.k; i++) {
            const float at = t->centroid[c * t->step.k + i];
            t->half_square[c] += at * at / 2;
        }
done:
    geodec_mem_free(shrink);
    return st;
}

geodec_status geodec_onedecode_read(const geodec_artifact *in, geodec_onedecode *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_onedecode t = {0};
    GEODEC_TRY(geodec_step_read(in, &t.step, err));
    GEODEC_TRY(read_counts(in, &t, err));
    GEODEC_TRY(geodec_artifact_get_i64(in, "n_min", &t.n_min, err));
    if (t.n_min < 1) GEODEC_THROW(GEODEC_FORMAT, "%s: n_min %lld", geodec_artifact_path(in), (long long)t.n_min);
    *out = t;
    t = (geodec_onedecode){0};
done:
    geodec_onedecode_clear(&t);
    return st;
}
