/* Baking: computes the arrays of the flow map from the activations of texts. */
#include "base/mem.h"
#include "base/numbers.h"
#include "base/tasks.h"
#include "chain/cloud.h"
#include "flowmap/flowmap_internal.h"
#include "geometry/pca.h"
#include "linalg/blas.h"
#include "linalg/eig.h"

#include <math.h>
#include <string.h>

enum { SLAB = 2048, MIN_NODES = 16 };

typedef struct baking {
    geodec_flowmap *map;
    const geodec_flowmap_options *o;
    int64_t rows;
    int32_t *token, *position, *sequence, *argmax; /* [rows] */
    float *z;                                      /* [rows][m] */
    float *feature;                                /* [rows][F] standardised, after the row */
    int64_t *row_of;                               /* [nodes] */
    int32_t *node_of;                              /* [rows], -1 = no node */
    geodec_pool *pool;
    const geodec_hooks *hooks;
} baking;

/* ---- options ---------------------------------------------------------------------------------------------------- */

geodec_status geodec_flowmap_words(const char *decays, const char *charts, geodec_flowmap_options *o, geodec_err *err)
{
    static const char *const kind[] = {"learned", "euclidean", "features", "random"};
    int k = 0;
    while (k < 4 && strcmp(charts, kind[k]) != 0) k++;
    if (k == 4) GEODEC_FAIL(GEODEC_INVAL, "--charts: '%s' is none of learned, euclidean, features, random", charts);
    o->charts = (geodec_flowmap_charts)k;
    GEODEC_PASS(geodec_numbers_parse(decays, "--decays", 0, nextafter(1, 0), GEODEC_FLOW_DECAYS_MAX, o->decay,
                                     &o->decays, err));
    return GEODEC_OK;
}

geodec_status geodec_flowmap_directions(const char *path, const geodec_activations *states, geodec_provenance *p,
                                        geodec_cloud *cloud, geodec_flowmap_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    int64_t n_layer;
    const char *mine, *its;
    GEODEC_TRY(geodec_artifact_open(&geodec_cloud_kind, path, &a, err));
    GEODEC_TRY(geodec_cloud_read(a, cloud, err));
    GEODEC_TRY(geodec_artifact_get_i64(states->file, "n_layer", &n_layer, err));
    GEODEC_TRY(geodec_artifact_get_str(states->file, "model_fingerprint", &mine, err));
    GEODEC_TRY(geodec_artifact_get_str(a, "model_fingerprint", &its, err));
    if (strcmp(mine, its) != 0) GEODEC_THROW(GEODEC_CHECKSUM, "%s: the cloud belongs to another model", path);
    if (cloud->layer != n_layer || cloud->d != states->d)
        GEODEC_THROW(GEODEC_INVAL, "%s: the cloud has layer %lld; the flow map needs the last layer, %lld", path,
                     (long long)cloud->layer, (long long)n_layer);
    GEODEC_TRY(geodec_provenance_add_artifact(p, a, err));
    o->direction = cloud->basis;
    o->n_directions = cloud->k;
done:
    geodec_artifact_close(a);
    return st;
}

