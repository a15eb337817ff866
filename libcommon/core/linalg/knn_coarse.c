/* Exact neighbours through coarse distances.
 *
 * Points are rounded to small integers, x = mid + h (v + r) with |r| the rounding error in steps h, and the distances
 * of the integers are computed exactly, in integer arithmetic: I = |v_a - v_b|^2. By the triangle inequality
 *     | |a - b| / h - sqrt(I) | <= r_a + r_b <= r_a + R,    R = the largest r of all points.
 * When k points are known with I <= K, the k-th true distance is at most U = sqrt(K) + r_a + R steps, and every point
 * at most that far has sqrt(I) <= U + r_a + R. Points that pass are measured again in float64, in coordinate order.
 * That sum errs by a relative (d + 2) 2^-52 and, where squares underflow, by d times the smallest number: U is widened
 * for both, for the k-th and for the candidate.
 *
 * A query skips leaves of neighbouring points whose box is farther than U. */
#include "base/mem.h"
#include "linalg/knn_internal.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = GEODEC__KNN_BLOCK,
    GROUP = GEODEC__KNN_GROUP,
    LEAF = GEODEC__KNN_LEAF,
    ROOM = 1024,         /* candidates of a query; a query with more is searched point by point */
    SLACK = 48,          /* new candidates between two updates of the limit */
    PIECE = 64,          /* tasks of a thread between two calls of the progress hook */
    PILOT = 4,           /* pilot blocks, which decide whether to go on */
    PRUNED_D = 32,       /* boxes exclude little in more dimensions */
    LOWEST = -(1 << 29), /* below all scores */
    EMPTY = 1 << 30,     /* `half` of an empty place: its score is below LOWEST */
};

typedef struct worker {
    int32_t *score, *id; /* [BLOCK][ROOM + 16] */
    int32_t *word;       /* [BLOCK][words] */
    float *y, *bound;    /* [d][BLOCK], [leaves][BLOCK] */
    uint64_t *seen;      /* [leaves] queries that visited it */
    int32_t *index;      /* [k] */
    double *best;        /* [k] */
    float *apart;        /* [leaves] of a query with too many candidates */
} worker;

typedef struct coarse {
    geodec__knn_scan scan;
    const geodec__knn_kernels *kernels;
    int shorts, self, prune;
    const geodec_knn_part *part;
    int64_t n, d, k, n_queries, words, leaves;
    const double *points, *queries;
    int32_t *order, *query_order; /* place -> point; the same array for a self-search */
    uint8_t *packed;
    int32_t *half;
    float *box; /* [leaves][d][2] in steps */
    double *mid, range;
    double per, top;   /* 1 / h; largest integer */
    double rest, tiny; /* R; largest distance hidden by underflow, in steps */
    int32_t *index;
    double *dist2;
    worker *workers;
    int64_t first_task;
    int64_t pilots, stride; /* the pilot runs tasks 0, stride, .. (`pilots` of them) */
    int64_t candidates[PILOT], visits[PILOT];
} coarse;

/* One query of a block. */
typedef struct block_query {
    geodec__knn_found found;
    int64_t next;        /* count of candidates at the next update of the limit */
    double square, lift; /* |v|^2; bias of the scores */
    double rest;         /* r of the query */
    int overflowed;
} block_query;

/* Integers of a point, its squared length and the length of its rounding error (in steps, rounded up). */
static void quantise(const coarse *s, const double *x, int32_t *v, double *square, double *rest)
{
    double sum = 0, lost = 0;
    for (int64_t c = 0; c < s->d; c++) {
        const double y = (x[c] - s->mid[c]) * s->per, r = rint(y);
        v[c] = (int32_t)r;
        sum += r * r;
        lost += (y - r) * (y - r);
    }
    *square = sum;
    *rest = sqrt(lost) * (1 + 1e-9) + sqrt((double)s->d) * s->top * 1e-15; /* the second term: y itself is rounded */
}

