#include "neighbours/search.h"

#include "base/mem.h"
#include "linalg/knn.h"
#include "neighbours/parts_internal.h"
#include "neighbours/slabs_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROWS = 256 };

geodec_neighbours_options geodec_neighbours_defaults(void)
{
    return (geodec_neighbours_options){.k = 8, .memory = (int64_t)1 << 30, .scratch = "."};
}

/* Points that go around the ring. */
typedef struct points {
    int64_t slab; /* -1: none */
    double *x;
    int32_t *row;
} points;

typedef struct run {
    const geodec_neighbours_options *o;
    geodec_comm *comm;
    geodec_pool *pool;
    geodec_hooks hooks, outer; /* the search's own, which move the transfers on; the caller's */
    geodec__slabs points, queries;
    bool self;
    char key[320]; /* of the parts */
    int64_t d, k;
    geodec_neighbours_summary *summary;
    points now, next, going;
    geodec_comm_transfer sent[2], got[2];
    /* the slab of queries at hand */
    int64_t slab, n;
    double *x;      /* [n][d] */
    int32_t *row;   /* [n] */
    int32_t *index; /* [n][k] */
    double *dist2;  /* [n][k] */
    /* the queries that a slab of points concerns */
    double *near_x, *bound, *found2;
    int32_t *who, *found;
    /* results of finished slabs, without parts: [own query slabs] */
    geodec__part *kept;
} run;

/* ---- one slab of queries and one of points ---------------------------------------------------------------------- */

/* Squared distance to a box, summed as those of its points are: each gap is at most the rounded difference to any point
 * of the box, hence so is the sum. */
static double apart(int64_t d, const double *x, const double *box)
{
    double s = 0;
    for (int64_t c = 0; c < d; c++) {
        const double low = box[2 * c], high = box[2 * c + 1],
                     gap = x[c] < low    ? low - x[c]
                           : x[c] > high ? x[c] - high
                                         : 0;
        s += gap * gap;
    }
    return s;
}

/* The queries whose k-th distance so far reaches the slab. */
static int64_t gather(run *r, int64_t slab)
{
    const int64_t d = r->d, k = r->k;
    const double *box = r->points.box ? r->points.box + slab * d * 2 : NULL;
    int64_t n = 0;
    if (r->points.count[slab] == 0) return 0;
    for (int64_t i = 0; i < r->n; i++) {
        const double bound = r->dist2[i * k + k - 1];
        if (box && apart(d, r->x + i * d, box) > bound) continue;
        memcpy(r->near_x + n * d, r->x + i * d, (size_t)d * sizeof *r->x);
        r->bound[n] = bound;
        r->who[n++] = (int32_t)i;
    }
    return n;
}

/* Merges m found neighbours, in ascending order, into the k best of query i. */
static void merge(run *r, int64_t i, int64_t m, const int32_t *index, const double *dist2)
{
    const int64_t k = r->k;
    int32_t *own = r->index + i * k;
    double *best = r->dist2 + i * k;
    for (int64_t j = 0; j < m && index[j] >= 0; j++) {
        const double d2 = dist2[j];
        int64_t at = k - 1;
        if (own[at] >= 0 && (best[at] < d2 || (best[at] == d2 && own[at] < index[j]))) break;
        for (; at > 0 && (own[at - 1] < 0 || best[at - 1] > d2 || (best[at - 1] == d2 && own[at - 1] > index[j]));
             at--) {
            own[at] = own[at - 1];
            best[at] = best[at - 1];
        }
        own[at] = index[j];
        best[at] = d2;
    }
}

/* Searches the gathered queries among a slab of points. */
static geodec_status search_slab(run *r, int64_t near, const points *p, geodec_err *err)
{
    const int64_t m = r->points.count[p->slab], k = r->k < m ? r->k : m;
    const geodec_knn_part part = {.id = p->row, .bound = r->bound, .ordered = r->points.ordered};
    GEODEC_PASS(
        geodec_knn_search_part(&part, m, r->d, p->x, near, r->near_x, k, r->found, r->found2, r->pool, &r->hooks, err));
    for (int64_t i = 0; i < near; i++) merge(r, r->who[i], k, r->found + i * k, r->found2 + i * k);
    r->summary->pairs += near;
    return GEODEC_OK;
}