static geodec_status check(const geodec_activations *a, const geodec_flowmap_options *o, geodec_err *err)
{
    if (o->dims < 4 || o->dims > GEODEC_FLOW_DIMS_MAX || o->dims % 4 != 0)
        GEODEC_FAIL(GEODEC_RANGE, "keys of %lld coordinates (a multiple of 4 up to %d)", (long long)o->dims,
                    GEODEC_FLOW_DIMS_MAX);
    if (o->state_dims < 1 || o->state_dims > GEODEC_FLOW_STATE_MAX)
        GEODEC_FAIL(GEODEC_RANGE, "states of %lld coordinates (1..%d)", (long long)o->state_dims,
                    GEODEC_FLOW_STATE_MAX);
    if (o->decays < 1 || o->decays > GEODEC_FLOW_DECAYS_MAX)
        GEODEC_FAIL(GEODEC_RANGE, "%lld exponential means (1..%d)", (long long)o->decays, GEODEC_FLOW_DECAYS_MAX);
    for (int64_t e = 0; e < o->decays; e++)
        if (!(o->decay[e] >= 0 && o->decay[e] < 1)) GEODEC_FAIL(GEODEC_RANGE, "decay %g (0..1)", o->decay[e]);
    if (!(o->ridge > 0) || o->chart_bytes < 0 || o->calibration < 0)
        GEODEC_FAIL(GEODEC_RANGE, "ridge %g, %lld bytes of charts, %lld positions of calibration", o->ridge,
                    (long long)o->chart_bytes, (long long)o->calibration);
    if (!geodec__flowmap_vote_ok(&o->vote))
        GEODEC_FAIL(GEODEC_RANGE, "voting parameters out of range (neighbours + own <= %d)", GEODEC_FLOW_NEAR_MAX);
    if (a->rows >= INT32_MAX) GEODEC_FAIL(GEODEC_LIMIT, "%lld rows are too many", (long long)a->rows);
    if (o->charts < GEODEC_FLOW_LEARNED || o->charts > GEODEC_FLOW_RANDOM)
        GEODEC_FAIL(GEODEC_RANGE, "charts of kind %d", (int)o->charts);
    if (o->n_directions < 0 || (o->n_directions > 0 && !o->direction) || o->n_directions > a->d)
        GEODEC_FAIL(GEODEC_RANGE, "%lld directions of width %lld", (long long)o->n_directions, (long long)a->d);
    return GEODEC_OK;
}

static geodec_status read_rows(baking *b, const geodec_activations *a, geodec_err *err)
{
    geodec_flowmap *w = b->map;
    const char *name = geodec_artifact_path(a->file);
    GEODEC_PASS(geodec_artifact_get_i64(a->file, "n_vocab", &w->vocab, err));
    if (w->vocab < 1 || w->vocab >= INT32_MAX) GEODEC_FAIL(GEODEC_FORMAT, "%s: no vocabulary", name);
    GEODEC_PASS(geodec_artifact_read(a->file, "/token", &b->token, err));
    GEODEC_PASS(geodec_artifact_read(a->file, "/position", &b->position, err));
    GEODEC_PASS(geodec_artifact_read(a->file, "/sequence", &b->sequence, err));
    GEODEC_PASS(geodec_artifact_read(a->file, "/argmax", &b->argmax, err));
    b->rows = a->rows;
    for (int64_t i = 0; i < b->rows; i++) {
        const bool start = i == 0 || b->sequence[i] != b->sequence[i - 1];
        if (b->token[i] < 0 || b->token[i] >= w->vocab || b->argmax[i] < 0 || b->argmax[i] >= w->vocab)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: row %lld has a token outside the vocabulary", name, (long long)i);
        if (b->position[i] != (start ? 0 : b->position[i - 1] + 1))
            GEODEC_FAIL(GEODEC_FORMAT, "%s: row %lld does not continue its text", name, (long long)i);
        if (start)
            w->sequences++;
        else
            w->nodes++;
    }
    if (w->nodes < MIN_NODES)
        GEODEC_FAIL(GEODEC_SCARCE, "%lld positions after the first of a text; the flow map needs at least %d",
                    (long long)w->nodes, MIN_NODES);
    return GEODEC_OK;
}

/* ---- the state's coordinates ------------------------------------------------------------------------------------ */

/* h <- h / rms(h) as doubles; GEODEC_NUMERIC when not finite. */
static geodec_status scaled(int64_t n, int64_t d, const float *h, double *s, int64_t row0, geodec_err *err)
{
    for (int64_t i = 0; i < n; i++) {
        double square = 0;
        for (int64_t c = 0; c < d; c++) square += (double)h[i * d + c] * (double)h[i * d + c];
        if (!isfinite(square))
            GEODEC_FAIL(GEODEC_NUMERIC, "the state of row %lld is not finite", (long long)(row0 + i));
        const double factor = 1 / sqrt(square / (double)d + 1e-5);
        for (int64_t c = 0; c < d; c++) s[i * d + c] = (double)h[i * d + c] * factor;
    }
    return GEODEC_OK;
}