/* Middle of every coordinate, and the largest distance from it. */
static geodec_status choose_middle(coarse *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *low = NULL, *high = NULL;
    GEODEC_NEW_EACH(s->d, low, high);
    for (int64_t c = 0; c < s->d; c++) low[c] = high[c] = s->points[c];
    for (int set = 0; set < 2 - s->self; set++) {
        const double *x = set ? s->queries : s->points;
        for (int64_t p = 0; p < (set ? s->n_queries : s->n); p++, x += s->d)
            for (int64_t c = 0; c < s->d; c++) {
                low[c] = x[c] < low[c] ? x[c] : low[c];
                high[c] = x[c] > high[c] ? x[c] : high[c];
            }
    }
    for (int64_t c = 0; c < s->d; c++) {
        s->mid[c] = 0.5 * low[c] + 0.5 * high[c];
        s->range = fmax(s->range, fmax(high[c] - s->mid[c], s->mid[c] - low[c]));
    }
done:
    GEODEC_FREE(low, high);
    return st;
}

/* False when all points are equal. */
static int choose_step(coarse *s, int shorts)
{
    /* |score| <= 1.5 d top^2 must stay below 2^29 */
    s->top = shorts ? fmin(32767, floor(sqrt(ldexp(1, 29) / (1.5 * (double)s->d)))) : 127;
    s->shorts = shorts;
    s->scan = shorts ? s->kernels->shorts : s->kernels->bytes;
    s->words = shorts ? (s->d + 1) / 2 : (s->d + 3) / 4;
    s->per = s->top * (1 - 1e-12) / s->range;
    s->tiny = sqrt((double)s->d) * 3e-162 * s->per;
    return s->range > 0 && s->range < 1e150 && s->per < 1e150;
}

static void pack_word(uint8_t *to, int shorts, int64_t c, int32_t v)
{
    const int64_t w = shorts ? c / 2 : c / 4;
    to += w * 4 * GROUP;
    if (shorts) {
        const int16_t x = (int16_t)v;
        memcpy(to + 2 * (c % 2), &x, sizeof x);
    } else {
        to[c % 4] = (uint8_t)(v + 128);
    }
}

typedef struct pack_job {
    coarse *s;
    double *rest; /* [leaves] */
    int32_t *v;   /* [workers][d] */
} pack_job;

/* A leaf: its words, halves, box and largest rounding error. */
static void pack_leaf(void *ctx, int64_t leaf, int me)
{
    const pack_job *j = ctx;
    coarse *s = j->s;
    int32_t *v = j->v + me * s->d;
    const int64_t first = leaf * LEAF, last = first + LEAF < s->n ? first + LEAF : s->n;
    float *box = s->box + leaf * s->d * 2;
    double most = 0;
    for (int64_t c = 0; c < s->d; c++) {
        box[2 * c] = INFINITY;
        box[2 * c + 1] = -INFINITY;
    }
    for (int64_t p = first; p < first + LEAF; p++) {
        uint8_t *to = s->packed + p / GROUP * GROUP * s->words * 4 + p % GROUP * 4;
        if (p >= last) {
            s->half[p] = EMPTY;
            continue;
        }
        const double *x = s->points + s->order[p] * s->d;
        double square, rest;
        quantise(s, x, v, &square, &rest);
        for (int64_t c = 0; c < s->d; c++) {
            pack_word(to, s->shorts, c, v[c]);
            const float y = (float)((x[c] - s->mid[c]) * s->per);
            if (y < box[2 * c]) box[2 * c] = y;
            if (y > box[2 * c + 1]) box[2 * c + 1] = y;
        }
        s->half[p] = (int32_t)floor(square / 2);
        most = fmax(most, rest);
    }
    const float margin = (float)(s->top * 2e-6); /* above the loss of single precision */
    for (int64_t c = 0; c < s->d; c++) {
        box[2 * c] -= margin;
        box[2 * c + 1] += margin;
    }
    j->rest[leaf] = most;
}

static geodec_status pack(coarse *s, geodec_pool *pool, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    pack_job j = {.s = s};
    GEODEC_NEW(j.rest, s->leaves);
    GEODEC_NEW(j.v, s->d * geodec_pool_threads(pool));
    geodec_mem_free(s->packed);
    s->packed = NULL;
    GEODEC_NEW(s->packed, s->leaves * LEAF * s->words * 4);
    geodec_pool_run_dynamic(pool, s->leaves, pack_leaf, &j);
    s->rest = 0;
    for (int64_t l = 0; l < s->leaves; l++) s->rest = fmax(s->rest, j.rest[l]);
done:
    GEODEC_FREE(j.rest, j.v);
    return st;
}

GEODEC__KNN_KTH(kth_largest, int32_t, >)

