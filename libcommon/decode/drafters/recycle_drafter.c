#include "drafters/recycle_drafter.h"

#include "base/mem.h"
#include "decode/tree.h"

#include <string.h>

enum { RANKS = GEODEC_DRAFT_TOP, CLASSES = 4 };
static const double PRIOR = 8; /* weight of FIRST in trials */
static const double FIRST[CLASSES][RANKS] = {{0.30, 0.12, 0.06, 0.04, 0.030, 0.020, 0.018, 0.014},
                                             {0.55, 0.07, 0.04, 0.03, 0.020, 0.015, 0.012, 0.010},
                                             {0.70, 0.06, 0.03, 0.02, 0.015, 0.012, 0.010, 0.008},
                                             {0.85, 0.04, 0.02, 0.01, 0.008, 0.006, 0.005, 0.004}};

typedef struct entry {
    int32_t known;      /* the row has been written */
    int32_t same;       /* number of consecutive times that top[0] stayed the same */
    int32_t top[RANKS]; /* -1 = none, at the end */
} entry;

typedef struct recycle_drafter {
    geodec_drafter base;
    int32_t n_vocab;
    entry *row; /* [n_vocab] */
    double trials[CLASSES], hits[CLASSES][RANKS];
    /* The newest observed row: its token (-1 = none), the entry as it was before this row changed it, and whether the
     * candidates of this row are known. */
    int32_t newest;
    entry before;
    bool answered;
} recycle_drafter;

static int32_t class_of(const entry *e) { return e->same < CLASSES ? e->same : CLASSES - 1; }

static geodec_status recycle_begin(geodec_drafter *base, geodec_err *err)
{
    (void)err;
    recycle_drafter *d = (recycle_drafter *)base;
    for (int32_t v = 0; v < d->n_vocab; v++) d->row[v].known = 0;
    for (int32_t c = 0; c < CLASSES; c++) {
        d->trials[c] = PRIOR;
        for (int32_t r = 0; r < RANKS; r++) d->hits[c][r] = PRIOR * FIRST[c][r];
    }
    d->newest = -1;
    return GEODEC_OK;
}

static void renew(entry *e, const int32_t *top)
{
    e->same = e->known && e->top[0] == top[0] ? e->same + 1 : 0;
    e->known = 1;
    memcpy(e->top, top, sizeof e->top);
}

/* The text continued with `next` where no candidates were computed: `next` becomes the first entry, the others move
 * down. */
static void put_first(entry *e, int32_t next)
{
    int32_t top[RANKS], n = 0;
    top[n++] = next;
    for (int32_t r = 0; e->known && r < RANKS && n < RANKS; r++)
        if (e->top[r] != next) top[n++] = e->top[r];
    while (n < RANKS) top[n++] = -1;
    renew(e, top);
}

/* Records that `next` followed the newest row. */
static void settle(recycle_drafter *d, int32_t next)
{
    if (d->newest < 0) return;
    if (d->before.known) {
        const int32_t c = class_of(&d->before);
        d->trials[c]++;
        for (int32_t r = 0; r < RANKS; r++) d->hits[c][r] += d->before.top[r] == next;
    }
    if (!d->answered) put_first(&d->row[d->newest], next);
    d->newest = -1;
}

static bool inside(const recycle_drafter *d, int32_t token) { return token >= 0 && token < d->n_vocab; }

static geodec_status recycle_observe(geodec_drafter *base, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)err;
    recycle_drafter *d = (recycle_drafter *)base;
    for (int64_t i = 0; i < rows->n; i++) {
        const int32_t token = rows->token[i], *top = rows->top ? rows->top + i * RANKS : NULL;
        settle(d, token);
        if (!inside(d, token)) continue;
        d->newest = token;
        d->before = d->row[token];
        d->answered = top && top[0] >= 0;
        if (d->answered) renew(&d->row[token], top);
    }
    for (int64_t i = 0; i < rows->n_rejected; i++) {
        const int32_t token = rows->rejected_token[i];
        if (inside(d, token) && rows->rejected_top[i * RANKS] >= 0)
            renew(&d->row[token], rows->rejected_top + i * RANKS);
    }
    return GEODEC_OK;
}

static geodec_status recycle_children(geodec_drafter *base, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                                      geodec_err *err)
{
    (void)err;
    const recycle_drafter *d = (const recycle_drafter *)base;
    int32_t taken = 0;
    *n = 0;
    if (!inside(d, base->token[node]) || !d->row[base->token[node]].known) return GEODEC_OK;
    const entry *e = &d->row[base->token[node]];
    const int32_t c = class_of(e);
    for (int32_t r = 0; r < RANKS && e->top[r] >= 0; r++) {
        if (geodec_drafter_forbids(base, node, e->top[r])) continue;
        const geodec_draft x = {.token = e->top[r], .source = r, .confidence = d->hits[c][r] / d->trials[c]};
        taken = geodec_tree_insert(out, taken, most, &x);
    }
    *n = taken;
    return GEODEC_OK;
}

static void recycle_destroy(geodec_drafter *base)
{
    recycle_drafter *d = (recycle_drafter *)base;
    GEODEC_FREE(d->row, d);
}

geodec_status geodec_recycle_drafter_create(int32_t n_vocab, geodec_drafter **out, geodec_err *err)
{
    static const char *const sources[RANKS] = {"1", "2", "3", "4", "5", "6", "7", "8"};
    static const geodec_drafter_ops ops = {.name = "recycle",
                                           .wants_top = true,
                                           .n_sources = RANKS,
                                           .source_name = sources,
                                           .begin = recycle_begin,
                                           .observe = recycle_observe,
                                           .destroy = recycle_destroy,
                                           .children = recycle_children};
    geodec_status st = GEODEC_OK;
    recycle_drafter *d = NULL;
    GEODEC_NEW(d, 1);
    d->base.ops = &ops;
    d->n_vocab = n_vocab;
    GEODEC_NEW(d->row, n_vocab);
    *out = &d->base;
    d = NULL;
done:
    if (d) recycle_destroy(&d->base);
    return st;
}