/* basis [d][m]: the given directions, then the principal directions of the remainder. */
static geodec_status choose_basis(baking *b, const geodec_pca_moments *mo, geodec_flowmap_summary *summary,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap *w = b->map;
    const int64_t d = w->d, m = w->m, given = b->o->n_directions < m ? b->o->n_directions : m;
    double *block = NULL, total = 0, left = 0, kept = 0;
    GEODEC_NEW(block, 2 * d * d + 2 * d);
    double *cov = block, *work = cov + d * d, *value = work + d * d, *mean = value + d;
    GEODEC_TRY(geodec_pca_moments_result(mo, mean, cov, err));
    for (int64_t i = 0; i < d; i++) total += cov[i * d + i];
    if (!(total > 0)) GEODEC_THROW(GEODEC_SCARCE, "all states are equal; the flow map needs different ones");
    for (int64_t g = 0; g < given; g++) { /* cov <- (I - u u^T) cov (I - u u^T) */
        const double *u = b->o->direction + g * d;
        double uu = 0;
        for (int64_t i = 0; i < d; i++) {
            work[i] = geodec_blas_dot(d, cov + i * d, u);
            uu += work[i] * u[i];
        }
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < d; j++) cov[i * d + j] += uu * u[i] * u[j] - u[i] * work[j] - work[i] * u[j];
        for (int64_t i = 0; i < d; i++) w->basis[i * m + g] = (float)u[i];
    }
    for (int64_t i = 0; i < d; i++) left += cov[i * d + i];
    GEODEC_TRY(geodec_eig_sym(d, cov, value, work, err));
    for (int64_t k = given; k < m; k++) {
        double *u = work + (d - 1 - (k - given)) * d;
        geodec__pca_fix_sign(d, u); /* as in the cloud */
        for (int64_t i = 0; i < d; i++) w->basis[i * m + k] = (float)u[i];
        kept += value[d - 1 - (k - given)];
    }
    for (int64_t k = 0; k < m; k++) {
        double s = 0;
        for (int64_t i = 0; i < d; i++) s += (double)w->basis[i * m + k] * mean[i];
        w->offset[k] = (float)s;
    }
    w->explained = summary->explained = fmin(1, fmax(0, (total - left + kept) / total));
done:
    geodec_mem_free(block);
    return st;
}

static geodec_status reduce_states(baking *b, const geodec_activations *a, geodec_flowmap_summary *summary,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap *w = b->map;
    geodec_pca_moments mo = {0};
    int64_t n_layer, layer;
    float *h = NULL;
    double *s = NULL;
    char *scratch = NULL;
    w->d = a->d;
    w->m = b->o->state_dims < a->d ? b->o->state_dims : a->d;
    GEODEC_TRY(geodec_artifact_get_i64(a->file, "n_layer", &n_layer, err));
    GEODEC_TRY(geodec_activations_find_layer(a, n_layer, &layer, err));
    GEODEC_NEW_EACH(SLAB * w->d, h, s);
    GEODEC_NEW(scratch, (int64_t)geodec_activations_scratch(a, SLAB));
    GEODEC_NEW(w->basis, w->d * w->m);
    GEODEC_NEW(w->offset, w->m);
    GEODEC_NEW(b->z, b->rows * w->m);
    GEODEC_TRY(geodec_pca_moments_init(&mo, w->d, NULL, err));
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t r = 0; r < b->rows; r += SLAB) {
            const int64_t n = b->rows - r < SLAB ? b->rows - r : SLAB;
            GEODEC_TRY(geodec_activations_read(a, layer, r, n, h, scratch, err));
            if (pass == 0) {
                GEODEC_TRY(scaled(n, w->d, h, s, r, err));
                GEODEC_TRY(geodec_pca_moments_add(&mo, n, s, b->pool, err));
            } else {
                for (int64_t i = 0; i < n; i++) geodec_flowmap_state(w, h + i * w->d, b->z + (r + i) * w->m);
            }
            GEODEC_TRY(geodec_hooks_progress(b->hooks, "states", pass * b->rows + r + n, 2 * b->rows, err));
        }
        if (pass == 0) GEODEC_TRY(choose_basis(b, &mo, summary, err));
    }
