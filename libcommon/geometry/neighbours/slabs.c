#include "base/mem.h"
#include "linalg/knn.h"
#include "neighbours/slabs_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNS = 1024, RUN = 64, GATHERED = 256 /* rows of a slab between two writes */ };

/* ---- division by medians of a sample ---------------------------------------------------------------------------- */

typedef struct node {
    int64_t slab, n; /* slabs below; n = 1: a leaf */
    int64_t axis, left, right;
    double cut; /* below: left */
} node;

typedef struct tree {
    int64_t n, d;
    node *node;
    double *x;    /* [sample][d] */
    int32_t *who; /* [sample] */
    double *value;
} tree;

static int by_value(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

/* The coordinate of largest variance. */
static int64_t widest(const tree *t, int64_t n, const int32_t *who)
{
    int64_t best = 0;
    double most = -1;
    for (int64_t c = 0; c < t->d; c++) {
        double s = 0, ss = 0;
        for (int64_t i = 0; i < n; i++) {
            const double y = t->x[who[i] * t->d + c] - t->x[who[0] * t->d + c];
            s += y;
            ss += y * y;
        }
        if (n > 0 && ss - s * s / (double)n > most) {
            most = ss - s * s / (double)n;
            best = c;
        }
    }
    return best;
}

/* Divides the n samples `who` among `slabs` slabs; returns the number of the node. */
static int64_t divide(tree *t, int64_t n, int32_t *who, int64_t slab, int64_t slabs)
{
    const int64_t me = t->n++;
    t->node[me] = (node){.slab = slab, .n = slabs};
    if (slabs == 1) return me;
    const int64_t half = slabs / 2, axis = widest(t, n, who);
    for (int64_t i = 0; i < n; i++) t->value[i] = t->x[who[i] * t->d + axis];
    if (n > 0) qsort(t->value, (size_t)n, sizeof *t->value, by_value);
    const double cut = n > 0 ? t->value[n * half / slabs] : 0;
    int64_t left = 0;
    for (int64_t i = 0; i < n; i++)
        if (t->x[who[i] * t->d + axis] < cut) {
            const int32_t w = who[i];
            who[i] = who[left];
            who[left++] = w;
        }
    const int64_t a = divide(t, left, who, slab, half);
    const int64_t b = divide(t, n - left, who + left, slab + half, slabs - half);
    t->node[me].axis = axis;
    t->node[me].cut = cut;
    t->node[me].left = a;
    t->node[me].right = b;
    return me;
}

static int64_t slab_of(const tree *t, const double *x)
{
    const node *a = t->node;
    while (a->n > 1) a = t->node + (x[a->axis] < a->cut ? a->left : a->right);
    return a->slab;
}

static geodec_status grow(const geodec_neighbours_source *source, int64_t slabs, tree *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t n = 0;
    t->d = source->d;
    GEODEC_NEW(t->node, 2 * slabs);
    GEODEC_NEW(t->x, (int64_t)RUNS * RUN * t->d);
    GEODEC_NEW(t->who, RUNS * RUN);
    GEODEC_NEW(t->value, RUNS * RUN);
    const int64_t runs = source->rows / RUN < RUNS ? source->rows / RUN + 1 : RUNS;
    for (int64_t r = 0; r < runs; r++) {
        const int64_t first = r * (source->rows / runs), left = source->rows - first, m = left < RUN ? left : RUN;
        GEODEC_TRY(source->read(source->ctx, first, m, t->x + n * t->d, err));
        n += m;
    }
    for (int64_t i = 0; i < n; i++) t->who[i] = (int32_t)i;
    (void)divide(t, n, t->who, 0, slabs);
done:
    GEODEC_FREE(t->x, t->who, t->value);
    t->x = t->value = NULL;
    t->who = NULL;
    return st;
}

/* ---- storage ---------------------------------------------------------------------------------------------------- */

static geodec_status unnamed_file(const char *folder, int *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *name = NULL;
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) { /* not on every file system */
        GEODEC_TRY(geodec_mem_print(&name, err, "%s/.points-XXXXXX", folder));
        fd = mkstemp(name);
        if (fd >= 0) (void)unlink(name);
    }
    if (fd < 0) GEODEC_THROW(GEODEC_IO, "%s: cannot create a temporary file: %s", folder, strerror(errno));
    *out = fd;
done:
    geodec_mem_free(name);
    return st;
}

/* Reads or writes n bytes at an offset. */
static geodec_status transfer(int fd, bool out, void *data, int64_t n, int64_t at, geodec_err *err)
{
    char *p = data;
    while (n > 0) {
        const ssize_t done = out ? pwrite(fd, p, (size_t)n, at) : pread(fd, p, (size_t)n, at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0)
            GEODEC_FAIL(GEODEC_IO, "temporary file of points: %s", done < 0 ? strerror(errno) : "it became shorter");
        p += done;
        n -= done;
        at += done;
    }
    return GEODEC_OK;
}