/* Begins with a slab of queries; in a search of points among themselves, with its own points. */
static geodec_status begin_queries(run *r, int64_t slab, geodec_err *err)
{
    const int64_t k = r->k;
    r->slab = slab;
    r->n = r->queries.count[slab];
    GEODEC_PASS(geodec__slabs_read(&r->queries, slab, r->x, r->row, err));
    for (int64_t i = 0; i < r->n * k; i++) {
        r->index[i] = -1;
        r->dist2[i] = INFINITY;
    }
    const int64_t own = k < r->n - 1 ? k : r->n - 1;
    if (!r->self || own < 1) return GEODEC_OK;
    const geodec_knn_part part = {.id = r->row, .ordered = r->points.ordered};
    GEODEC_PASS(
        geodec_knn_search_part(&part, r->n, r->d, r->x, 0, NULL, own, r->found, r->found2, r->pool, &r->hooks, err));
    for (int64_t i = 0; i < r->n; i++) merge(r, i, own, r->found + i * own, r->found2 + i * own);
    r->summary->pairs += r->n;
    return GEODEC_OK;
}

typedef struct place {
    int32_t row;
    int32_t at;
} place;

static int by_row(const void *pa, const void *pb)
{
    const place *a = pa, *b = pb;
    return (a->row > b->row) - (a->row < b->row);
}

/* The results in ascending order of rows, in new memory. */
static geodec_status result(const run *r, geodec__part *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__part p = {.n = r->n, .k = r->k};
    place *order = NULL;
    GEODEC_NEW(order, r->n);
    GEODEC_NEW(p.row, r->n);
    GEODEC_NEW(p.index, r->n * r->k);
    GEODEC_NEW(p.dist2, r->n * r->k);
    for (int64_t i = 0; i < r->n; i++) order[i] = (place){r->row[i], (int32_t)i};
    if (r->queries.ordered) qsort(order, (size_t)r->n, sizeof *order, by_row);
    for (int64_t i = 0; i < r->n; i++) {
        p.row[i] = order[i].row;
        memcpy(p.index + i * r->k, r->index + order[i].at * r->k, (size_t)r->k * sizeof *p.index);
        memcpy(p.dist2 + i * r->k, r->dist2 + order[i].at * r->k, (size_t)r->k * sizeof *p.dist2);
    }
    *out = p;
    p = (geodec__part){0};
done:
    geodec_mem_free(order);
    GEODEC_FREE(p.row, p.index, p.dist2);
    return st;
}

static geodec_status end_queries(run *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__part p = {0};
    GEODEC_TRY(result(r, &p, err));
    if (r->kept) {
        GEODEC_MOVE(r->kept[r->slab - r->queries.own_first], p);
    } else {
        GEODEC_TRY(geodec__parts_write(r->o->parts, r->key, r->slab, &p, err));
    }
done:
    GEODEC_FREE(p.row, p.index, p.dist2);
    return st;
}

/* ---- the ring --------------------------------------------------------------------------------------------------- */

static int64_t bytes_x(const run *r, int64_t slab)
{
    return slab < 0 ? 0 : r->points.count[slab] * r->d * (int64_t)sizeof(double);
}
static int64_t bytes_row(const run *r, int64_t slab)
{
    return slab < 0 ? 0 : r->points.count[slab] * (int64_t)sizeof(int32_t);
}

/* The j-th slab of a rank, -1 beyond its last. */
static int64_t slab_of(const run *r, int rank, int64_t j)
{
    int64_t first, end;
    geodec_comm_range(r->comm, r->points.n, rank, &first, &end);
    return first + j < end ? first + j : -1;
}

/* Begins to pass `now` on and to receive slab `next`. */
static geodec_status shift_begin(run *r, int64_t next, geodec_err *err)
{
    const int rank = geodec_comm_rank(r->comm), size = geodec_comm_size(r->comm);
    const int right = (rank + 1) % size, left = (rank - 1 + size) % size;
    r->next.slab = next;
    GEODEC_PASS(geodec_comm_receive(r->comm, left, r->next.x, bytes_x(r, next), &r->got[0], err));
    GEODEC_PASS(geodec_comm_receive(r->comm, left, r->next.row, bytes_row(r, next), &r->got[1], err));
    GEODEC_PASS(geodec_comm_send(r->comm, right, r->now.x, bytes_x(r, r->now.slab), &r->sent[0], err));
    GEODEC_PASS(geodec_comm_send(r->comm, right, r->now.row, bytes_row(r, r->now.slab), &r->sent[1], err));
    r->summary->received += bytes_x(r, next) + bytes_row(r, next);
    return GEODEC_OK;
}

