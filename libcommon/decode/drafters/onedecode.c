#include "drafters/onedecode.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "linalg/kmeans.h"
#include "linalg/knn.h"

#include <math.h>
#include <string.h>

enum { SAMPLE = 16, TOP = 8, DEPTHS = GEODEC_ONEDECODE_DEPTHS };
static const double PRIOR = 4; /* weight of the raw share in a shrinkage, in drafts */

geodec_onedecode_options geodec_onedecode_defaults(void)
{
    return (geodec_onedecode_options){.step = geodec_step_defaults(), .cells = 4096, .rounds = 8, .n_min = 4};
}

int64_t geodec_onedecode_cell(const geodec_onedecode *t, const float *z)
{
    const int64_t k = t->step.k;
    int64_t best = 0;
    float most = -INFINITY;
    for (int64_t c = 0; c < t->counts.cells; c++) {
        const float *x = t->centroid + c * k;
        float sum = -t->half_square[c];
        for (int64_t i = 0; i < k; i++) sum += x[i] * z[i];
        if (sum > most) {
            most = sum;
            best = c;
        }
    }
    return best;
}

typedef struct baking {
    const geodec_onedecode_options *o;
    geodec_step_rows r;
    int32_t *label; /* [rows], -1 = none */
    double *z;      /* [places][k] estimates at the places of the fit */
    int32_t *cell;  /* [places] */
    int32_t *given; /* [places] label */
    int64_t places;
} baking;

static bool begins(const geodec_step_rows *r, int64_t i) { return i == 0 || r->sequence[i] != r->sequence[i - 1]; }

/* Computes estimates at every place of the fit that has a previous state. */
static geodec_status estimate(baking *b, const geodec_step *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_step_rows *r = &b->r;
    float after[GEODEC_STEP_DIMS_MAX];
    GEODEC_NEW(b->z, r->rows * s->k);
    GEODEC_NEW(b->given, r->rows);
    for (int64_t i = 0; i < r->rows; i++) {
        if (begins(r, i) || b->label[i] < 0 ||
            geodec_step_part_of(b->o->step.seed, r->sequence[i]) != GEODEC_STEP_FIT ||
            !geodec_step_advance(s, r->z + (i - 1) * s->k, r->token[i], after))
            continue;
        for (int64_t c = 0; c < s->k; c++) b->z[b->places * s->k + c] = (double)after[c];
        b->given[b->places++] = b->label[i];
    }
    if (b->places < 16)
        GEODEC_THROW(GEODEC_SCARCE, "%lld positions have an estimate; the cells need at least 16",
                     (long long)b->places);
done:
    return st;
}

static geodec_status make_cells(baking *b, geodec_onedecode *t, geodec_pool *pool, const geodec_hooks *hooks,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t k = t->step.k, cells = b->o->cells < b->places / 4 ? b->o->cells : b->places / 4;
    const int64_t sample = cells * SAMPLE < b->places ? cells * SAMPLE : b->places;
    double *x = NULL, *centre = NULL;
    GEODEC_NEW(x, sample * k);
    GEODEC_NEW(centre, cells * k);
    GEODEC_NEW(b->cell, b->places);
    for (int64_t i = 0; i < sample; i++) /* evenly spread */
        memcpy(x + i * k, b->z + i * b->places / sample * k, (size_t)k * sizeof *x);
    GEODEC_TRY(geodec_kmeans(sample, k, x, cells, b->o->rounds, b->o->step.seed, centre, pool, hooks, err));
    GEODEC_NEW(t->centroid, cells * k);
    GEODEC_NEW(t->half_square, cells);
    for (int64_t c = 0; c < cells; c++)
        for (int64_t i = 0; i < k; i++) {
            const float at = (float)centre[c * k + i];
            centre[c * k + i] = (double)at; /* counted with the stored estimates */
            t->centroid[c * k + i] = at;
            t->half_square[c] += at * at / 2;
        }
    GEODEC_TRY(geodec_knn_search(cells, k, centre, b->places, b->z, 1, b->cell, NULL, pool, hooks, err));
    GEODEC_TRY(geodec_counts_make(cells, b->places, b->cell, b->given, &t->counts, err));
done:
    GEODEC_FREE(x, centre);
    return st;
}

/* The cell that a lookup finds after row i when the last known state is `ahead` + 1 rows back; -1 = a miss. */
static int64_t look(const geodec_onedecode *t, const geodec_step_rows *r, int64_t i, int64_t ahead)
{
    float z[2][GEODEC_STEP_DIMS_MAX];
    const float *at = r->z + (i - 1 - ahead) * t->step.k;
    for (int64_t j = i - ahead; j <= i; j++) {
        if (!geodec_step_advance(&t->step, at, r->token[j], z[j & 1])) return -1;
        at = z[j & 1];
    }
    const int64_t cell = geodec_onedecode_cell(t, at);
    return (int64_t)t->counts.total[cell] < t->n_min ? -1 : cell;
}

static double share(const geodec_counts *c, int64_t cell)
{
    return (double)c->count[c->start[cell]] / (double)c->total[cell];
}