done:
    geodec_pca_moments_clear(&mo);
    GEODEC_FREE(h, s, scratch);
    return st;
}

/* ---- nodes and features ----------------------------------------------------------------------------------------- */

/* Sets the buckets by token, with texts in order within a bucket, and the texts. */
static geodec_status place_nodes(baking *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap *w = b->map;
    int64_t *fill = NULL, text = 0, at = 0;
    GEODEC_NEW(w->bucket, w->vocab + 1);
    GEODEC_NEW_EACH(w->nodes, w->label, w->order);
    GEODEC_NEW(w->sequence_start, w->sequences + 1);
    GEODEC_NEW_EACH(w->sequences, w->first_token, w->first_argmax);
    GEODEC_NEW(b->row_of, w->nodes);
    GEODEC_NEW(b->node_of, b->rows);
    GEODEC_NEW(fill, w->vocab);
    for (int64_t i = 0; i < b->rows; i++)
        if (b->position[i] > 0) w->bucket[b->token[i] + 1]++;
    for (int64_t t = 0; t < w->vocab; t++) {
        w->bucket[t + 1] += w->bucket[t];
        fill[t] = w->bucket[t];
    }
    for (int64_t i = 0; i < b->rows; i++) {
        b->node_of[i] = -1;
        if (b->position[i] == 0) {
            w->sequence_start[text] = at;
            w->first_token[text] = b->token[i];
            w->first_argmax[text++] = b->argmax[i];
            continue;
        }
        const int64_t node = fill[b->token[i]]++;
        b->node_of[i] = (int32_t)node;
        b->row_of[node] = i;
        w->label[node] = b->argmax[i];
        w->order[at++] = (int32_t)node;
    }
    w->sequence_start[text] = at;
done:
    geodec_mem_free(fill);
    return st;
}

static geodec_status make_features(baking *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap *w = b->map;
    double *sum = NULL;
    int64_t count = 0;
    w->decays = b->o->decays;
    w->features = w->m * (1 + w->decays);
    const int64_t F = w->features;
    GEODEC_NEW(w->decay, w->decays);
    GEODEC_NEW_EACH(F, w->feature_mean, w->feature_factor);
    GEODEC_NEW(b->feature, b->rows * F);
    GEODEC_NEW(sum, 2 * F);
    double *square = sum + F;
    for (int64_t e = 0; e < w->decays; e++) w->decay[e] = (float)b->o->decay[e];
    for (int64_t i = 0; i < b->rows; i++) {
        float *f = b->feature + i * F;
        if (b->position[i] > 0) memcpy(f, f - F, (size_t)F * sizeof *f);
        geodec_flowmap_advance(w, b->z + i * w->m, b->position[i] == 0, f);
    }
    /* moments of the rows that precede nodes, relative to the first such row */
    for (int64_t i = 0; i + 1 < b->rows; i++) {
        if (b->position[i + 1] == 0) continue;
        const float *f = b->feature + i * F;
        for (int64_t c = 0; c < F; c++) {
            const double x = (double)f[c] - (double)b->feature[c];
            sum[c] += x;
            square[c] += x * x;
        }
        count++;
    }
    for (int64_t c = 0; c < F; c++) {
        const double mean = sum[c] / (double)count, variance = fmax(0, square[c] / (double)count - mean * mean);
        w->feature_mean[c] = (float)(mean + (double)b->feature[c]);
        w->feature_factor[c] = variance > 0 ? (float)(1 / sqrt(variance)) : 0;
    }
    for (int64_t i = 0; i < b->rows; i++) geodec__flowmap_standardise(w, b->feature + i * F, b->feature + i * F);
done:
    geodec_mem_free(sum);
    return st;
}

