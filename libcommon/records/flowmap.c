#include "records/flowmap.h"

#include "base/mem.h"
#include "records/flow_internal.h"

#include <math.h>
#include <string.h>

static const float EPS = 1e-5f;
enum { SLICE = 256 }; /* of a state, on the stack */

geodec_flow_vote geodec_flow_vote_defaults(void)
{
    return (geodec_flow_vote){.neighbours = 32,
                              .own = 8,
                              .own_weight = 4,
                              .match_weight = 0.1,
                              .bandwidth = 0.5,
                              .rank = 16,
                              .ridge = 1,
                              .chains = 16};
}

geodec_flow_options geodec_flow_defaults(void)
{
    return (geodec_flow_options){.dims = 16,
                                 .state_dims = 64,
                                 .decays = 2,
                                 .decay = {0.5, 0.9},
                                 .ridge = 30,
                                 .chart_bytes = 12,
                                 .calibration = 6000,
                                 .vote = geodec_flow_vote_defaults()};
}

void geodec__flowmap_arrays(geodec_flowmap *w, geodec__flow_array out[GEODEC__FLOW_ARRAYS])
{
    const int64_t C = w->charts, F = w->features, r = w->dims, N = w->nodes, S = w->sequences;
    const geodec__flow_array all[GEODEC__FLOW_ARRAYS] = {
        {"/state/basis", (void **)&w->basis, sizeof *w->basis, w->d * w->m},
        {"/state/offset", (void **)&w->offset, sizeof *w->offset, w->m},
        {"/state/decay", (void **)&w->decay, sizeof *w->decay, w->decays},
        {"/state/feature_mean", (void **)&w->feature_mean, sizeof *w->feature_mean, F},
        {"/state/feature_factor", (void **)&w->feature_factor, sizeof *w->feature_factor, F},
        {"/chart/of_token", (void **)&w->chart_of, sizeof *w->chart_of, w->vocab},
        {"/chart/weight", (void **)&w->chart, sizeof *w->chart, C * F * r},
        {"/chart/scale", (void **)&w->chart_scale, sizeof *w->chart_scale, C * r},
        {"/chart/offset", (void **)&w->chart_offset, sizeof *w->chart_offset, C * r},
        {"/node/bucket", (void **)&w->bucket, sizeof *w->bucket, w->vocab + 1},
        {"/node/key", (void **)&w->key, sizeof *w->key, N * r},
        {"/node/label", (void **)&w->label, sizeof *w->label, N},
        {"/node/next", (void **)&w->next, sizeof *w->next, N},
        {"/node/sure", (void **)&w->sure, sizeof *w->sure, N},
        {"/node/choice", (void **)&w->choice, sizeof *w->choice, N * GEODEC_FLOW_CHOICES},
        {"/node/chance", (void **)&w->chance, sizeof *w->chance, N * (1 + GEODEC_FLOW_CHOICES)},
        {"/text/order", (void **)&w->order, sizeof *w->order, N},
        {"/text/start", (void **)&w->sequence_start, sizeof *w->sequence_start, S + 1},
        {"/text/first_token", (void **)&w->first_token, sizeof *w->first_token, S},
        {"/text/first_argmax", (void **)&w->first_argmax, sizeof *w->first_argmax, S},
        {"/calibration/reliability", (void **)&w->reliability, sizeof *w->reliability,
         (int64_t)GEODEC_FLOW_DEPTHS * GEODEC_FLOW_BINS},
        {NULL, NULL, 0, 0},
    };
    memcpy(out, all, sizeof all);
}

static void clear_layout(geodec_flowmap *map)
{
    if (map->scan) {
        geodec_mem_free(map->scan->first);
        geodec_mem_unmap(map->scan->block, map->scan->block_bytes);
        geodec_mem_unmap(map->scan->hop, map->scan->hop_bytes);
    }
    geodec_mem_free(map->scan);
    map->scan = NULL;
}

void geodec_flowmap_clear(geodec_flowmap *map)
{
    geodec__flow_array a[GEODEC__FLOW_ARRAYS];
    geodec__flowmap_arrays(map, a);
    for (int i = 0; a[i].path; i++) geodec_mem_free(*a[i].data);
    clear_layout(map);
    memset(map, 0, sizeof *map);
}

