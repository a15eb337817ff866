#include "flowmap/map.h"

#include "artifact/binding.h"
#include "base/finite.h"
#include "base/mem.h"
#include "flowmap/flowmap_internal.h"

#include <math.h>
#include <string.h>

static const float EPS = 1e-5f;
enum { SLICE = 256 }; /* of a state, on the stack */

geodec_flowmap_options geodec_flowmap_defaults(void)
{
    return (geodec_flowmap_options){.dims = 16,
                                    .state_dims = 64,
                                    .decays = 2,
                                    .decay = {0.5, 0.9},
                                    .ridge = 30,
                                    .chart_bytes = 12,
                                    .calibration = 6000,
                                    .vote = {.neighbours = 32,
                                             .own = 8,
                                             .own_weight = 4,
                                             .match_weight = 0.1,
                                             .bandwidth = 0.5,
                                             .rank = 16,
                                             .ridge = 1,
                                             .chains = 16}};
}

void geodec_flowmap_clear(geodec_flowmap *map)
{
    geodec_artifact_clear(&geodec_flowmap_kind, map);
    geodec__flowmap_route_clear(map);
    geodec__flowmap_unlay(map);
    memset(map, 0, sizeof *map);
}

int64_t geodec_flowmap_bytes(const geodec_flowmap *map) { return geodec_artifact_bytes(&geodec_flowmap_kind, map); }

/* ---- checks ----------------------------------------------------------------------------------------------------- */

static bool rising(const int64_t *x, int64_t n, int64_t last)
{
    if (x[0] != 0 || x[n] != last) return false;
    for (int64_t i = 0; i < n; i++)
        if (x[i + 1] < x[i]) return false;
    return true;
}

static bool within(const int32_t *x, int64_t n, int64_t low, int64_t end)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] < low || x[i] >= end) return false;
    return true;
}

static bool finite_all(const float *x, int64_t n) { return geodec_finite_first_not_f32(x, n) < 0; }

bool geodec__flowmap_vote_ok(const geodec_flowmap_vote *v)
{
    return v->neighbours >= 1 && v->own >= 0 && v->neighbours <= GEODEC_FLOW_NEAR_MAX &&
           v->own <= GEODEC_FLOW_NEAR_MAX - v->neighbours && v->rank >= 1 && v->chains >= 1 && v->own_weight > 0 &&
           v->match_weight >= 0 && v->match_weight <= 10 && v->bandwidth > 0 && v->ridge >= 0;
}

/* The first error in the map, NULL = none. */
static const char *fault(const geodec_flowmap *w, uint8_t *seen)
{
    const int64_t N = w->nodes, S = w->sequences, r = w->dims;
    if (w->m > GEODEC_FLOW_STATE_MAX || w->m > w->d || w->decays > GEODEC_FLOW_DECAYS_MAX ||
        w->features != w->m * (1 + w->decays) || r > GEODEC_FLOW_DIMS_MAX || r % 4 != 0 || r < 4 || w->charts < 1 ||
        N >= INT32_MAX || w->vocab >= INT32_MAX)
        return "sizes that do not belong together";
    if (!geodec__flowmap_vote_ok(&w->vote)) return "voting parameters out of range";
    if (!rising(w->bucket, w->vocab, N)) return "token buckets that do not rise to the number of nodes";
    if (!rising(w->sequence_start, S, N)) return "text starts that do not rise to the number of nodes";
    if (!within(w->chart_of, w->vocab, 0, w->charts)) return "a chart that does not exist";
    if (!within(w->label, N, 0, w->vocab)) return "a label outside the vocabulary";
    if (w->choice && !within(w->choice, N * GEODEC_FLOW_CHOICES, -1, w->vocab))
        return "a choice outside the vocabulary";
    if (!within(w->next, N, -1, N)) return "a successor that does not exist";
    if (!within(w->first_token, S, 0, w->vocab) || !within(w->first_argmax, S, 0, w->vocab))
        return "a first token outside the vocabulary";
    for (int64_t n = 0; n < N; n++)
        if (w->next[n] >= 0 && (w->next[n] < w->bucket[w->label[n]] || w->next[n] >= w->bucket[w->label[n] + 1]))
            return "a successor in another token's bucket";
    for (int64_t i = 0; i < N * r; i++)
        if (w->key[i] < -64 || w->key[i] > 63) return "a key outside -64..63";
    if (!within(w->order, N, 0, N)) return "a text position without a node";
    for (int64_t i = 0; i < N; i++)
        if (seen[w->order[i]]++) return "a node at two text positions";
    if (!finite_all(w->basis, w->d * w->m) || !finite_all(w->offset, w->m) || !finite_all(w->decay, w->decays) ||
        !finite_all(w->feature_mean, w->features) || !finite_all(w->feature_factor, w->features) ||
        !finite_all(w->chart_scale, w->charts * r) || !finite_all(w->chart_offset, w->charts * r))
        return "a chart or basis that is not finite";
    for (int i = 0; i < GEODEC_FLOW_DEPTHS * GEODEC_FLOW_BINS; i++)
        if (!(w->reliability[i] >= 0 && w->reliability[i] <= 1)) return "a reliability outside 0..1";
    return NULL;
}