static geodec_status shift_end(run *r, geodec_err *err)
{
    for (int i = 0; i < 2; i++) {
        GEODEC_PASS(geodec_comm_wait(r->comm, &r->got[i], err));
        GEODEC_PASS(geodec_comm_wait(r->comm, &r->sent[i], err));
    }
    const points t = r->now;
    r->now = r->next;
    r->next = t;
    return GEODEC_OK;
}

/* The progress hook of the search moves the transfers on. */
static int on_progress(void *ctx, const char *what, int64_t done, int64_t total)
{
    run *r = ctx;
    bool ended;
    for (int i = 0; i < 2; i++)
        if (geodec_comm_poll(r->comm, &r->got[i], &ended, NULL) != GEODEC_OK ||
            geodec_comm_poll(r->comm, &r->sent[i], &ended, NULL) != GEODEC_OK)
            return 1;
    (void)done, (void)total;
    return r->outer.progress ? r->outer.progress(r->outer.ctx, what, r->slab - r->queries.own_first,
                                                 r->queries.own_end - r->queries.own_first)
                             : 0;
}

/* The j-th slabs of all ranks pass by. */
static geodec_status go_round(run *r, int64_t j, bool busy, geodec_err *err)
{
    const int rank = geodec_comm_rank(r->comm), size = geodec_comm_size(r->comm);
    r->now.slab = slab_of(r, rank, j);
    if (r->now.slab >= 0) GEODEC_PASS(geodec__slabs_read(&r->points, r->now.slab, r->now.x, r->now.row, err));
    for (int t = 0; t < size; t++) {
        if (t + 1 < size) GEODEC_PASS(shift_begin(r, slab_of(r, (rank - t - 1 + size) % size, j), err));
        if (busy && r->now.slab >= 0 && !(r->self && r->now.slab == r->slab)) {
            const int64_t near = gather(r, r->now.slab);
            if (near > 0) GEODEC_PASS(search_slab(r, near, &r->now, err));
        }
        if (t + 1 < size) GEODEC_PASS(shift_end(r, err));
    }
    return GEODEC_OK;
}

typedef struct near_slab {
    double apart;
    int64_t slab;
} near_slab;

static int by_apart(const void *pa, const void *pb)
{
    const near_slab *a = pa, *b = pb;
    if (a->apart != b->apart) return a->apart < b->apart ? -1 : 1;
    return (a->slab > b->slab) - (a->slab < b->slab);
}

static double boxes_apart(int64_t d, const double *a, const double *b)
{
    double s = 0;
    for (int64_t c = 0; c < d; c++) {
        const double gap = fmax(0, fmax(b[2 * c] - a[2 * c + 1], a[2 * c] - b[2 * c + 1]));
        s += gap * gap;
    }
    return s;
}

/* One process: all slabs of points, the nearest first, and only those that a query needs. */
static geodec_status go_alone(run *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    near_slab *order = NULL;
    const int64_t n = r->points.n, d = r->d;
    GEODEC_NEW(order, n);
    for (int64_t s = 0; s < n; s++) {
        order[s].slab = s;
        if (r->self && r->points.box)
            order[s].apart = boxes_apart(d, r->points.box + r->slab * d * 2, r->points.box + s * d * 2);
    }
    qsort(order, (size_t)n, sizeof *order, by_apart);
    for (int64_t i = 0; i < n; i++) {
        const int64_t s = order[i].slab;
        if (r->self && s == r->slab) continue;
        const int64_t near = gather(r, s);
        if (near == 0) continue;
        r->now.slab = s;
        GEODEC_TRY(geodec__slabs_read(&r->points, s, r->now.x, r->now.row, err));
        GEODEC_TRY(search_slab(r, near, &r->now, err));
    }
done:
    geodec_mem_free(order);
    return st;
}