/* ---- successors and agreement ----------------------------------------------------------------------------------- */

/* Among the 16 nearest nodes of other texts, the share by kernel weight that has the same label. */
static double agreement(const geodec_flowmap *w, int32_t token, int64_t node, int32_t *scratch)
{
    geodec_flowmap_hit hit[16];
    const int32_t n =
        geodec_flowmap_nearest(w, token, w->key + node * w->dims, 16, w->scan->hop[node].sequence, scratch, hit);
    double same = 0, all = 0;
    if (n == 0) return 0;
    const double h = w->vote.bandwidth * (double)hit[n < 4 ? n - 1 : 3].distance + 1e-3;
    for (int32_t i = 0; i < n; i++) {
        const double weight = exp(-0.5 * (double)(hit[i].distance - hit[0].distance) / h);
        all += weight;
        if (w->label[hit[i].node] == w->label[node]) same += weight;
    }
    return same / all;
}

static geodec_status link_task(void *ctx, int64_t task, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    baking *b = ctx;
    geodec_flowmap *w = b->map;
    const int64_t end = (task + 1) * SLAB < w->nodes ? (task + 1) * SLAB : w->nodes;
    int32_t *scratch = NULL;
    GEODEC_NEW(scratch, geodec_flowmap_room(w));
    for (int64_t node = task * SLAB; node < end; node++) {
        const int64_t row = b->row_of[node], after = row + 1;
        const int32_t label = w->label[node];
        int8_t key[GEODEC_FLOW_DIMS_MAX];
        geodec_flowmap_hit hit;
        w->agreement[node] = (uint8_t)lrint(255 * agreement(w, b->token[row], node, scratch));
        if (after < b->rows && b->position[after] > 0 && b->token[after] == label) {
            w->next[node] = b->node_of[after];
        } else {
            geodec__flowmap_state_key(w, b->feature + row * w->features, label, key);
            w->next[node] = geodec_flowmap_nearest(w, label, key, 1, -1, scratch, &hit) > 0 ? hit.node : -1;
        }
    }
done:
    geodec_mem_free(scratch);
    return st;
}

static geodec_status bake_charts(baking *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *before = NULL;
    GEODEC_NEW(before, b->map->nodes);
    for (int64_t n = 0; n < b->map->nodes; n++) before[n] = b->row_of[n] - 1;
    GEODEC_TRY(geodec__flowmap_charts(b->map, b->o, b->feature, before, b->z, b->row_of, b->pool, b->hooks, err));
done:
    geodec_mem_free(before);
    return st;
}

/* The best next tokens of each node, if they were exported, with the softmax over the exported logits. */
static geodec_status keep_choices(baking *b, const geodec_activations *a, geodec_err *err)
{
    enum { K = GEODEC_FLOW_CHOICES };
    geodec_status st = GEODEC_OK;
    geodec_flowmap *w = b->map;
    int32_t *top = NULL;
    float *logit = NULL;
    int64_t m;
    if (!geodec_artifact_has(a->file, "/top_index") || !geodec_artifact_has(a->file, "/top_logit")) goto done;
    GEODEC_TRY(geodec_artifact_dim(a->file, "M", &m, err));
    if (m < 2) goto done;
    GEODEC_TRY(geodec_artifact_read(a->file, "/top_index", &top, err));
    GEODEC_TRY(geodec_artifact_read(a->file, "/top_logit", &logit, err));
    GEODEC_NEW(w->choice, w->nodes * K);
    GEODEC_NEW(w->probability, w->nodes * (K + 1));
    for (int64_t n = 0; n < w->nodes; n++) {
        const int32_t *id = top + b->row_of[n] * m;
        const float *l = logit + b->row_of[n] * m;
        int32_t *choice = w->choice + n * K;
        uint8_t *probability = w->probability + n * (K + 1);
        double largest = -INFINITY, total = 0;
        int taken = 0;
        for (int64_t k = 0; k < m; k++) {
            if (id[k] < 0 || id[k] >= w->vocab || !isfinite(l[k]))
                GEODEC_THROW(GEODEC_FORMAT, "%s: row %lld has a best logit outside the vocabulary, or not finite",
                             geodec_artifact_path(a->file), (long long)b->row_of[n]);
            largest = fmax(largest, (double)l[k]);
        }
        for (int64_t k = 0; k < m; k++) total += exp((double)l[k] - largest);
        for (int k = 0; k < K; k++) choice[k] = -1;
        for (int64_t k = 0; k < m; k++) {
            const uint8_t p = (uint8_t)lrint(255 * exp((double)l[k] - largest) / total);
            if (id[k] == w->label[n])
                probability[0] = p;
            else if (taken < K) {
                choice[taken] = id[k];
                probability[++taken] = p;
            }
        }
    }
done:
    GEODEC_FREE(top, logit);
    return st;
}