/* Copies rows at, at + 1, .. of the own slabs in or out. */
static geodec_status move(const geodec__slabs *s, bool out, int64_t at, int64_t n, double *x, int32_t *row,
                          geodec_err *err)
{
    const int64_t d = s->source->d, base = s->first[s->own_first],
                  end = s->first[s->own_end - 1] + s->count[s->own_end - 1];
    const int64_t bytes = n * d * (int64_t)sizeof *x, i = at - base, total = end - base;
    if (n == 0) return GEODEC_OK;
    if (s->file < 0) {
        if (out) {
            memcpy(s->x + i * d, x, (size_t)bytes);
            memcpy(s->row + i, row, (size_t)n * sizeof *row);
        } else {
            memcpy(x, s->x + i * d, (size_t)bytes);
            memcpy(row, s->row + i, (size_t)n * sizeof *row);
        }
        return GEODEC_OK;
    }
    GEODEC_PASS(transfer(s->file, out, x, bytes, i * d * (int64_t)sizeof *x, err));
    GEODEC_PASS(transfer(s->file, out, row, n * (int64_t)sizeof *row,
                         total * d * (int64_t)sizeof *x + i * (int64_t)sizeof *row, err));
    return GEODEC_OK;
}

geodec_status geodec__slabs_read(const geodec__slabs *s, int64_t slab, double *x, int32_t *row, geodec_err *err)
{
    if (s->ordered) return move(s, false, s->first[slab], s->count[slab], x, row, err);
    for (int64_t i = 0; i < s->count[slab]; i += GEODEC__SLABS_READ) {
        const int64_t left = s->count[slab] - i, n = left < GEODEC__SLABS_READ ? left : GEODEC__SLABS_READ;
        GEODEC_PASS(s->source->read(s->source->ctx, s->first[slab] + i, n, x + i * s->source->d, err));
    }
    for (int64_t i = 0; i < s->count[slab]; i++) row[i] = (int32_t)(s->first[slab] + i);
    return GEODEC_OK;
}

/* ---- passes ----------------------------------------------------------------------------------------------------- */

typedef geodec_status (*each_row)(void *ctx, int64_t row, const double *x, geodec_err *err);

static geodec_status all_rows(const geodec_neighbours_source *source, const char *what, const geodec_hooks *hooks,
                              each_row fn, void *ctx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL;
    GEODEC_NEW(x, GEODEC__SLABS_READ * source->d);
    for (int64_t r = 0; r < source->rows; r += GEODEC__SLABS_READ) {
        const int64_t n = source->rows - r < GEODEC__SLABS_READ ? source->rows - r : GEODEC__SLABS_READ;
        GEODEC_TRY(geodec_hooks_progress(hooks, what, r, source->rows, err));
        GEODEC_TRY(source->read(source->ctx, r, n, x, err));
        for (int64_t i = 0; i < n; i++) GEODEC_TRY(fn(ctx, r + i, x + i * source->d, err));
    }
done:
    geodec_mem_free(x);
    return st;
}

typedef struct pass {
    geodec__slabs *s;
    const tree *t;
    double *x;      /* [own slabs][GATHERED][d] */
    int32_t *row;   /* [own slabs][GATHERED] */
    int64_t *held;  /* [own slabs] */
    int64_t *place; /* [own slabs] next row of the slab */
} pass;

static geodec_status count_row(void *ctx, int64_t row, const double *x, geodec_err *err)
{
    const pass *p = ctx;
    const int64_t d = p->s->source->d, slab = slab_of(p->t, x);
    double *box = p->s->box + slab * d * 2;
    for (int64_t c = 0; c < d; c++) {
        if (!isfinite(x[c])) GEODEC_FAIL(GEODEC_NUMERIC, "row %lld is not finite", (long long)row);
        if (x[c] < box[2 * c]) box[2 * c] = x[c];
        if (x[c] > box[2 * c + 1]) box[2 * c + 1] = x[c];
    }
    p->s->count[slab]++;
    return GEODEC_OK;
}

static geodec_status flush(const pass *p, int64_t own, geodec_err *err)
{
    const int64_t n = p->held[own], d = p->s->source->d, slab = p->s->own_first + own;
    if (p->place[own] + n > p->s->first[slab] + p->s->count[slab])
        GEODEC_FAIL(GEODEC_IO, "the points changed while they were read");
    GEODEC_PASS(move(p->s, true, p->place[own], n, p->x + own * GATHERED * d, p->row + own * GATHERED, err));
    p->place[own] += n;
    p->held[own] = 0;
    return GEODEC_OK;
}

static geodec_status keep_row(void *ctx, int64_t row, const double *x, geodec_err *err)
{
    const pass *p = ctx;
    const int64_t slab = slab_of(p->t, x), own = slab - p->s->own_first, d = p->s->source->d;
    if (slab < p->s->own_first || slab >= p->s->own_end) return GEODEC_OK;
    memcpy(p->x + (own * GATHERED + p->held[own]) * d, x, (size_t)d * sizeof *x);
    p->row[own * GATHERED + p->held[own]] = (int32_t)row;
    if (++p->held[own] == GATHERED) GEODEC_PASS(flush(p, own, err));
    return GEODEC_OK;
}