/* Searches for the `n` own query slabs of `todo`; other ranks may have more. */
static geodec_status rounds(run *r, int64_t n, const int64_t *todo, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t most = n, widest = 0, *all = NULL;
    const int size = geodec_comm_size(r->comm);
    GEODEC_NEW(all, size);
    GEODEC_TRY(geodec_comm_share(r->comm, &n, (int64_t)sizeof n, all, err));
    for (int i = 0; i < size; i++) {
        int64_t first, end;
        geodec_comm_range(r->comm, r->points.n, i, &first, &end);
        if (end - first > widest) widest = end - first;
        if (all[i] > most) most = all[i];
    }
    for (int64_t i = 0; i < most; i++) {
        if (i < n) {
            if (r->o->parts) GEODEC_TRY(geodec__parts_claim(r->o->parts, todo[i], r->comm, err));
            GEODEC_TRY_MSG(begin_queries(r, todo[i], err), "slab %lld", (long long)todo[i]);
        }
        if (size == 1)
            GEODEC_TRY_MSG(go_alone(r, err), "slab %lld", (long long)todo[i]);
        else
            for (int64_t j = 0; j < widest; j++)
                GEODEC_TRY_MSG(go_round(r, j, i < n, err), "slab %lld", (long long)(i < n ? todo[i] : -1));
        if (i < n) GEODEC_TRY(end_queries(r, err));
    }
done:
    geodec_mem_free(all);
    return st;
}

/* ---- results held in memory ------------------------------------------------------------------------------------- */

static geodec_status receive_part(run *r, int from, geodec__part *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_comm_transfer t;
    GEODEC_NEW(p->row, p->n);
    GEODEC_NEW(p->index, p->n * p->k);
    GEODEC_NEW(p->dist2, p->n * p->k);
    void *const to[] = {p->row, p->index, p->dist2};
    const int64_t bytes[] = {p->n * 4, p->n * p->k * 4, p->n * p->k * 8};
    for (int i = 0; i < 3; i++) {
        GEODEC_TRY(geodec_comm_receive(r->comm, from, to[i], bytes[i], &t, err));
        GEODEC_TRY(geodec_comm_wait(r->comm, &t, err));
    }
done:
    return st;
}

static geodec_status send_part(run *r, const geodec__part *p, geodec_err *err)
{
    geodec_comm_transfer t;
    const void *const from[] = {p->row, p->index, p->dist2};
    const int64_t bytes[] = {p->n * 4, p->n * p->k * 4, p->n * p->k * 8};
    for (int i = 0; i < 3; i++) {
        GEODEC_PASS(geodec_comm_send(r->comm, 0, from[i], bytes[i], &t, err));
        GEODEC_PASS(geodec_comm_wait(r->comm, &t, err));
    }
    return GEODEC_OK;
}

/* Collects the slabs on rank 0 and passes them to the sink. */
static geodec_status collect(run *r, int64_t rows, geodec_neighbours_sink sink, void *ctx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *index = NULL;
    double *dist2 = NULL;
    geodec__part p = {0};
    const int64_t k = r->k;
    const int rank = geodec_comm_rank(r->comm), size = geodec_comm_size(r->comm);
    if (rank > 0) {
        for (int64_t s = r->queries.own_first; s < r->queries.own_end; s++)
            GEODEC_TRY(send_part(r, &r->kept[s - r->queries.own_first], err));
        goto done;
    }
    if (size == 1 && r->queries.n == 1) { /* already in order */
        GEODEC_TRY(sink(ctx, 0, rows, r->kept[0].index, r->kept[0].dist2, err));
        goto done;
    }
    GEODEC_NEW(index, rows * k);
    GEODEC_NEW(dist2, rows * k);
    for (int from = 0; from < size; from++) {
        int64_t first, end;
        geodec_comm_range(r->comm, r->queries.n, from, &first, &end);
        for (int64_t s = first; s < end; s++) {
            p = (geodec__part){.n = r->queries.count[s], .k = k};
            if (from == 0)
                GEODEC_MOVE(p, r->kept[s - first]);
            else
                GEODEC_TRY(receive_part(r, from, &p, err));
            for (int64_t i = 0; i < p.n; i++) {
                if (p.row[i] < 0 || p.row[i] >= rows)
                    GEODEC_THROW(GEODEC_INTERNAL, "row %d from rank %d", p.row[i], from);
                memcpy(index + p.row[i] * k, p.index + i * k, (size_t)k * sizeof *index);
                memcpy(dist2 + p.row[i] * k, p.dist2 + i * k, (size_t)k * sizeof *dist2);
            }
            GEODEC_FREE(p.row, p.index, p.dist2);
            p = (geodec__part){0};
        }
    }
    GEODEC_TRY(sink(ctx, 0, rows, index, dist2, err));
done:
    GEODEC_FREE(index, dist2, p.row, p.index, p.dist2);
    return st;
}

