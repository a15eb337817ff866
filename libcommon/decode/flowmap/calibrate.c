/* Calibration: the map predicts its own texts position by position, without the nodes of the predicted text. The share
 * of correct children as a function of the raw score, for each depth, is made monotone (isotonic regression by pooling
 * adjacent violators). */
#include "base/mem.h"
#include "base/tasks.h"
#include "flowmap/flowmap_internal.h"
#include "flowmap/track.h"

#include <math.h>
#include <string.h>

enum { DEPTHS = GEODEC_FLOW_DEPTHS, BINS = GEODEC_FLOW_BINS, CHILDREN = 8, VALUES = 64 };
static const double PRIOR = 4; /* observations in the bin */

typedef struct tally {
    int64_t seen[DEPTHS][BINS], right[DEPTHS][BINS];
    int64_t positions, first, accepted;
    double probability; /* sum over positions: share of the bucket, without the position's own text, that has the
                           correct label */
} tally;

typedef struct calibration {
    const geodec_flowmap *map;
    const int32_t *token, *argmax; /* [positions] in text order */
    const float *z;
    int64_t texts; /* predicted positions, evenly spaced */
    tally *of;     /* [texts] */
} calibration;

/* The children of each node along the model's path from position p. A child at depth i is correct if it is the model's
 * argmax at p + i; the next node is queried only if the text follows that path. */
static void predict(tally *y, geodec_flowmap_track *t, const int32_t *token, const int32_t *argmax, int64_t n,
                    int64_t p, int32_t text)
{
    bool chain = true; /* the best child was correct at all depths so far */
    y->positions++;
    (void)geodec_flowmap_track_root(t, token[p], text, false);
    for (int32_t i = 0; i < DEPTHS; i++) {
        geodec_flow_draft child[CHILDREN];
        const int32_t got = geodec_flowmap_track_children(t, i, CHILDREN, NULL, NULL, child);
        for (int32_t k = 0; k < got; k++) {
            const int bin = (int)(child[k].score * BINS) < BINS ? (int)(child[k].score * BINS) : BINS - 1;
            y->seen[i][bin]++;
            y->right[i][bin] += child[k].token == argmax[p + i];
        }
        chain = chain && got > 0 && child[0].token == argmax[p + i];
        y->accepted += chain;
        y->first += chain && i == 0;
        if (p + i + 1 >= n || token[p + i + 1] != argmax[p + i]) break;
        geodec_flowmap_track_adopt(t, i, argmax[p + i]);
    }
}

/* Expected rate of correct labels if labels were permuted within their token's bucket. */
static double probability(const geodec_flowmap *map, int32_t token, int32_t argmax, int32_t text)
{
    int64_t all = 0, right = 0;
    for (int64_t n = map->bucket[token]; n < map->bucket[token + 1]; n++) {
        if (map->scan->hop[n].sequence == text) continue;
        all++;
        right += map->label[n] == argmax;
    }
    return all > 0 ? (double)right / (double)all : 0;
}

static geodec_status text_task(void *ctx, int64_t task, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const calibration *c = ctx;
    const geodec_flowmap *w = c->map;
    const int64_t text = task * w->sequences / c->texts;
    const int64_t row = w->sequence_start[text] + text;
    const int64_t n = w->sequence_start[text + 1] - w->sequence_start[text] + 1;
    const int32_t *token = c->token + row, *argmax = c->argmax + row;
    geodec_flowmap_track *t = NULL;
    tally *y = &c->of[task];
    GEODEC_TRY(geodec_flowmap_track_create(w, &t, err));
    for (int64_t p = 0; p < n; p++) {
        if (p > 0) predict(y, t, token, argmax, n, p, (int32_t)text);
        if (p > 0) y->probability += probability(w, token[p], argmax[p], (int32_t)text);
        GEODEC_TRY(geodec_flowmap_track_push_reduced(t, token[p], argmax[p], c->z + (row + p) * w->m, err));
    }
done:
    geodec_flowmap_track_destroy(t);
    return st;
}

void geodec__flowmap_rise(int n, double *value, double *weight)
{
    int start[VALUES], blocks = 0;
    double mean[VALUES], mass[VALUES];
    for (int i = 0; i < n; i++) {
        start[blocks] = i;
        mean[blocks] = value[i];
        mass[blocks++] = weight[i];
        while (blocks > 1 && mean[blocks - 2] > mean[blocks - 1]) {
            const double m = mass[blocks - 2] + mass[blocks - 1];
            mean[blocks - 2] = (mean[blocks - 2] * mass[blocks - 2] + mean[blocks - 1] * mass[blocks - 1]) / m;
            mass[blocks - 2] = m;
            blocks--;
        }
    }
    for (int b = 0; b < blocks; b++)
        for (int i = start[b]; i < (b + 1 < blocks ? start[b + 1] : n); i++) value[i] = mean[b];
}

geodec_status geodec__flowmap_calibrate(geodec_flowmap *map, int64_t wanted, const float *z,
                                        geodec_flowmap_summary *summary, geodec_pool *pool, const geodec_hooks *hooks,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    calibration c = {.map = map, .z = z};
    tally sum = {0};
    int32_t *token = NULL, *argmax = NULL;
    const int64_t positions = geodec_flowmap_positions(map);
    GEODEC_NEW_EACH(positions, token, argmax);
    geodec_flowmap_texts(map, token, NULL, argmax);
    c.token = token;
    c.argmax = argmax;
    c.texts = wanted * map->sequences / map->nodes;
    if (c.texts < 1 && wanted > 0) c.texts = 1;
    if (c.texts > map->sequences) c.texts = map->sequences;
    GEODEC_NEW(c.of, c.texts);
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "calibration", c.texts, text_task, &c, err));
    for (int64_t t = 0; t < c.texts; t++) {
        for (int d = 0; d < DEPTHS; d++)
            for (int b = 0; b < BINS; b++) {
                sum.seen[d][b] += c.of[t].seen[d][b];
                sum.right[d][b] += c.of[t].right[d][b];
            }
        sum.positions += c.of[t].positions;
        sum.first += c.of[t].first;
        sum.accepted += c.of[t].accepted;
        sum.probability += c.of[t].probability;
    }
    for (int d = 0; d < DEPTHS; d++) {
        double value[BINS], weight[BINS];
        for (int b = 0; b < BINS; b++) {
            weight[b] = (double)sum.seen[d][b] + PRIOR;
            value[b] = ((double)sum.right[d][b] + PRIOR * (b + 0.5) / BINS) / weight[b];
        }
        geodec__flowmap_rise(BINS, value, weight);
        for (int b = 0; b < BINS; b++) map->reliability[d * BINS + b] = (float)value[b];
    }
    summary->calibrated = sum.positions;
    map->consistency = map->consistency_shuffled = NAN;
    if (sum.positions > 0) {
        summary->first = (double)sum.first / (double)sum.positions;
        summary->mean_of_4 = (double)sum.accepted / (double)sum.positions;
        summary->shuffled = sum.probability / (double)sum.positions;
        map->consistency = summary->first;
        map->consistency_shuffled = summary->shuffled;
    }
done:
    GEODEC_FREE(token, argmax, c.of);
    return st;
}