/* The lowest score of a point within `far` steps (U). */
static double lowest_score(const coarse *s, const block_query *a, double far)
{
    const double side = (far + a->rest + s->rest) * (1 + 1e-12);
    return floor(a->lift + (a->square - side * side) / 2) - 1;
}

/* The distance that the query's neighbours need not exceed, in steps; above the loss of the sum in float64. */
static double known_reach(const coarse *s, double bound) { return sqrt(bound) * s->per * (1 + 4e-9) + 2 * s->tiny; }

/* Raises the limit from the candidates found and drops those below it. *reach: U^2 in steps. */
static void raise_limit(const coarse *s, block_query *a, float *reach)
{
    geodec__knn_found *f = &a->found;
    const int64_t k = s->k + s->self; /* includes the point itself */
    int32_t heap[GEODEC__KNN_MAX_K + 2];
    if (f->count >= k) {
        const double score = (double)kth_largest(f->count, f->score, -1, k, heap) - a->lift;
        const double square = fmax(0, a->square - 2 * score) + 1; /* half of |v|^2 was rounded down: I <= this */
        const double far = (sqrt(square) + a->rest + s->rest) * (1 + 4e-9) + 2 * s->tiny;
        const double limit = lowest_score(s, a, far);
        const float now = (float)(far * far * (1 + 1e-4));
        if (limit > f->limit) f->limit = (int32_t)limit;
        if (now < *reach) *reach = now;
        int64_t kept = 0;
        for (int64_t i = 0; i < f->count; i++) {
            f->score[kept] = f->score[i];
            f->id[kept] = f->id[i];
            kept += f->score[i] >= f->limit;
        }
        f->count = kept;
    }
    if (f->count > ROOM - LEAF - SLACK) {
        a->overflowed = 1;
        f->limit = INT32_MAX;
        f->count = 0;
        *reach = -1;
    }
    a->next = f->count + SLACK < k + SLACK ? k + SLACK : f->count + SLACK;
}

static void visit(const coarse *s, worker *w, block_query *a, float *reach, int64_t leaf, uint64_t who)
{
    const int32_t *query[BLOCK];
    geodec__knn_found *found[BLOCK];
    int at[BLOCK];
    int64_t n = 0;
    query[0] = NULL;
    found[0] = NULL;
    for (; who; who &= who - 1) {
        const int q = __builtin_ctzll(who);
        query[n] = w->word + q * s->words;
        found[n] = &a[q].found;
        at[n++] = q;
    }
    s->scan(s->packed + leaf * LEAF * s->words * 4, LEAF / GROUP, s->words, s->half + leaf * LEAF,
            (int32_t)(leaf * LEAF), n, query, found);
    for (int64_t i = 0; i < n; i++)
        if (found[i]->count >= a[at[i]].next) raise_limit(s, &a[at[i]], &reach[at[i]]);
}

