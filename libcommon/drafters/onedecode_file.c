#include "artifact/binding.h"
#include "base/mem.h"
#include "drafters/onedecode.h"

#define AT(m) GEODEC_AT(geodec_onedecode, m)
#define IN(m) GEODEC_IN(geodec_onedecode, m)
static const geodec_field fields[] = {
    GEODEC_STEP_FIELDS(geodec_onedecode, step),
    {"/one_decode/centroid", GEODEC_F32, "C,k", 0, "1", "centres of the cells", 0, AT(centroid)},
    {"/one_decode/start", GEODEC_I64, "S", 0, "1", "entries of cell c: start[c] .. start[c+1]-1", 0, AT(counts.start)},
    {"/one_decode/token", GEODEC_I32, "E", GEODEC_FIELD_COMPRESS, "1", "tokens that followed, most frequent first", 0,
     AT(counts.token)},
    {"/one_decode/count", GEODEC_U32, "E", GEODEC_FIELD_COMPRESS, "1", "how often", 0, AT(counts.count)},
    {"/one_decode/total", GEODEC_U32, "C", 0, "1", "places of the cell", 0, AT(counts.total)},
    {"/one_decode/shrink", GEODEC_F32, "4", 0, "1",
     "confidence = shrink count / total, 0, 1, 2, 3+ drafts after the last state, from texts of their own", 0,
     GEODEC_ARRAY(geodec_onedecode, shrink, [0])},
};

static const geodec_attr attrs[] = {
    {"n_min", GEODEC_ATTR_I64, 0, "a cell of fewer places is a miss", IN(n_min)},
    {"n_tokens", GEODEC_ATTR_I64, 0, "places counted", IN(summary.fitted)},
    {"V_bake", GEODEC_ATTR_I64, 0, "distinct tokens in the table", IN(summary.labels)},
    {"places", GEODEC_ATTR_I64, 0, "of the test texts, for the figures below", IN(summary.places)},
    {"top1", GEODEC_ATTR_F64, 0, "share of places whose label is the cell's first token",
     IN(summary.cells_figures.top1)},
    {"top8", GEODEC_ATTR_F64, 0, "share of places whose label is among the cell's first 8",
     IN(summary.cells_figures.top8)},
    {"covered", GEODEC_ATTR_F64, 0, "share of places that are no miss", IN(summary.covered)},
    {"claimed", GEODEC_ATTR_F64, 0, "mean confidence of the first token where there is one", IN(summary.claimed)},
    {"right", GEODEC_ATTR_F64, 0, "share of those that are right", IN(summary.right)},
    {"bigram_top1", GEODEC_ATTR_F64, 0, "control: counts by newest token", IN(summary.bigram.top1)},
    {"bigram_top8", GEODEC_ATTR_F64, 0, "control", IN(summary.bigram.top8)},
    {"unigram_top1", GEODEC_ATTR_F64, 0, "control: counts", IN(summary.unigram.top1)},
    {"unigram_top8", GEODEC_ATTR_F64, 0, "control", IN(summary.unigram.top8)},
};

static const geodec_extent extents[] = {GEODEC_STEP_EXTENTS(geodec_onedecode, step),
                                        {"C", IN(counts.cells)},
                                        {"S", IN(counts.cells), 0, 1},
                                        {"E", IN(counts.entries)}};

const geodec_kind geodec_onedecode_kind = {
    .name = "onedecode",
    .major = 1,
    .minor = 0,
    .tool = "geodec-onedecode",
    .purpose = "OneDecode as counts of next tokens in cells of in-context states",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
    .extents = extents,
    .n_extents = (int)(sizeof extents / sizeof *extents),
};

geodec_status geodec_onedecode_write(const geodec_onedecode *t, const geodec_onedecode_summary *s, geodec_artifact *out,
                                     geodec_err *err)
{
    geodec_onedecode file = *t;
    file.summary = *s;
    return geodec_artifact_save(out, &file, err);
}

void geodec_onedecode_clear(geodec_onedecode *t)
{
    geodec_artifact_clear(&geodec_onedecode_kind, t);
    geodec_mem_free(t->half_square);
    *t = (geodec_onedecode){0};
}

geodec_status geodec_onedecode_read(const geodec_artifact *in, geodec_onedecode *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_onedecode t = {0};
    const char *path = geodec_artifact_path(in);
    GEODEC_TRY(geodec_artifact_load(in, &t, err));
    GEODEC_TRY(geodec_step_check(&t.step, path, err));
    GEODEC_TRY(geodec_counts_check(&t.counts, t.step.vocab, path, err));
    for (int i = 0; i < GEODEC_ONEDECODE_DEPTHS; i++) {
        const bool sane = t.shrink[i] >= 0 && t.shrink[i] <= 1;
        if (!sane) GEODEC_THROW(GEODEC_FORMAT, "%s: a shrinkage is no share", path);
    }
    if (t.n_min < 1) GEODEC_THROW(GEODEC_FORMAT, "%s: n_min %lld", path, (long long)t.n_min);
    GEODEC_NEW(t.half_square, t.counts.cells);
    for (int64_t c = 0; c < t.counts.cells; c++)
        for (int64_t i = 0; i < t.step.k; i++) {
            const float at = t.centroid[c * t.step.k + i];
            t.half_square[c] += at * at / 2;
        }
    GEODEC_MOVE(*out, t);
done:
    geodec_onedecode_clear(&t);
    return st;
}