geodec_status geodec__flowmap_finish(geodec_flowmap *map, const char *name, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint8_t *seen = NULL;
    GEODEC_NEW(seen, map->nodes);
    const char *what = fault(map, seen);
    if (what) GEODEC_THROW(GEODEC_FORMAT, "%s: %s", name, what);
    GEODEC_TRY(geodec__flowmap_layout(map, err));
    GEODEC_TRY(geodec__flowmap_route_finish(map, name, err));
done:
    geodec_mem_free(seen);
    return st;
}

/* ---- using ------------------------------------------------------------------------------------------------------ */

geodec_status geodec_flowmap_match(const geodec_flowmap *map, const char *model, const char *tokenizer, geodec_err *err)
{
    if (strcmp(map->model_fingerprint, model) != 0)
        GEODEC_FAIL(GEODEC_CHECKSUM, "the flow map was baked from another model (%.12s..., not %.12s...)",
                    map->model_fingerprint, model);
    if (strcmp(map->tokenizer_fingerprint, tokenizer) != 0)
        GEODEC_FAIL(GEODEC_CHECKSUM, "the flow map was baked with another tokenizer (%.12s..., not %.12s...)",
                    map->tokenizer_fingerprint, tokenizer);
    return GEODEC_OK;
}

int64_t geodec_flowmap_positions(const geodec_flowmap *map) { return map->nodes + map->sequences; }

void geodec_flowmap_texts(const geodec_flowmap *map, int32_t *token, int32_t *sequence, int32_t *argmax)
{
    int64_t at = 0;
    for (int64_t q = 0; q < map->sequences; q++)
        for (int64_t i = map->sequence_start[q] - 1; i < map->sequence_start[q + 1]; i++, at++) {
            const int64_t node = i < map->sequence_start[q] ? -1 : map->order[i]; /* position 0 is not a node */
            token[at] = node < 0 ? map->first_token[q] : map->scan->hop[node].token;
            argmax[at] = node < 0 ? map->first_argmax[q] : map->label[node];
            if (sequence) sequence[at] = (int32_t)q;
        }
}

void geodec_flowmap_probabilities(const geodec_flowmap *map, int32_t *choice, uint8_t *probability)
{
    enum { K = GEODEC_FLOW_CHOICES };
    for (int64_t q = 0; q < map->sequences; q++) {
        for (int k = 0; k <= K; k++, choice++, probability++) {
            *choice = -1;
            *probability = 0;
        }
        for (int64_t i = map->sequence_start[q]; i < map->sequence_start[q + 1]; i++) {
            const int64_t node = map->order[i];
            *choice++ = map->label[node];
            memcpy(choice, map->choice + node * K, K * sizeof *choice);
            memcpy(probability, map->probability + node * (K + 1), K + 1);
            choice += K;
            probability += K + 1;
        }
    }
}