/* |a - b|^2 in four sums: fast, but not in the order of the result. */
static double quick(int64_t d, const double *a, const double *b)
{
    double s[4] = {0};
    int64_t c = 0;
    for (; c + 4 <= d; c += 4)
        for (int i = 0; i < 4; i++) s[i] += (a[c + i] - b[c + i]) * (a[c + i] - b[c + i]);
    for (; c < d; c++) s[0] += (a[c] - b[c]) * (a[c] - b[c]);
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static double bound_of(const coarse *s, int32_t q) { return s->part->bound ? s->part->bound[q] : INFINITY; }

/* Inserts point p into the best k, ordered by distance, then number. Distances above `most` are left out. */
static int64_t measure(const coarse *s, const double *query, int32_t p, double most, int64_t size, int32_t *index,
                       double *best)
{
    const double *x = s->points + p * s->d;
    const double worst = size == s->k ? best[size - 1] : most;
    double d2 = 0;
    /* two orders of summation differ by at most 2 d 2^-52, or by underflow */
    if (worst < INFINITY && quick(s->d, query, x) * (1 - 1e-9) - 1e-300 > worst) return size;
    for (int64_t c = 0; c < s->d; c++) d2 += (query[c] - x[c]) * (query[c] - x[c]);
    const int32_t id = s->part->id ? s->part->id[p] : p;
    if (d2 > worst || (d2 == worst && size == s->k && id > index[size - 1])) return size;
    int64_t i = size < s->k ? size++ : size - 1;
    for (; i > 0 && (best[i - 1] > d2 || (best[i - 1] == d2 && index[i - 1] > id)); i--) {
        best[i] = best[i - 1];
        index[i] = index[i - 1];
    }
    best[i] = d2;
    index[i] = id;
    return size;
}

/* A query with too many candidates: point by point, without leaves that are too far. Returns the number of points
 * measured. */
static int64_t search_points(const coarse *s, worker *w, int32_t q, int64_t *found)
{
    const double *query = s->queries + q * s->d, most = bound_of(s, q);
    int64_t size = 0, near = 0, measured = 0;
    for (int64_t l = 0; l < s->leaves; l++) {
        const float *box = s->box + l * s->d * 2;
        float sum = 0;
        for (int64_t c = 0; c < s->d; c++) {
            const float y = (float)((query[c] - s->mid[c]) * s->per), low = box[2 * c] - y, high = y - box[2 * c + 1];
            const float gap = low > high ? low : high;
            if (gap > 0) sum += gap * gap;
        }
        w->apart[l] = sum;
        if (sum < w->apart[near]) near = l;
    }
    for (int64_t t = 0; t < s->leaves; t++) {
        const int64_t l = near + t < s->leaves ? near + t : near + t - s->leaves;
        const double worst = (size == s->k ? w->best[size - 1] : most) * s->per * s->per + 4 * s->tiny * s->tiny;
        if ((double)w->apart[l] * (1 - 1e-3) > worst) continue;
        const int64_t end = (l + 1) * LEAF < s->n ? (l + 1) * LEAF : s->n;
        for (int64_t i = l * LEAF; i < end; i++) {
            const int32_t p = s->order[i];
            if (!s->self || p != q) size = measure(s, query, p, most, size, w->index, w->best);
        }
        measured += end - l * LEAF;
    }
    *found = size;
    return measured;
}

/* Returns the number of points measured. */
static int64_t finish(const coarse *s, worker *w, block_query *a, int32_t q)
{
    const double *query = s->queries + q * s->d, most = bound_of(s, q);
    geodec__knn_found *f = &a->found;
    int64_t size = 0, measured;
    int32_t heap[GEODEC__KNN_MAX_K + 2];
    float reach = INFINITY;
    if (!a->overflowed) raise_limit(s, a, &reach);
    if (a->overflowed) {
        measured = search_points(s, w, q, &size);
    } else {
        /* the nearest by score first: the fast sum then rejects most others */
        const int32_t good =
            f->count > s->k + s->self ? kth_largest(f->count, f->score, -1, s->k + s->self, heap) : INT32_MIN;
        for (int64_t i = 0; i < f->count; i++) {
            f->id[i] = s->order[f->id[i]];
            for (int64_t c = 0; c < s->d && c < 128; c += 8) __builtin_prefetch(s->points + f->id[i] * s->d + c);
        }
        for (int pass = 0; pass < 2; pass++)
            for (int64_t i = 0; i < f->count; i++)
                if ((f->score[i] >= good) == !pass && !(s->self && f->id[i] == q))
                    size = measure(s, query, f->id[i], most, size, w->index, w->best);
        measured = f->count;
    }
    for (; size < s->k; size++) {
        w->index[size] = -1;
        w->best[size] = INFINITY;
    }
    memcpy(s->index + q * s->k, w->index, (size_t)s->k * sizeof *w->index);
    if (s->dist2) memcpy(s->dist2 + q * s->k, w->best, (size_t)s->k * sizeof *w->best);
    return measured;
}

static void prepare(const coarse *s, worker *w, block_query *a, int64_t m, const int32_t *who)
{
    int32_t v[GEODEC__KNN_MAX_D];
    for (int64_t i = 0; i < m; i++) {
        const double *x = s->queries + who[i] * s->d;
        int32_t *word = w->word + i * s->words;
        double total = 0;
        a[i] = (block_query){.found = {w->score + i * (ROOM + 16), w->id + i * (ROOM + 16), 0, LOWEST}};
        quantise(s, x, v, &a[i].square, &a[i].rest);
        memset(word, 0, (size_t)s->words * sizeof *word);
        for (int64_t c = 0; c < s->d; c++) {
            total += v[c];
            if (s->shorts) {
                const int16_t y = (int16_t)v[c];
                memcpy((uint8_t *)word + 2 * c, &y, sizeof y);
            } else {
                const int8_t y = (int8_t)v[c];
                memcpy((uint8_t *)word + c, &y, sizeof y);
            }
            if (s->prune) w->y[c * BLOCK + i] = (float)((x[c] - s->mid[c]) * s->per);
        }
        a[i].lift = s->shorts ? 0 : 128 * total;
    }
}

/* Block `task` of queries; counts go to *candidates and *visited. */
static void block(const coarse *s, int64_t task, int me, int64_t *candidates, int64_t *visited)
{
    worker *w = &s->workers[me];
    block_query a[BLOCK];
    float reach[BLOCK], near[BLOCK];
    const int64_t q0 = task * BLOCK;
    const int64_t m = s->n_queries - q0 < BLOCK ? s->n_queries - q0 : BLOCK;
    const uint64_t all = m == BLOCK ? UINT64_MAX : (UINT64_C(1) << m) - 1;
    const int32_t *who = s->query_order + q0;
    int64_t own = q0 / LEAF, visits = 0;
    prepare(s, w, a, m, who);
    for (int q = 0; q < BLOCK; q++) reach[q] = q < m ? INFINITY : -1;
    for (int64_t i = 0; s->part->bound && i < m; i++) {
        const double far = known_reach(s, s->part->bound[who[i]]), limit = lowest_score(s, &a[i], far);
        if (limit > a[i].found.limit) a[i].found.limit = (int32_t)limit;
        reach[i] = (float)(far * far * (1 + 1e-4));
    }
    if (s->prune) {
        s->kernels->bounds(s->leaves, s->d, s->box, w->y, w->bound);
        for (int64_t l = 0; !s->self && l < s->leaves; l++)
            if (l == 0 || w->bound[l * BLOCK] < w->bound[own * BLOCK]) own = l;
        memset(w->seen, 0, (size_t)s->leaves * sizeof *w->seen);
    } else if (!s->self) {
        own = 0;
    }
    visit(s, w, a, reach, own, all);
    visits += m;
    for (int64_t i = 0; i < m; i++)
        if (!a[i].overflowed) raise_limit(s, &a[i], &reach[i]);
    if (s->prune) {
        w->seen[own] = all;
        /* near leaves first: their points exclude most others */
        for (int q = 0; q < BLOCK; q++) near[q] = reach[q] < 1e30f ? 0.25f * reach[q] : reach[q];
        for (int pass = 0; pass < 2; pass++)
            for (int64_t t = 1; t < s->leaves; t++) {
                const int64_t l = own + t < s->leaves ? own + t : own + t - s->leaves;
                const uint64_t go = s->kernels->within(w->bound + l * BLOCK, pass ? reach : near) & ~w->seen[l] & all;
                if (!go) continue;
                w->seen[l] |= go;
                visits += __builtin_popcountll(go);
                visit(s, w, a, reach, l, go);
            }
    } else {
        for (int64_t t = 1; t < s->leaves; t++)
            visit(s, w, a, reach, own + t < s->leaves ? own + t : own + t - s->leaves, all);
        visits = m * s->leaves;
    }
    *candidates = 0;
    for (int64_t i = 0; i < m; i++) *candidates += finish(s, w, &a[i], who[i]);
    *visited = visits;
}

static void run_pilot(void *ctx, int64_t number, int me)
{
    coarse *s = ctx;
    block(s, number * s->stride, me, &s->candidates[number], &s->visits[number]);
}

static void run_block(void *ctx, int64_t number, int me)
{
    const coarse *s = ctx;
    const int64_t task = s->first_task + number;
    int64_t candidates, visits;
    if (task % s->stride == 0 && task / s->stride < s->pilots) return; /* done by the pilot */
    block(s, task, me, &candidates, &visits);
}

/* Runs a few blocks and decides whether to go on with these integers. */
static int pilot(coarse *s, int64_t tasks, geodec_pool *pool)
{
    int64_t candidates = 0, visits = 0;
    s->pilots = tasks < PILOT ? tasks : PILOT;
    s->stride = tasks / s->pilots;
    geodec_pool_run_dynamic(pool, s->pilots, run_pilot, s);
    for (int64_t r = 0; r < s->pilots; r++) {
        candidates += s->candidates[r];
        visits += s->visits[r];
    }
    const double queries = (double)(s->pilots * BLOCK), each = (double)candidates / queries;
    if ((double)visits > 0.7 * queries * (double)s->leaves) s->prune = 0;
    /* Cost of a candidate: about a scan of a few hundred points, or fifty products. */
    return each <= 32 + 8 * (double)s->k + (double)s->n / (s->shorts ? 50 : 2000);
}

static geodec_status new_workers(coarse *s, int count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW(s->workers, count);
    for (int i = 0; i < count; i++) {
        worker *w = &s->workers[i];
        const int64_t room = BLOCK * (ROOM + 16), words = BLOCK * ((s->d + 1) / 2), boxes = s->prune ? s->leaves : 0;
        GEODEC_NEW(w->score, 2 * room + words + s->k);
        w->id = w->score + room, w->word = w->id + room, w->index = w->word + words;
        GEODEC_NEW(w->best, s->k);
        GEODEC_NEW(w->apart, s->leaves + BLOCK * (boxes + (s->prune ? s->d : 0)));
        w->bound = w->apart + s->leaves, w->y = w->bound + BLOCK * boxes;
        GEODEC_NEW(w->seen, boxes);
    }
done:
    return st;
}

static void clear(coarse *s, int count)
{
    for (int i = 0; s->workers && i < count; i++) {
        GEODEC_FREE(s->workers[i].score, s->workers[i].best, s->workers[i].apart, s->workers[i].seen);
    }
    geodec_mem_free(s->workers);
    if (s->query_order != s->order) geodec_mem_free(s->query_order);
    GEODEC_FREE(s->order, s->packed, s->half, s->box, s->mid);
}

/* order [n]: of the points, or as they are. */
static geodec_status place(const geodec_knn_part *part, int64_t n, int64_t d, const double *x, int32_t *order,
                           geodec_err *err)
{
    if (!part->ordered) return geodec_knn_order(n, d, x, order, err);
    for (int64_t i = 0; i < n; i++) order[i] = (int32_t)i;
    return GEODEC_OK;
}

geodec_status geodec__knn_coarse(const geodec__knn_kernels *kernels, const geodec_knn_part *part, int64_t n_points,
                                 int64_t d, const double *points, int64_t n_queries, const double *queries, int64_t k,
                                 int32_t *index, double *dist2, geodec_pool *pool, const geodec_hooks *hooks,
                                 int *done_out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int threads = geodec_pool_threads(pool);
    coarse s = {.kernels = kernels,
                .part = part,
                .n = n_points,
                .d = d,
                .k = k,
                .points = points,
                .queries = queries ? queries : points,
                .n_queries = queries ? n_queries : n_points,
                .self = !queries,
                .prune = d <= PRUNED_D,
                .leaves = (n_points + LEAF - 1) / LEAF,
                .index = index,
                .dist2 = dist2};
    const int64_t tasks = (s.n_queries + BLOCK - 1) / BLOCK;
    int chosen = 0;
    *done_out = 0;
    if (s.n_queries == 0) goto done;
    GEODEC_NEW(s.mid, d);
    GEODEC_TRY(choose_middle(&s, err));
    if (!choose_step(&s, 1)) goto done;
    GEODEC_NEW(s.order, n_points);
    GEODEC_TRY(place(part, n_points, d, points, s.order, err));
    s.query_order = s.order;
    if (!s.self) {
        s.query_order = NULL;
        GEODEC_NEW(s.query_order, n_queries);
        GEODEC_TRY(place(part, n_queries, d, queries, s.query_order, err));
    }
    GEODEC_NEW(s.half, s.leaves * LEAF);
    GEODEC_NEW(s.box, s.leaves * d * 2);
    GEODEC_TRY(new_workers(&s, threads, err));
    for (int shorts = kernels->bytes ? 0 : 1; shorts < 2 && !chosen; shorts++) {
        s.prune = d <= PRUNED_D;
        (void)choose_step(&s, shorts);
        GEODEC_TRY(pack(&s, pool, err));
        chosen = pilot(&s, tasks, pool);
    }
    if (!chosen) goto done;
    const int64_t piece = (int64_t)PIECE * threads;
    for (s.first_task = 0; s.first_task < tasks; s.first_task += piece) {
        GEODEC_TRY(geodec_hooks_progress(hooks, "neighbours", s.first_task * BLOCK, s.n_queries, err));
        geodec_pool_run_dynamic(pool, tasks - s.first_task < piece ? tasks - s.first_task : piece, run_block, &s);
    }
    *done_out = 1;
done:
    clear(&s, threads);
    return st;
}
