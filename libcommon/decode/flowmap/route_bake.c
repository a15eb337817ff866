/* Routes: baking, checking and calibrating (route.h). */
#include "base/mem.h"
#include "base/tasks.h"
#include "flowmap/flowmap_internal.h"
#include "flowmap/route.h"

#include <string.h>

enum { SLAB = 2048, BINS = GEODEC_ROUTE_BINS, EXPERTS_MAX = 1 << 14, POSITIONS = 64 };

/* ---- reading ---------------------------------------------------------------------------------------------------- */

void geodec__flowmap_route_clear(geodec_flowmap *map) { GEODEC_FREE(map->routes.start, map->routes.popular); }

static const char *fault(const geodec_flowmap *map)
{
    const geodec_flowmap_routes *r = &map->routes;
    if (!r->total || !r->length || !r->expert || !r->count || !r->reliability)
        return "routes without a token table or calibration";
    if (r->layers < 1 || r->layers > GEODEC__FLOW_ROUTE_LAYERS || r->experts < 1 || r->experts > EXPERTS_MAX ||
        r->used < 1 || r->used > r->experts || r->width < 1 || r->width > r->experts ||
        r->bytes != (r->layers * r->width + 7) / 8)
        return "sizes of routes that do not belong together";
    if (r->bytes > GEODEC_ROUTE_BYTES && r->width > 1) return "routes of more bytes than a map has";
    for (int64_t i = 0; i < r->layers * r->experts; i++)
        if (r->total[i] < 0) return "a negative number of uses of an expert";
    int64_t at = 0;
    for (int64_t i = 0; i < map->vocab * r->layers; i++) {
        if (r->length[i] < 0 || r->length[i] > r->width || r->length[i] > r->entries - at)
            return "a token's list of experts that is too long";
        at += r->length[i];
    }
    if (at != r->entries) return "lists of experts that end too early";
    for (int64_t i = 0; i < r->entries; i++)
        if (r->expert[i] < 0 || r->expert[i] >= r->experts || r->count[i] < 1)
            return "an entry in a token's list of experts that is out of range";
    for (int64_t i = 0; i < GEODEC_ROUTE_BASES * r->layers * BINS; i++)
        if (!(r->reliability[i] >= 0 && r->reliability[i] <= 1)) return "a reliability of routes outside 0..1";
    return NULL;
}

geodec_status geodec__flowmap_route_finish(geodec_flowmap *map, const char *name, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap_routes *r = &map->routes;
    if (!r->code) return GEODEC_OK;
    const char *what = fault(map);
    if (what) GEODEC_THROW(GEODEC_FORMAT, "%s: %s", name, what);
    GEODEC_FREE(r->start, r->popular);
    r->popular = NULL;
    r->start = NULL;
    GEODEC_NEW(r->start, map->vocab + 1);
    GEODEC_NEW(r->popular, r->layers * r->experts);
    for (int64_t t = 0; t < map->vocab; t++) {
        r->start[t + 1] = r->start[t];
        for (int64_t l = 0; l < r->layers; l++) r->start[t + 1] += r->length[t * r->layers + l];
    }
    for (int64_t l = 0; l < r->layers; l++) {
        double all = 0;
        for (int64_t e = 0; e < r->experts; e++) all += (double)r->total[l * r->experts + e];
        for (int64_t e = 0; all > 0 && e < r->experts; e++)
            r->popular[l * r->experts + e] = (float)((double)r->total[l * r->experts + e] / all);
    }
done:
    return st;
}

/* ---- baking ----------------------------------------------------------------------------------------------------- */

/* The experts of each node, [nodes][layers used] in the order of nodes; -1: none. */
static geodec_status read_choices(const geodec_flowmap *map, const geodec_activations *a, const int32_t *node_of,
                                  int16_t *choice, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t x = map->routes.layers * map->routes.used;
    int32_t *slab = NULL;
    GEODEC_NEW(slab, SLAB * x);
    for (int64_t row = 0; row < a->rows; row += SLAB) {
        const int64_t n = a->rows - row < SLAB ? a->rows - row : SLAB;
        GEODEC_TRY(geodec_artifact_read_rows(a->file, "/expert", row, n, slab, err));
        for (int64_t i = 0; i < n * x; i++) {
            if (slab[i] >= map->routes.experts)
                GEODEC_THROW(GEODEC_FORMAT, "%s: row %lld uses expert %d of %lld", geodec_artifact_path(a->file),
                             (long long)(row + i / x), slab[i], (long long)map->routes.experts);
            if (node_of[row + i / x] >= 0)
                choice[node_of[row + i / x] * x + i % x] = (int16_t)(slab[i] < 0 ? -1 : slab[i]);
        }
    }
done:
    geodec_mem_free(slab);
    return st;
}