/* Puts the rows of an own slab into scanning order. */
static geodec_status arrange(const geodec__slabs *s, int64_t slab, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = s->source->d, n = s->count[slab];
    double *x = NULL, *y = NULL;
    int32_t *row = NULL, *to = NULL, *order = NULL;
    if (n == 0) goto done;
    GEODEC_NEW_EACH(n * d, x, y);
    GEODEC_NEW_EACH(n, row, to, order);
    GEODEC_TRY(geodec__slabs_read(s, slab, x, row, err));
    GEODEC_TRY(geodec_knn_order(n, d, x, order, err));
    for (int64_t i = 0; i < n; i++) {
        memcpy(y + i * d, x + order[i] * d, (size_t)d * sizeof *y);
        to[i] = row[order[i]];
    }
    GEODEC_TRY(move(s, true, s->first[slab], n, y, to, err));
done:
    GEODEC_FREE(x, y, row, to, order);
    return st;
}

static void set_first(geodec__slabs *s)
{
    s->most = 0;
    for (int64_t i = 0, at = 0; i < s->n; i++) {
        s->first[i] = at;
        at += s->count[i];
        if (s->count[i] > s->most) s->most = s->count[i];
    }
}

static void runs_of_rows(geodec__slabs *s)
{
    const int64_t rows = s->source->rows;
    s->ordered = false;
    for (int64_t i = 0; i < s->n; i++) /* without the overflow of i rows */
        s->count[i] = rows / s->n + (rows % s->n * (i + 1) / s->n - rows % s->n * i / s->n);
    set_first(s);
}

/* Compact slabs; false when they are too unequal (many equal points). */
static geodec_status compact(geodec__slabs *s, int64_t memory, const char *scratch, const geodec_hooks *hooks,
                             bool *made, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    tree t = {0};
    pass p = {.s = s, .t = &t};
    const int64_t d = s->source->d, rows = s->source->rows, own = s->own_end - s->own_first;
    *made = false;
    GEODEC_TRY(grow(s->source, s->n, &t, err));
    GEODEC_NEW(s->box, s->n * d * 2);
    for (int64_t i = 0; i < s->n * d; i++) {
        s->box[2 * i] = INFINITY;
        s->box[2 * i + 1] = -INFINITY;
    }
    GEODEC_TRY(all_rows(s->source, "dividing points, pass 1", hooks, count_row, &p, err));
    set_first(s);
    if (s->most > 2 * (rows / s->n) + 64) goto done;
    *made = s->ordered = true;
    if (own == 0) goto done;
    const int64_t kept = s->first[s->own_end - 1] + s->count[s->own_end - 1] - s->first[s->own_first];
    if (kept * (8 * d + 4) <= memory) {
        GEODEC_NEW(s->x, kept * d);
        GEODEC_NEW(s->row, kept);
    } else {
        GEODEC_TRY(unnamed_file(scratch, &s->file, err));
    }
    GEODEC_NEW(p.x, own * GATHERED * d);
    GEODEC_NEW(p.row, own * GATHERED);
    GEODEC_NEW_EACH(own, p.held, p.place);
    for (int64_t i = 0; i < own; i++) p.place[i] = s->first[s->own_first + i];
    GEODEC_TRY(all_rows(s->source, "dividing points, pass 2", hooks, keep_row, &p, err));
    for (int64_t i = 0; i < own; i++) GEODEC_TRY(flush(&p, i, err));
    for (int64_t i = 0; i < own; i++) {
        if (p.place[i] != s->first[s->own_first + i] + s->count[s->own_first + i])
            GEODEC_THROW(GEODEC_IO, "the points changed while they were read");
        GEODEC_TRY(geodec_hooks_progress(hooks, "ordering slab", i, own, err));
        GEODEC_TRY(arrange(s, s->own_first + i, err));
    }
done:
    GEODEC_FREE(t.node, p.x, p.row, p.held, p.place);
    return st;
}

geodec_status geodec__slabs_make(const geodec_neighbours_source *source, int64_t n, bool want_compact,
                                 geodec_comm *comm, int64_t memory, const char *scratch, const geodec_hooks *hooks,
                                 geodec__slabs *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__slabs s = {.source = source, .n = n, .file = -1};
    bool made = false;
    GEODEC_NEW_EACH(n, s.first, s.count);
    geodec_comm_range(comm, n, geodec_comm_rank(comm), &s.own_first, &s.own_end);
    if (want_compact && n > 1 && source->d <= GEODEC__SLABS_COMPACT_D)
        GEODEC_TRY(compact(&s, memory, scratch, hooks, &made, err));
    if (!made) {
        geodec_mem_free(s.box);
        s.box = NULL;
        runs_of_rows(&s);
    }
    *out = s;
    s = (geodec__slabs){.file = -1};
done:
    geodec__slabs_clear(&s);
    return st;
}

void geodec__slabs_clear(geodec__slabs *s)
{
    if (s->file >= 0) (void)close(s->file);
    GEODEC_FREE(s->first, s->count, s->box, s->x, s->row);
    memset(s, 0, sizeof *s);
    s->file = -1;
}