/* ---- sizes and order -------------------------------------------------------------------------------------------- */

int64_t geodec__neighbours_slabs(const geodec_neighbours_options *o, int64_t rows, int64_t d)
{
    /* bytes of a row: queries and those near (16 d), points at hand, to come and to order (16 d), rounded (2 d), own
     * and found results (24 k), and the orders of a search */
    const double room = (double)o->memory * (d <= GEODEC__SLABS_COMPACT_D ? 0.75 : 1),
                 each = 34.0 * (double)d + 24.0 * (double)o->k + 80;
    const double most = room / each < LEAST_ROWS ? LEAST_ROWS : room / each;
    int64_t n = (int64_t)ceil((double)rows / most);
    if (n < o->slabs) n = o->slabs;
    const int64_t size = geodec_comm_size(o->comm);
    n = (n + size - 1) / size * size; /* every rank has as many */
    return n < rows ? n : rows;
}

bool geodec_neighbours_divided(const geodec_neighbours_source *p, const geodec_neighbours_source *q,
                               const geodec_neighbours_options *o)
{
    return geodec__neighbours_slabs(o, p->rows, p->d) > 1 ||
           (q && q->rows > 0 && geodec__neighbours_slabs(o, q->rows, q->d) > 1);
}

static geodec_status new_buffers(run *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t q = r->queries.most, p = r->points.most, d = r->d, k = r->k;
    GEODEC_NEW_EACH(q * d, r->x, r->near_x);
    GEODEC_NEW_EACH(q, r->row, r->who);
    GEODEC_NEW(r->bound, q);
    GEODEC_NEW_EACH(q * k, r->index, r->found);
    GEODEC_NEW_EACH(q * k, r->dist2, r->found2);
    if (r->self && r->points.n == 1) goto done; /* its own points are all */
    GEODEC_NEW(r->now.x, p * d);
    GEODEC_NEW(r->now.row, p);
    if (geodec_comm_size(r->comm) == 1) goto done;
    GEODEC_NEW(r->next.x, p * d);
    GEODEC_NEW(r->next.row, p);
done:
    return st;
}

static void clear(run *r)
{
    for (int64_t s = 0; r->kept && s < r->queries.own_end - r->queries.own_first; s++)
        GEODEC_FREE(r->kept[s].row, r->kept[s].index, r->kept[s].dist2);
    if (!r->self) geodec__slabs_clear(&r->queries);
    geodec__slabs_clear(&r->points);
    GEODEC_FREE(r->now.x, r->now.row, r->next.x, r->next.row);
    GEODEC_FREE(r->x, r->row, r->index, r->dist2, r->near_x, r->bound, r->found2, r->who);
    GEODEC_FREE(r->found, r->kept);
}

/* Looks up which query slabs are finished, and tells every rank. */
static geodec_status look(run *r, uint8_t *done_slabs, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = r->queries.n;
    if (!r->o->parts) return GEODEC_OK;
    (void)snprintf(r->key, sizeof r->key, "%.100s slabs %lld %lld", r->o->key, (long long)r->points.n, (long long)n);
    if (geodec_comm_rank(r->comm) == 0)
        st = geodec__parts_look(r->o->parts, r->key, n, r->k, r->o->replace, done_slabs, &r->outer, err);
    GEODEC_TRY(geodec_comm_agree(r->comm, st, err));
    GEODEC_TRY(geodec_comm_broadcast(r->comm, done_slabs, n, err));
    for (int64_t s = 0; s < n; s++) r->summary->resumed += done_slabs[s];
done:
    return st;
}