int64_t geodec_flowmap_bytes(const geodec_flowmap *map)
{
    geodec_flowmap copy = *map;
    geodec__flow_array a[GEODEC__FLOW_ARRAYS];
    int64_t bytes = 0;
    geodec__flowmap_arrays(&copy, a);
    for (int i = 0; a[i].path; i++) bytes += *a[i].data ? a[i].count * (int64_t)a[i].size : 0;
    return bytes;
}

/* Memory in huge pages; *bytes is set with it. */
static geodec_status new_pages(int64_t n, int64_t size, void **out, int64_t *bytes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t all = n > 0 ? n * size : size;
    *out = geodec_mem_map(all);
    if (!*out) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld x %lld bytes", (long long)n, (long long)size);
    *bytes = all;
done:
    return st;
}

/* ---- checks and layout ------------------------------------------------------------------------------------------ */

geodec_status geodec__flowmap_layout(geodec_flowmap *map, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t r = map->dims;
    clear_layout(map);
    GEODEC_NEW(map->scan, 1);
    geodec_flow_scan *s = map->scan;
    s->kernels = geodec__flow_best();
    s->groups = (int32_t)(r / 4);
    GEODEC_NEW(s->first, map->vocab + 1);
    for (int64_t t = 0; t < map->vocab; t++) {
        const int64_t blocks = (map->bucket[t + 1] - map->bucket[t] + GEODEC__FLOW_BLOCK - 1) / GEODEC__FLOW_BLOCK;
        s->first[t + 1] = s->first[t] + blocks;
        if (blocks > s->widest) s->widest = blocks;
    }
    const int64_t stride = (r / 4 + 1) * 64; /* of a block, in bytes */
    GEODEC_TRY(new_pages(s->first[map->vocab], stride, (void **)&s->block, &s->block_bytes, err));
    for (int64_t t = 0; t < map->vocab; t++)
        for (int64_t n = map->bucket[t]; n < map->bucket[t + 1]; n++) {
            const int64_t i = n - map->bucket[t], lane = i % GEODEC__FLOW_BLOCK;
            uint8_t *b = s->block + (s->first[t] + i / GEODEC__FLOW_BLOCK) * stride;
            int32_t norm = 0;
            for (int64_t c = 0; c < r; c++) {
                const int32_t x = map->key[n * r + c] + 64;
                b[(c / 4 * GEODEC__FLOW_BLOCK + lane) * 4 + c % 4] = (uint8_t)x;
                norm += x * x;
            }
            memcpy(b + stride - 64 + 4 * lane, &norm, sizeof norm);
        }
    const int32_t far = GEODEC__FLOW_FAR;
    for (int64_t t = 0; t < map->vocab; t++)
        for (int64_t i = map->bucket[t + 1] - map->bucket[t]; i < (s->first[t + 1] - s->first[t]) * GEODEC__FLOW_BLOCK;
             i++)
            memcpy(s->block + (s->first[t] + i / GEODEC__FLOW_BLOCK + 1) * stride - 64 + 4 * (i % GEODEC__FLOW_BLOCK),
                   &far, sizeof far);
    GEODEC_TRY(new_pages(map->nodes, sizeof *s->hop, (void **)&s->hop, &s->hop_bytes, err));
    for (int64_t t = 0; t < map->vocab; t++)
        for (int64_t n = map->bucket[t]; n < map->bucket[t + 1]; n++) s->hop[n].token = (int32_t)t;
    for (int64_t q = 0; q < map->sequences; q++)
        for (int64_t i = map->sequence_start[q]; i < map->sequence_start[q + 1]; i++) {
            const int32_t n = map->order[i], after = i + 1 < map->sequence_start[q + 1] ? map->order[i + 1] : -1;
            s->hop[n] = (geodec__flow_hop){.label = map->label[n],
                                           .next = map->next ? map->next[n] : -1,
                                           .text = after >= 0 ? s->hop[after].token : -1,
                                           .along = after,
                                           .sequence = (int32_t)q,
                                           .token = s->hop[n].token,
                                           .sure = map->sure ? (float)map->sure[n] / 255 : 0};
            memcpy(s->hop[n].key, map->key + n * r, (size_t)r);
        }
done:
    return st;
}

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