/* Work space of one token and layer. */
typedef struct table {
    geodec_flowmap *map;
    const int16_t *choice;           /* [nodes][layers used] */
    int64_t expert_room, count_room; /* of the entries */
    int32_t *use, *rank;             /* [experts]; rank -1: not listed */
} table;

/* The experts of a token in a layer, most frequent first, as entries of its list. */
static geodec_status list_experts(table *t, int64_t token, int64_t layer, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_flowmap *map = t->map;
    geodec_flowmap_routes *r = &t->map->routes;
    const int64_t x = r->layers * r->used;
    int64_t distinct = 0;
    for (int64_t e = 0; e < r->experts; e++) {
        t->use[e] = 0;
        t->rank[e] = -1;
    }
    for (int64_t i = map->bucket[token]; i < map->bucket[token + 1]; i++)
        for (int64_t k = 0; k < r->used; k++) {
            const int16_t e = t->choice[i * x + layer * r->used + k];
            if (e >= 0) distinct += t->use[e]++ == 0;
        }
    for (int64_t e = 0; e < r->experts; e++) r->total[layer * r->experts + e] += t->use[e];
    const int64_t n = distinct < r->width ? distinct : r->width;
    GEODEC_GROW(r->expert, r->entries, t->expert_room, n);
    GEODEC_GROW(r->count, r->entries, t->count_room, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t best = -1;
        for (int64_t e = 0; e < r->experts; e++)
            if (t->rank[e] < 0 && (best < 0 || t->use[e] > t->use[best])) best = e;
        t->rank[best] = (int32_t)i;
        r->expert[r->entries] = (int16_t)best;
        r->count[r->entries++] = t->use[best];
    }
    r->length[token * r->layers + layer] = (int16_t)n;
done:
    return st;
}

/* The masks of a token's nodes in a layer, by the ranks of list_experts. */
static void code_nodes(table *t, int64_t token, int64_t layer)
{
    geodec_flowmap_routes *r = &t->map->routes;
    const int64_t x = r->layers * r->used;
    for (int64_t i = t->map->bucket[token]; i < t->map->bucket[token + 1]; i++)
        for (int64_t k = 0; k < r->used; k++) {
            const int16_t e = t->choice[i * x + layer * r->used + k];
            if (e < 0) continue;
            if (t->rank[e] < 0) {
                r->lost++;
                continue;
            }
            const int64_t place = layer * r->width + t->rank[e];
            r->code[i * r->bytes + place / 8] |= (uint8_t)(1U << (place % 8));
        }
}

geodec_status geodec__flowmap_route_bake(geodec_flowmap *map, const geodec_activations *a, const int32_t *node_of,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap_routes *r = &map->routes;
    int16_t *choice = NULL;
    table t = {.map = map};
    int64_t x;
    if (!geodec_artifact_has(a->file, "/expert")) return GEODEC_OK;
    GEODEC_TRY(geodec_artifact_dim(a->file, "X", &x, err));
    GEODEC_TRY(geodec_artifact_get_i64(a->file, "n_layer", &r->layers, err));
    GEODEC_TRY(geodec_artifact_get_i64(a->file, "n_expert", &r->experts, err));
    GEODEC_TRY(geodec_artifact_get_i64(a->file, "n_expert_used", &r->used, err));
    if (r->layers < 1 || r->layers > GEODEC__FLOW_ROUTE_LAYERS || r->experts < 1 || r->experts > EXPERTS_MAX ||
        r->used < 1 || r->used > r->experts || x != r->layers * r->used)
        GEODEC_THROW(GEODEC_FORMAT, "%s: %lld layers that use %lld of %lld experts do not fit %lld choices a row",
                     geodec_artifact_path(a->file), (long long)r->layers, (long long)r->used, (long long)r->experts,
                     (long long)x);
    r->width = r->experts;
    if (r->layers * r->width > 8 * GEODEC_ROUTE_BYTES) r->width = 8 * GEODEC_ROUTE_BYTES / r->layers;
    if (r->width < 1) r->width = 1;
    r->bytes = (r->layers * r->width + 7) / 8;
    GEODEC_NEW(choice, map->nodes * x);
    GEODEC_NEW_EACH(r->experts, t.use, t.rank);
    GEODEC_NEW(r->total, r->layers * r->experts);
    GEODEC_NEW(r->length, map->vocab * r->layers);
    GEODEC_NEW(r->code, map->nodes * r->bytes);
    GEODEC_NEW(r->reliability, (int64_t)GEODEC_ROUTE_BASES * r->layers * BINS);
    GEODEC_TRY(read_choices(map, a, node_of, choice, err));
    t.choice = choice;
    for (int64_t token = 0; token < map->vocab; token++)
        for (int64_t l = 0; l < r->layers && map->bucket[token] < map->bucket[token + 1]; l++) {
            GEODEC_TRY(list_experts(&t, token, l, err));
            code_nodes(&t, token, l);
        }
    if (r->entries == 0) GEODEC_GROW(r->expert, 0, t.expert_room, 1);
    if (r->entries == 0) GEODEC_GROW(r->count, 0, t.count_room, 1);
done:
    GEODEC_FREE(choice, t.use, t.rank);
    return st;
}