geodec_status geodec_flowmap_bake(const geodec_activations *states, const geodec_flowmap_options *o,
                                  geodec_flowmap *out, geodec_flowmap_summary *summary, geodec_pool *pool,
                                  const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap map = {0};
    geodec_flowmap_summary s = {0};
    baking b = {.map = &map, .o = o, .pool = pool, .hooks = hooks};
    GEODEC_TRY(check(states, o, err));
    map.dims = o->dims;
    map.vote = o->vote;
    GEODEC_TRY(geodec__flowmap_fingerprints(states->file, &map, err));
    GEODEC_TRY(read_rows(&b, states, err));
    GEODEC_TRY(reduce_states(&b, states, &s, err));
    GEODEC_TRY(place_nodes(&b, err));
    GEODEC_TRY(make_features(&b, err));
    GEODEC_TRY(bake_charts(&b, err));
    GEODEC_NEW_EACH(map.nodes, map.next, map.agreement);
    GEODEC_NEW(map.reliability, (int64_t)GEODEC_FLOW_DEPTHS * GEODEC_FLOW_BINS);
    GEODEC_TRY(keep_choices(&b, states, err));
    GEODEC_TRY(geodec__flowmap_layout(&map, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "successors", (map.nodes + SLAB - 1) / SLAB, link_task, &b, err));
    GEODEC_TRY(geodec__flowmap_layout(&map, err)); /* laid out again, now with successors */
    GEODEC_TRY(geodec__flowmap_calibrate(&map, o->calibration, b.z, &s, pool, hooks, err));
    GEODEC_TRY(geodec__flowmap_route_bake(&map, states, b.node_of, err));
    GEODEC_TRY(geodec__flowmap_finish(&map, "the baked flow map", err));
    GEODEC_TRY(geodec__flowmap_route_calibrate(&map, o->calibration, pool, hooks, err));
    for (int64_t i = 0; i + 1 < b.rows; i++)
        if (b.position[i] > 0 && b.position[i + 1] > 0 && b.token[i + 1] == b.argmax[i]) s.followed++;
    for (int64_t n = 0; n < map.nodes; n++) s.agreement += map.agreement[n] / (255.0 * (double)map.nodes);
    s.nodes = map.nodes;
    s.sequences = map.sequences;
    s.charts = map.charts;
    s.route_bytes = map.routes.bytes;
    if (map.routes.code)
        s.route_lost = (double)map.routes.lost / ((double)map.nodes * (double)(map.routes.layers * map.routes.used));
    s.bytes_per_node = (double)geodec_flowmap_bytes(&map) / (double)map.nodes;
    if (summary) *summary = s;
    *out = map;
    memset(&map, 0, sizeof map);
done:
    geodec_flowmap_clear(&map);
    GEODEC_FREE(b.token, b.position, b.sequence, b.argmax, b.z, b.feature, b.row_of, b.node_of);
    return st;
}