static bool finite_all(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* What is wrong with the map, NULL = nothing. */
static const char *fault(const geodec_flowmap *w, uint8_t *seen)
{
    const int64_t N = w->nodes, S = w->sequences, r = w->dims;
    const geodec_flow_vote *v = &w->vote;
    if (w->m > GEODEC_FLOW_STATE_MAX || w->m > w->d || w->decays > GEODEC_FLOW_DECAYS_MAX ||
        w->features != w->m * (1 + w->decays) || r > GEODEC_FLOW_DIMS_MAX || r % 4 != 0 || r < 4 || w->charts < 1 ||
        N >= INT32_MAX || w->vocab >= INT32_MAX)
        return "sizes that do not belong together";
    if (v->neighbours < 1 || v->own < 0 || v->neighbours > GEODEC_FLOW_NEAR_MAX ||
        v->own > GEODEC_FLOW_NEAR_MAX - v->neighbours || v->rank < 1 || v->chains < 1 || !(v->own_weight > 0) ||
        !(v->match_weight >= 0) || !(v->match_weight <= 10) || !(v->bandwidth > 0) || !(v->ridge >= 0))
        return "voting parameters out of range";
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
    if (!within(w->order, N, 0, N)) return "a text position without node";
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
done:
    geodec_mem_free(seen);
    return st;
}

/* ---- using ------------------------------------------------------------------------------------------------------ */

geodec_status geodec_flowmap_match(const geodec_flowmap *map, const char *model, const char *tokenizer, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (strcmp(map->model_fingerprint, model) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM, "the flow map was baked from another model (%.12s..., not %.12s...)",
                     map->model_fingerprint, model);
    if (strcmp(map->tokenizer_fingerprint, tokenizer) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM, "the flow map was baked with another tokenizer (%.12s..., not %.12s...)",
                     map->tokenizer_fingerprint, tokenizer);
done:
    return st;
}

int64_t geodec_flowmap_positions(const geodec_flowmap *map) { return map->nodes + map->sequences; }

void geodec_flowmap_texts(const geodec_flowmap *map, int32_t *token, int32_t *sequence, int32_t *argmax)
{
    int64_t at = 0;
    for (int64_t q = 0; q < map->sequences; q++) {
        token[at] = map->first_token[q];
        argmax[at] = map->first_argmax[q];
        sequence[at++] = (int32_t)q;
        for (int64_t i = map->sequence_start[q]; i < map->sequence_start[q + 1]; i++, at++) {
            const int32_t node = map->order[i];
            int64_t low = 0, high = map->vocab; /* bucket[low] <= node < bucket[high] */
            while (high - low > 1) {
                const int64_t mid = low + (high - low) / 2;
                if (map->bucket[mid] <= node)
                    low = mid;
                else
                    high = mid;
            }
            token[at] = (int32_t)low;
            argmax[at] = map->label[node];
            sequence[at] = (int32_t)q;
        }
    }
}

void geodec_flowmap_chances(const geodec_flowmap *map, int32_t *choice, uint8_t *chance)
{
    enum { K = GEODEC_FLOW_CHOICES };
    for (int64_t q = 0; q < map->sequences; q++) {
        for (int k = 0; k <= K; k++, choice++, chance++) {
            *choice = -1;
            *chance = 0;
        }
        for (int64_t i = map->sequence_start[q]; i < map->sequence_start[q + 1]; i++) {
            const int64_t node = map->order[i];
            *choice++ = map->label[node];
            memcpy(choice, map->choice + node * K, K * sizeof *choice);
            memcpy(chance, map->chance + node * (K + 1), K + 1);
            choice += K;
            chance += K + 1;
        }
    }
}

void geodec_flow_state(const geodec_flowmap *map, const float *h, float *z)
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
        geodec__flow_best()->apply_f32(map->basis + i0 * m, n, m, s, part);
        for (int64_t c = 0; c < m; c++) z[c] += part[c];
    }
    for (int64_t c = 0; c < m; c++) z[c] -= map->offset[c];
}

void geodec_flow_advance(const geodec_flowmap *map, const float *z, bool first, float *f)
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

void geodec__flow_key(const geodec_flowmap *map, const float *f, int32_t token, int8_t *key)
{
    const int64_t F = map->features, r = map->dims, chart = map->chart_of[token];
    const int8_t *w = map->chart + chart * F * r;
    const float *scale = map->chart_scale + chart * r, *offset = map->chart_offset + chart * r;
    float sum[GEODEC_FLOW_DIMS_MAX];
    geodec__flow_best()->apply_i8(w, F, r, f, sum);
    for (int64_t c = 0; c < r; c++) {
        const float v = rintf(scale[c] * sum[c] - offset[c]);
        key[c] = (int8_t)(v > 63 ? 63 : v > -64 ? v : -64); /* NaN: -64 */
    }
}