/* ---- calibration ------------------------------------------------------------------------------------------------ */

typedef struct calibration {
    const geodec_flowmap *map;
    int64_t wanted, tasks;
    int64_t *seen, *right; /* [tasks][bases][layers][BINS] */
} calibration;

static void count_share(const geodec_flowmap_routes *r, const float *share, const bool *used, int64_t *seen,
                        int64_t *right)
{
    for (int64_t l = 0; l < r->layers; l++)
        for (int64_t e = 0; e < r->experts; e++) {
            const int64_t bin = l * BINS + geodec_flowmap_route_bin(share[l * r->experts + e]);
            seen[bin]++;
            right[bin] += used[l * r->experts + e];
        }
}

/* A node's own key is the query; the nodes of its text take no part. */
static geodec_status calibrate_task(void *ctx, int64_t task, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const calibration *c = ctx;
    const geodec_flowmap *map = c->map;
    const geodec_flowmap_routes *r = &map->routes;
    const int64_t cells = r->layers * r->experts, part = r->layers * BINS;
    int64_t *seen = c->seen + task * GEODEC_ROUTE_BASES * part, *right = c->right + task * GEODEC_ROUTE_BASES * part;
    float *share = NULL;
    bool *used = NULL;
    int32_t *scratch = NULL, *expert = NULL;
    GEODEC_NEW(share, cells);
    GEODEC_NEW(used, cells);
    GEODEC_NEW(expert, r->used);
    GEODEC_NEW(scratch, geodec_flowmap_room(map));
    for (int64_t i = task * POSITIONS; i < (task + 1) * POSITIONS && i < c->wanted; i++) {
        const int64_t node = i * map->nodes / c->wanted;
        const int32_t token = map->scan->hop[node].token, text = map->scan->hop[node].sequence;
        geodec_flowmap_hit hit[GEODEC_ROUTE_NEIGHBOURS];
        memset(used, 0, (size_t)cells * sizeof *used);
        for (int64_t l = 0; l < r->layers; l++) {
            const int32_t n = geodec_flowmap_route_of(map, node, l, expert);
            for (int32_t k = 0; k < n; k++) used[l * r->experts + expert[k]] = true;
        }
        const int32_t n = geodec_flowmap_nearest(map, token, map->key + node * map->dims, GEODEC_ROUTE_NEIGHBOURS, text,
                                                 scratch, hit);
        geodec_flowmap_route_vote(map, map->scan->hop[node].before, token, hit, n, text, share);
        count_share(r, share, used, seen + GEODEC_ROUTE_STATE * part, right + GEODEC_ROUTE_STATE * part);
        geodec_flowmap_route_vote(map, -1, token, NULL, 0, text, share);
        count_share(r, share, used, seen + GEODEC_ROUTE_TOKEN * part, right + GEODEC_ROUTE_TOKEN * part);
    }
done:
    GEODEC_FREE(share, used, scratch, expert);
    return st;
}

geodec_status geodec__flowmap_route_calibrate(geodec_flowmap *map, int64_t wanted, geodec_pool *pool,
                                              const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap_routes *r = &map->routes;
    const int64_t all = GEODEC_ROUTE_BASES * r->layers * BINS;
    calibration c = {.map = map, .wanted = wanted < map->nodes ? wanted : map->nodes};
    if (!r->code) return GEODEC_OK;
    c.tasks = (c.wanted + POSITIONS - 1) / POSITIONS;
    GEODEC_NEW_EACH((c.tasks + 1) * all, c.seen, c.right);
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "calibration of routes", c.tasks, calibrate_task, &c, err));
    for (int64_t t = 0; t < c.tasks; t++)
        for (int64_t i = 0; i < all; i++) {
            c.seen[c.tasks * all + i] += c.seen[t * all + i];
            c.right[c.tasks * all + i] += c.right[t * all + i];
        }
    for (int64_t i = 0; i < all; i += BINS)
        geodec_flowmap_route_fit(c.seen + c.tasks * all + i, c.right + c.tasks * all + i, r->reliability + i);
done:
    GEODEC_FREE(c.seen, c.right);
    return st;
}