static void calibrate(const baking *b, geodec_onedecode *t)
{
    const geodec_step_rows *r = &b->r;
    double right[DEPTHS], claimed[DEPTHS];
    for (int d = 0; d < DEPTHS; d++) right[d] = claimed[d] = PRIOR;
    int64_t start = 0;
    for (int64_t i = 0; i < r->rows; i++) {
        if (begins(r, i)) start = i;
        if (b->label[i] < 0 || geodec_step_part_of(b->o->step.seed, r->sequence[i]) != GEODEC_STEP_CALIBRATE) continue;
        for (int64_t d = 0; d < DEPTHS && i - 1 - d >= start; d++) {
            const int64_t cell = look(t, r, i, d);
            if (cell < 0) continue;
            claimed[d] += share(&t->counts, cell);
            right[d] += t->counts.token[t->counts.start[cell]] == b->label[i];
        }
    }
    for (int d = 0; d < DEPTHS; d++) t->shrink[d] = (float)fmin(1, right[d] / claimed[d]);
}

static void count_rank(geodec_table_figures *f, int64_t rank)
{
    f->top1 += rank == 0;
    f->top8 += rank >= 0 && rank < TOP;
}

/* Figures on the test texts, with a bigram and a unigram of the texts of the fit as controls. */
static geodec_status measure(const baking *b, const geodec_onedecode *t, geodec_onedecode_summary *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_step_rows *r = &b->r;
    geodec_counts bigram = {0}, unigram = {0};
    bool *met = NULL;
    double found = 0;
    GEODEC_NEW(met, r->vocab);
    GEODEC_TRY(geodec_step_count(r, b->o->step.seed, b->label, true, &bigram, err));
    GEODEC_TRY(geodec_step_count(r, b->o->step.seed, b->label, false, &unigram, err));
    for (int64_t i = 0; i < r->rows; i++) {
        if (begins(r, i) || b->label[i] < 0 || geodec_step_part_of(b->o->step.seed, r->sequence[i]) != GEODEC_STEP_TEST)
            continue;
        s->places++;
        count_rank(&s->bigram, geodec_counts_rank(&bigram, r->token[i], b->label[i]));
        count_rank(&s->unigram, geodec_counts_rank(&unigram, 0, b->label[i]));
        const int64_t cell = look(t, r, i, 0);
        if (cell < 0) continue;
        const int64_t rank = geodec_counts_rank(&t->counts, cell, b->label[i]);
        count_rank(&s->cells_figures, rank);
        found++;
        s->claimed += (double)t->shrink[0] * share(&t->counts, cell);
        s->right += rank == 0;
    }
    const double n = s->places > 0 ? (double)s->places : 1;
    geodec_table_figures *const f[] = {&s->cells_figures, &s->bigram, &s->unigram};
    for (int i = 0; i < 3; i++) {
        f[i]->top1 /= n;
        f[i]->top8 /= n;
    }
    s->covered = found / n;
    s->claimed /= fmax(found, 1);
    s->right /= fmax(found, 1);
    s->cells = t->counts.cells;
    s->fitted = b->places;
    for (int64_t i = 0; i < t->counts.entries; i++) {
        s->labels += !met[t->counts.token[i]];
        met[t->counts.token[i]] = true;
    }
done:
    geodec_counts_clear(&bigram);
    geodec_counts_clear(&unigram);
    geodec_mem_free(met);
    return st;
}

geodec_status geodec_onedecode_bake(const geodec_activations *a, const geodec_onedecode_options *o,
                                    geodec_onedecode *out, geodec_onedecode_summary *summary, geodec_pool *pool,
                                    const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_onedecode t = {.n_min = o->n_min};
    geodec_onedecode_summary s = {0};
    baking b = {.o = o};
    if (o->cells < 1 || o->rounds < 0 || o->n_min < 1 || o->step.blind)
        GEODEC_THROW(GEODEC_RANGE, "%lld cells, %lld rounds, n_min %lld", (long long)o->cells, (long long)o->rounds,
                     (long long)o->n_min);
    GEODEC_TRY(geodec_step_fit(a, &o->step, pool, &t.step, &b.r, err));
    GEODEC_NEW(b.label, b.r.rows);
    for (int64_t i = 0; i < b.r.rows; i++) b.label[i] = o->text ? b.r.next[i] : b.r.argmax[i];
    GEODEC_TRY(estimate(&b, &t.step, err));
    GEODEC_TRY(make_cells(&b, &t, pool, hooks, err));
    calibrate(&b, &t);
    GEODEC_TRY(measure(&b, &t, &s, err));
    *out = t;
    *summary = s;
    t = (geodec_onedecode){0};
done:
    geodec_onedecode_clear(&t);
    geodec_step_rows_clear(&b.r);
    GEODEC_FREE(b.label, b.z, b.cell, b.given);
    return st;
}

/* ---- the artifact ----------------------------------------------------------------------------------------------- */

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
    .tool = "geodec-onedecode",
    .purpose = "OneDecode as counts of next tokens in cells of in-context states",
    GEODEC_TABLES(fields, attrs, extents),
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
        if (!sane) GEODEC_THROW(GEODEC_FORMAT, "%s: a shrinkage is not in 0..1", path);
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