void geodec_flowmap_state(const geodec_flowmap *map, const float *h, float *z)
{
    const int64_t d = map->d, m = map->m;
    double square = 0;
    for (int64_t i = 0; i < d; i++) square += (double)h[i] * (double)h[i];
    const float factor = 1 / sqrtf((float)(square / (double)d) + EPS);
    float s[SLICE];
    for (int64_t c = 0; c < m; c++) z[c] = 0;
    for (int64_t i0 = 0; i0 < d; i0 += SLICE) {
        float part[GEODEC_FLOW_STATE_MAX];
        const int64_t n = d - i0 < SLICE ? d - i0 : SLICE;
        for (int64_t i = 0; i < n; i++) s[i] = h[i0 + i] * factor;
        geodec__flowmap_scan_best()->apply_f32(map->basis + i0 * m, n, m, s, part);
        for (int64_t c = 0; c < m; c++) z[c] += part[c];
    }
    for (int64_t c = 0; c < m; c++) z[c] -= map->offset[c];
}

void geodec_flowmap_advance(const geodec_flowmap *map, const float *z, bool first, float *f)
{
    const int64_t m = map->m;
    memcpy(f, z, (size_t)m * sizeof *f);
    for (int64_t e = 0; e < map->decays; e++) {
        float *mean = f + (1 + e) * m;
        const float a = map->decay[e];
        if (first)
            memcpy(mean, z, (size_t)m * sizeof *mean);
        else
            for (int64_t c = 0; c < m; c++) mean[c] = a * mean[c] + (1 - a) * z[c];
    }
}

void geodec__flowmap_state_key(const geodec_flowmap *map, const float *f, int32_t token, int8_t *key)
{
    const int64_t F = map->features, r = map->dims, chart = map->chart_of[token];
    const int8_t *w = map->chart + chart * F * r;
    const float *scale = map->chart_scale + chart * r, *offset = map->chart_offset + chart * r;
    float sum[GEODEC_FLOW_DIMS_MAX];
    geodec__flowmap_scan_best()->apply_i8(w, F, r, f, sum);
    for (int64_t c = 0; c < r; c++) {
        const float v = rintf(scale[c] * sum[c] - offset[c]);
        key[c] = (int8_t)(v > 63 ? 63 : v > -64 ? v : -64); /* NaN: -64 */
    }
}

void geodec__flowmap_standardise(const geodec_flowmap *map, const float *f, float *out)
{
    for (int64_t i = 0; i < map->features; i++) out[i] = (f[i] - map->feature_mean[i]) * map->feature_factor[i];
}

void geodec_flowmap_key(const geodec_flowmap *map, const float *f, int32_t token, int8_t *key)
{
    float standard[GEODEC_FLOW_STATE_MAX * (1 + GEODEC_FLOW_DECAYS_MAX)];
    geodec__flowmap_standardise(map, f, standard);
    geodec__flowmap_state_key(map, standard, token, key);
}

double geodec_flowmap_reliability(const geodec_flowmap *map, int32_t depth, double score)
{
    const int32_t d = depth < GEODEC_FLOW_DEPTHS ? depth : GEODEC_FLOW_DEPTHS - 1;
    const float *row = map->reliability + (int64_t)d * GEODEC_FLOW_BINS;
    /* linear between the centres of the bins, so that drafts with close scores stay ordered */
    const double x = score * GEODEC_FLOW_BINS - 0.5;
    if (!(x > 0))
        return (double)row[0] * fmax(0, 1 + 2 * x); /* scaled down to zero, so that rare children also stay ordered */
    if (x >= GEODEC_FLOW_BINS - 1) return (double)row[GEODEC_FLOW_BINS - 1];
    const int i = (int)x;
    return (double)row[i] + (x - i) * ((double)row[i + 1] - (double)row[i]);
}