static geodec_status check(const geodec_neighbours_source *p, const geodec_neighbours_source *q,
                           const geodec_neighbours_options *o, geodec_err *err)
{
    if (p->rows < 1 || p->rows > INT32_MAX || p->d < 1 || p->d > INT32_MAX ||
        (q && (q->rows < 0 || q->rows > INT32_MAX)))
        GEODEC_FAIL(GEODEC_RANGE, "neighbours among %lld points of dimension %lld", (long long)p->rows,
                    (long long)p->d);
    if (q && q->d != p->d)
        GEODEC_FAIL(GEODEC_RANGE, "queries of dimension %lld among points of dimension %lld", (long long)q->d,
                    (long long)p->d);
    if (o->k < 1 || o->k > p->rows - !q)
        GEODEC_FAIL(GEODEC_RANGE, "%lld neighbours requested of %lld points", (long long)o->k, (long long)p->rows);
    return GEODEC_OK;
}

/* The counts of all ranks. */
static geodec_status add_up(geodec_comm *comm, geodec_neighbours_summary *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t own[2] = {s->pairs, s->received}, (*all)[2] = NULL;
    GEODEC_NEW(all, geodec_comm_size(comm));
    GEODEC_TRY(geodec_comm_share(comm, own, sizeof own, all, err));
    s->pairs = s->received = 0;
    for (int r = 0; r < geodec_comm_size(comm); r++) {
        s->pairs += all[r][0];
        s->received += all[r][1];
    }
done:
    geodec_mem_free(all);
    return st;
}

geodec_status geodec_neighbours_search(const geodec_neighbours_source *p, const geodec_neighbours_source *q,
                                       const geodec_neighbours_options *o, geodec_neighbours_sink sink, void *ctx,
                                       geodec_pool *pool, const geodec_hooks *hooks, geodec_neighbours_summary *summary,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_neighbours_summary own = {0};
    run r = {.o = o, .comm = o->comm, .pool = pool, .self = !q, .d = p->d, .k = o->k, .summary = &own};
    uint8_t *finished = NULL;
    int64_t *todo = NULL, n = 0;
    r.points.file = r.queries.file = -1;
    if (hooks) r.outer = *hooks;
    r.hooks = (geodec_hooks){&r, NULL, on_progress};
    st = check(p, q, o, err);
    if (st == GEODEC_OK)
        st = geodec__slabs_make(p, geodec__neighbours_slabs(o, p->rows, p->d), !q, o->comm, o->memory / 4, o->scratch,
                                hooks, &r.points, err);
    if (st == GEODEC_OK && q)
        st = geodec__slabs_make(q, q->rows ? geodec__neighbours_slabs(o, q->rows, q->d) : 0, false, o->comm, 0,
                                o->scratch, hooks, &r.queries, err);
    if (st == GEODEC_OK && !q) r.queries = r.points;
    if (st == GEODEC_OK) st = new_buffers(&r, err);
    GEODEC_TRY(geodec_comm_agree(o->comm, st, err));
    own.slabs = r.points.n;
    own.query_slabs = r.queries.n;
    own.ordered = r.points.ordered;
    GEODEC_NEW(finished, r.queries.n + 1);
    GEODEC_NEW(todo, r.queries.n + 1);
    GEODEC_TRY(look(&r, finished, err));
    if (!o->parts) GEODEC_NEW(r.kept, r.queries.own_end - r.queries.own_first + 1);
    for (int64_t s = r.queries.own_first; s < r.queries.own_end; s++)
        if (!finished[s]) todo[n++] = s;
    GEODEC_TRY(rounds(&r, n, todo, err));
    GEODEC_TRY(add_up(o->comm, &own, err));
    const int64_t rows = q ? q->rows : p->rows;
    if (!o->parts)
        GEODEC_TRY(collect(&r, rows, sink, ctx, err));
    else if (geodec_comm_rank(o->comm) == 0)
        GEODEC_TRY(geodec__parts_join(o->parts, r.queries.n, rows, r.k, sink, ctx, hooks, err));
    if (summary) *summary = own;
done:
    /* when a rank is killed the launcher stops the others; the slab of the killed one is among these */
    if (st == GEODEC_INTERRUPTED && o->comm && o->parts && geodec_comm_rank(o->comm) == 0)
        geodec__parts_held(o->parts, hooks);
    clear(&r);
    GEODEC_FREE(finished, todo);
    return st;
}