void geodec__flow_standardise(const geodec_flowmap *map, const float *f, float *out)
{
    for (int64_t i = 0; i < map->features; i++) out[i] = (f[i] - map->feature_mean[i]) * map->feature_factor[i];
}

void geodec_flow_key(const geodec_flowmap *map, const float *f, int32_t token, float *scratch, int8_t *key)
{
    geodec__flow_standardise(map, f, scratch);
    geodec__flow_key(map, scratch, token, key);
}

int64_t geodec_flow_room(const geodec_flowmap *map) { return 2 * (map->scan->widest + 1) * GEODEC__FLOW_BLOCK; }

/* A limit with at least k distances below it, and not many more: of the minima of interleaved parts, k are below it.
 * The nearest neighbours themselves do not depend on it. */
static int32_t limit_for(const geodec__flow_kernels *kernels, const int32_t *low, int64_t k)
{
    int32_t below = 0, high = GEODEC_FLOW_DIMS_MAX * 127 * 127 + 1;
    if (kernels->below(low, GEODEC__FLOW_LOWS, high) < k) return GEODEC__FLOW_FAR;
    while (high - below > 1 + high / 32) { /* count(below) < k <= count(high) */
        const int32_t middle = below + (high - below) / 2;
        if (kernels->below(low, GEODEC__FLOW_LOWS, middle) >= k)
            high = middle;
        else
            below = middle;
    }
    return high;
}

int32_t geodec_flow_nearest(const geodec_flowmap *map, int32_t token, const int8_t *key, int32_t k, int32_t skip,
                            int32_t *scratch, geodec_flow_hit *hit)
{
    const geodec_flow_scan *s = map->scan;
    uint8_t query[GEODEC_FLOW_DIMS_MAX];
    int32_t count = 0;
    if (token < 0 || token >= map->vocab || k < 1 || k > GEODEC_FLOW_NEAR_MAX) return 0;
    const int64_t first = map->bucket[token], n = map->bucket[token + 1] - first;
    const int64_t blocks = s->first[token + 1] - s->first[token], padded = blocks * GEODEC__FLOW_BLOCK;
    int32_t norm = 0, low[GEODEC__FLOW_LOWS];
    for (int64_t c = 0; c < map->dims; c++) {
        query[c] = (uint8_t)(key[c] + 64);
        norm += query[c] * query[c];
    }
    s->kernels->distance(s->block + s->first[token] * (s->groups + 1) * 64, blocks, s->groups, query, norm, scratch,
                         low);
    if (skip >= 0) {
        for (int64_t i = 0; i < n; i++)
            if (s->hop[first + i].sequence == skip) scratch[i] = GEODEC__FLOW_FAR;
        s->kernels->lows(scratch, padded, low);
    }
    const int32_t limit = n > k ? limit_for(s->kernels, low, k) : GEODEC__FLOW_FAR;
    /* Insertion: nodes come in rising order, so an equal distance goes behind. */
    int32_t *candidate = scratch + padded;
    const int64_t found = s->kernels->collect(scratch, padded, limit, candidate);
    for (int64_t i = 0; i < found; i++) {
        const int32_t d = scratch[candidate[i]];
        if (count == k && d >= hit[count - 1].distance) continue;
        int32_t at = count < k ? count++ : count - 1;
        for (; at > 0 && hit[at - 1].distance > d; at--) hit[at] = hit[at - 1];
        hit[at] = (geodec_flow_hit){d, (int32_t)(first + candidate[i])};
    }
    return count;
}

double geodec_flow_reliability(const geodec_flowmap *map, int32_t depth, double score)
{
    const int32_t d = depth < GEODEC_FLOW_DEPTHS ? depth : GEODEC_FLOW_DEPTHS - 1;
    const float *row = map->reliability + (int64_t)d * GEODEC_FLOW_BINS;
    /* linear between the centres of the bins, so that drafts of close scores stay ordered */
    const double x = score * GEODEC_FLOW_BINS - 0.5;
    if (!(x > 0)) return (double)row[0] * fmax(0, 1 + 2 * x); /* down to nothing: rare children stay ordered too */
    if (x >= GEODEC_FLOW_BINS - 1) return (double)row[GEODEC_FLOW_BINS - 1];
    const int i = (int)x;
    return (double)row[i] + (x - i) * ((double)row[i + 1] - (double)row[i]);
}
