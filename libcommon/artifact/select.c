#include "artifact/select.h"

#include "artifact/select_internal.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_ROOM = 128, NAME_ROOM = GEODEC__SELECT_NAME + GEODEC_RANK_MAX * 24 };

typedef struct group {
    char *key; /* the cells of the key columns, each ended by NUL */
    size_t key_bytes;
    geodec__select_pile *pile; /* [sums] */
} group;

typedef struct run {
    geodec__select s;
    const geodec_select_sink *sink;
    int64_t cells;
    char (*room)[CELL_ROOM]; /* [cells] of the current row */
    const char **cell;
    int *sum; /* nodes of the sums */
    bool grouped;
    group *groups;
    int64_t n_groups, n_slots, *slot;
} run;

/* ---- columns ---------------------------------------------------------------------------------------------------- */

/* "NAME=EXPRESSION": length of NAME, 0 without one. */
static size_t name_length(const char *text)
{
    const size_t n = strcspn(text, "={}()[]@\"<>!+*%&");
    return text[n] == '=' && text[n + 1] != '=' ? n : 0;
}

static geodec_status parse_column(geodec__select *s, const char *text, geodec__select_column *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const size_t n = name_length(text);
    *c = (geodec__select_column){.ref = -1, .width = 1, .named = n > 0};
    if (n >= sizeof c->name) GEODEC_THROW(GEODEC_LIMIT, "the name '%.40s..' is too long", text);
    (void)snprintf(c->name, sizeof c->name, "%.*s", n > 0 ? (int)n : (int)sizeof c->name - 1, text);
    if (n > 0 && strchr(c->name, ':')) {
        for (char *at = c->name, *next; at; at = next) {
            next = strchr(at, ':');
            if (next) *next++ = 0;
            if (!*at || c->n_parts == GEODEC__SELECT_PARTS)
                GEODEC_THROW(GEODEC_INVAL, "'%.60s': one to %d names joined by ':'", text, GEODEC__SELECT_PARTS);
            c->part[c->n_parts++] = at;
        }
        c->width = c->n_parts;
    }
    GEODEC_TRY(geodec__select_parse(s, n > 0 ? text + n + 1 : text, &c->root, err));
    if (s->node[c->root].op == SELECT_REF && c->n_parts == 0) {
        c->ref = s->node[c->root].k;
        s->ref[c->ref].may_spread = true;
    }
done:
    return st;
}

typedef struct shape {
    bool sums, rows, nested, window; /* a sum; a value of one row outside a sum; a sum in a sum; running or total */
} shape;

static void look(const geodec__select *s, int node, bool inside, shape *out)
{
    if (node < 0) return;
    const geodec__select_node *n = &s->node[node];
    const bool sum = geodec__select_is_sum(n->op);
    out->nested = out->nested || (sum && inside);
    out->sums = out->sums || sum;
    out->window = out->window || n->op == SELECT_RUNNING || n->op == SELECT_TOTAL;
    out->rows =
        out->rows || (!inside && (n->op == SELECT_REF || n->op == SELECT_INDEX || (n->op == SELECT_LIST && n->a >= 0)));
    look(s, n->a, inside || sum, out);
    look(s, n->b, inside || sum, out);
    look(s, n->c, inside || sum, out);
}

static geodec_status check_columns(run *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select *s = &r->s;
    bool window = false;
    for (int i = 0; i < s->n_columns; i++) {
        shape has = {0};
        look(s, s->column[i].root, false, &has);
        s->column[i].sums = has.sums;
        r->grouped = r->grouped || has.sums;
        window = window || has.window;
        if (has.nested) GEODEC_THROW(GEODEC_INVAL, "'%s': a sum within a sum", s->query->columns[i]);
        if (has.sums && has.rows)
            GEODEC_THROW(GEODEC_INVAL, "'%s': a value of a single row next to a sum", s->query->columns[i]);
    }
    if (r->grouped && window) GEODEC_THROW(GEODEC_INVAL, "running() and total() do not go with sums over groups");
    if (s->where >= 0) {
        shape has = {0};
        look(s, s->where, false, &has);
        if (has.sums || has.window) GEODEC_THROW(GEODEC_INVAL, "the condition is about single rows");
    }
done:
    return st;
}

/* Name of cell j of a column. */
static void cell_name(const geodec__select *s, const geodec__select_column *c, int64_t j, char name[NAME_ROOM])
{
    const geodec__select_ref *r = c->ref >= 0 ? &s->ref[c->ref] : NULL;
    if (c->n_parts) {
        (void)snprintf(name, NAME_ROOM, "%s", c->part[j]);
        return;
    }
    if (!r || (c->named && r->width == 1)) {
        (void)snprintf(name, NAME_ROOM, "%s", c->name);
        return;
    }
    if (r->column >= 0) {
        (void)snprintf(name, NAME_ROOM, "%s", r->name);
        return;
    }
    int64_t index[GEODEC_RANK_MAX];
    for (int d = r->rank - 1; d >= 0; d--) {
        index[d] = r->over[d] >= 0 ? -1 : r->fixed[d];
        if (r->over[d] >= 0 || r->fixed[d] >= 0) continue;
        index[d] = j % r->shape[d];
        j /= r->shape[d];
    }
    int at = c->named ? snprintf(name, NAME_ROOM, "%s", c->name)
                      : snprintf(name, NAME_ROOM, "%s%s%s", s->sources[r->source].name, r->source ? "_" : "",
                                 r->name + (r->name[0] == '/'));
    for (int d = 0; d < r->rank; d++)
        if (index[d] >= 0 && !(c->named && r->fixed[d] >= 0))
            at += snprintf(name + at, (size_t)(NAME_ROOM - at), "_%" PRId64, index[d]);
    for (char *p = name; *p; p++)
        if (*p == '/') *p = '_';
}

static geodec_status print_header(run *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec__select *s = &r->s;
    char(*names)[NAME_ROOM] = NULL;
    GEODEC_NEW(names, r->cells);
    int64_t at = 0;
    for (int i = 0; i < s->n_columns; i++)
        for (int64_t j = 0; j < s->column[i].width; j++, at++) {
            cell_name(s, &s->column[i], j, names[at]);
            r->cell[at] = names[at];
        }
    GEODEC_TRY(r->sink->header(r->sink->ctx, (int)r->cells, r->cell, err));
done:
    geodec_mem_free(names);
    return st;
}

/* ---- cells ------------------------------------------------------------------------------------------------------ */

/* Splits "a:b:c" into the cells of the column. */
static geodec_status put_parts(run *r, const geodec__select_column *c, const char *text, int64_t at, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int k = 0;
    for (const char *from = text; from; k++) {
        const size_t n = strcspn(from, ":");
        if (k < c->n_parts) {
            if (n >= CELL_ROOM) GEODEC_THROW(GEODEC_LIMIT, "'%.40s..' is too long", from);
            (void)snprintf(r->room[at + k], CELL_ROOM, "%.*s", (int)n, from);
            r->cell[at + k] = r->room[at + k];
        }
        from = from[n] ? from + n + 1 : NULL;
    }
    if (k != c->n_parts) GEODEC_THROW(GEODEC_INVAL, "'%.60s' has %d parts, not %d", text, k, c->n_parts);
done:
    return st;
}

/* Error of an expression's value: its place and the message, without the chain of calls. */
static geodec_status said(geodec_status st, const char *text, const geodec_err *inner, geodec_err *err)
{
    if (st == GEODEC_OK) return st;
    return geodec_err_set(err, st, __func__, __LINE__, "'%.80s': %.140s", text, inner->frame[0].text);
}

/* The cells of column i, from index `at`. */
static geodec_status fill_column(run *r, int i, const geodec__select_pile *pile, int64_t at, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select *s = &r->s;
    const geodec__select_column *c = &s->column[i];
    geodec__select_value v = {0};
    if (c->ref >= 0) {
        for (int64_t j = 0; j < c->width; j++, at++) {
            geodec__select_element(s, c->ref, j, &v);
            r->cell[at] = geodec__select_text(&v, 0, r->room[at]);
        }
        goto done;
    }
    GEODEC_TRY(geodec__select_eval(s, c->root, pile, &v, err));
    const char *text = geodec__select_text(&v, s->query->digits, r->room[at]);
    if (c->n_parts) {
        GEODEC_TRY(put_parts(r, c, text, at, err));
        goto done;
    }
    if (text == v.own) text = strcpy(r->room[at], v.own);
    r->cell[at] = text;
done:
    return st;
}

static geodec_status put_column(run *r, int i, const geodec__select_pile *pile, int64_t at, geodec_err *err)
{
    geodec_err inner = {0};
    return said(fill_column(r, i, pile, at, &inner), r->s.query->columns[i], &inner, err);
}

static geodec_status put_row(run *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t at = 0;
    for (int i = 0; i < r->s.n_columns; at += r->s.column[i++].width) GEODEC_TRY(put_column(r, i, NULL, at, err));
    GEODEC_TRY(r->sink->row(r->sink->ctx, r->cell, err));
done:
    return st;
}

/* ---- groups ----------------------------------------------------------------------------------------------------- */

static uint64_t hash(const char *bytes, size_t n)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)bytes[i]) * 1099511628211u;
    return h;
}

static geodec_status grow_slots(run *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = r->n_slots ? 2 * r->n_slots : 64;
    group *groups = geodec_mem_grow(r->groups, r->n_groups, n / 2, sizeof *groups);
    if (!groups) GEODEC_THROW(GEODEC_NOMEM, "no memory for groups");
    r->groups = groups;
    geodec_mem_free(r->slot);
    GEODEC_NEW(r->slot, n);
    r->n_slots = n;
    for (int64_t g = 0; g < r->n_groups; g++) {
        uint64_t at = hash(groups[g].key, groups[g].key_bytes);
        while (r->slot[at % (uint64_t)n]) at++;
        r->slot[at % (uint64_t)n] = g + 1;
    }
done:
    return st;
}

/* The group of the key in bytes[0..n-1], created when new. */
static geodec_status find_group(run *r, const char *bytes, size_t n, group **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (2 * (r->n_groups + 1) > r->n_slots) GEODEC_TRY(grow_slots(r, err));
    uint64_t at = hash(bytes, n);
    for (; r->slot[at % (uint64_t)r->n_slots]; at++) {
        *out = &r->groups[r->slot[at % (uint64_t)r->n_slots] - 1];
        if ((*out)->key_bytes == n && memcmp((*out)->key, bytes, n) == 0) goto done;
    }
    group *g = &r->groups[r->n_groups];
    GEODEC_NEW(g->key, n + 1);
    memcpy(g->key, bytes, n);
    g->key_bytes = n;
    r->slot[at % (uint64_t)r->n_slots] = ++r->n_groups;
    GEODEC_NEW(g->pile, r->s.n_sums);
    *out = g;
done:
    return st;
}

/* Adds the current row to one sum. */
static geodec_status pile_up(run *r, const geodec__select_node *n, geodec__select_pile *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select_value v = {.kind = GEODEC__SELECT_COMPUTED};
    double x;
    if (n->b >= 0) {
        GEODEC_TRY(geodec__select_eval(&r->s, n->b, NULL, &v, err));
        GEODEC_TRY(geodec__select_number(&v, &x, err));
        if (!(x < 0 || x > 0)) goto done;
    }
    if (n->a >= 0) GEODEC_TRY(geodec__select_eval(&r->s, n->a, NULL, &v, err));
    if (n->op != SELECT_FIRST && n->op != SELECT_ONLY && n->op != SELECT_COUNT)
        GEODEC_TRY(geodec__select_number(&v, &v.x, err));
    if ((p->n & (p->n - 1)) == 0) { /* a power of two */
        geodec__select_value *grown = geodec_mem_grow(p->v, p->n, p->n ? 2 * p->n : 1, sizeof *grown);
        if (!grown) GEODEC_THROW(GEODEC_NOMEM, "no memory for the values of a sum");
        p->v = grown;
    }
    p->v[p->n++] = v;
done:
    return st;
}

static geodec_status group_row(run *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select *s = &r->s;
    char *key = NULL;
    size_t bytes = 0;
    group *g;
    int64_t at = 0;
    for (int i = 0; i < s->n_columns; at += s->column[i++].width) {
        if (s->column[i].sums) continue;
        GEODEC_TRY(put_column(r, i, NULL, at, err));
        for (int64_t j = 0; j < s->column[i].width; j++) bytes += strlen(r->cell[at + j]) + 1;
    }
    GEODEC_NEW(key, bytes + 1);
    bytes = 0;
    at = 0;
    for (int i = 0; i < s->n_columns; at += s->column[i++].width)
        for (int64_t j = 0; !s->column[i].sums && j < s->column[i].width; j++) {
            const size_t n = strlen(r->cell[at + j]) + 1;
            memcpy(key + bytes, r->cell[at + j], n);
            bytes += n;
        }
    GEODEC_TRY(find_group(r, key, bytes, &g, err));
    for (int k = 0; k < s->n_sums; k++) {
        geodec_err inner = {0};
        GEODEC_TRY(said(pile_up(r, &s->node[r->sum[k]], &g->pile[k], &inner), "a sum", &inner, err));
    }
done:
    geodec_mem_free(key);
    return st;
}

static geodec_status put_groups(run *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select *s = &r->s;
    group *g;
    bool keys = false;
    for (int i = 0; i < s->n_columns; i++) keys = keys || !s->column[i].sums;
    if (!keys) GEODEC_TRY(find_group(r, "", 0, &g, err)); /* sums over no rows also give a row */
    for (int64_t k = 0; k < r->n_groups; k++) {
        const char *key = r->groups[k].key;
        int64_t at = 0;
        for (int i = 0; i < s->n_columns; at += s->column[i++].width) {
            if (s->column[i].sums) GEODEC_TRY(put_column(r, i, r->groups[k].pile, at, err));
            for (int64_t j = 0; !s->column[i].sums && j < s->column[i].width; j++, key += strlen(key) + 1)
                r->cell[at + j] = key;
        }
        GEODEC_TRY(r->sink->row(r->sink->ctx, r->cell, err));
    }
done:
    return st;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* "A:B" within 0..n. */
static geodec_status parse_rows(const char *text, int64_t n, int64_t *from, int64_t *to, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *from = 0;
    *to = n;
    if (!text) goto done;
    char *end = NULL;
    const char *colon = strchr(text, ':');
    if (!colon || strspn(text, "0123456789:") != strlen(text) || strchr(colon + 1, ':'))
        GEODEC_THROW(GEODEC_INVAL, "--rows: '%s' is not A:B", text);
    if (colon != text) *from = strtoll(text, &end, 10);
    if (colon[1]) *to = strtoll(colon + 1, &end, 10);
    if (*from >= n && n >= 0 && *from < *to)
        GEODEC_THROW(GEODEC_SCARCE, "--rows: no rows %s in a table of %" PRId64, text, n);
    if (*to > n) *to = n;
    if (*from > *to) GEODEC_THROW(GEODEC_RANGE, "--rows: no rows %s in a table of %" PRId64, text, n);
done:
    return st;
}

/* One row: into the totals, a group or the output. */
static geodec_status take_row(run *r, bool totals, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select *s = &r->s;
    geodec__select_value v = {0};
    double x;
    if (s->where >= 0) {
        geodec_err inner = {0};
        GEODEC_TRY(said(geodec__select_eval(s, s->where, NULL, &v, &inner), s->query->where, &inner, err));
        GEODEC_TRY(said(geodec__select_number(&v, &x, &inner), s->query->where, &inner, err));
        if (!(x < 0 || x > 0)) goto done;
    }
    if (!totals) {
        GEODEC_TRY(r->grouped ? group_row(r, err) : put_row(r, err));
        goto done;
    }
    for (int i = 0; i < s->n_nodes; i++) {
        if (s->node[i].op != SELECT_TOTAL) continue;
        GEODEC_TRY(geodec__select_eval(s, s->node[i].a, NULL, &v, err));
        GEODEC_TRY(geodec__select_number(&v, &x, err));
        s->total[s->node[i].k] += x;
    }
done:
    return st;
}

/* All indices of the other dimensions, for index at[0] of the first. */
static geodec_status take_places(run *r, bool totals, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select *s = &r->s;
    for (int d = 1; d < s->n_over; d++) {
        s->at[d] = 0;
        if (s->extent[d] == 0) goto done;
    }
    for (bool more = true; more;) {
        bool last = s->gap >= 0; /* the last row of an index of the gap's dimension */
        for (int d = s->gap + 1; d < s->n_over && last; d++) last = s->at[d] == s->extent[d] - 1;
        GEODEC_TRY(take_row(r, totals, err));
        if (last && !totals && !r->grouped) GEODEC_TRY(r->sink->gap(r->sink->ctx, err));
        int d = s->n_over - 1;
        while (d > 0 && ++s->at[d] == s->extent[d]) s->at[d--] = 0;
        more = d > 0;
    }
done:
    return st;
}

static geodec_status take_rows(run *r, bool totals, int64_t from, int64_t to, const geodec_hooks *hooks,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select *s = &r->s;
    const int64_t step = geodec__select_step(s);
    for (int64_t row = from; row < to; row += step) {
        const int64_t take = row + step < to ? step : to - row;
        GEODEC_TRY(geodec_hooks_progress(hooks, "rows", row, to, err));
        GEODEC_TRY(geodec__select_load(s, row, take, err));
        for (int64_t i = row; i < row + take; i++) {
            s->at[0] = i;
            GEODEC_TRY(take_places(r, totals, err));
        }
    }
done:
    return st;
}

/* ---- a query ---------------------------------------------------------------------------------------------------- */

static geodec_status parse_query(run *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select *s = &r->s;
    const geodec_select_query *q = s->query;
    s->where = -1;
    if (q->n_columns < 1) GEODEC_THROW(GEODEC_INVAL, "no column is named");
    GEODEC_NEW(s->node, GEODEC__SELECT_NODES);
    GEODEC_NEW(s->ref, GEODEC__SELECT_REFS);
    GEODEC_NEW(s->list, GEODEC__SELECT_LISTS);
    GEODEC_NEW(s->column, q->n_columns);
    s->n_columns = q->n_columns;
    for (int i = 0; i < q->n_columns; i++) GEODEC_TRY(parse_column(s, q->columns[i], &s->column[i], err));
    if (q->where) GEODEC_TRY(geodec__select_parse(s, q->where, &s->where, err));
    GEODEC_TRY(check_columns(r, err));
    GEODEC_TRY(geodec__select_bind(s, err));
    for (int i = 0; i < s->n_columns; i++) {
        if (s->column[i].ref >= 0) s->column[i].width = s->ref[s->column[i].ref].width;
        r->cells += s->column[i].width;
    }
    if (r->cells < 1 || r->cells > GEODEC_SELECT_COLUMNS_MAX)
        GEODEC_THROW(GEODEC_LIMIT, "%" PRId64 " columns; 1 to %d can be printed", r->cells, GEODEC_SELECT_COLUMNS_MAX);
    GEODEC_NEW(r->cell, r->cells);
    GEODEC_NEW(r->room, r->cells);
    GEODEC_NEW(r->sum, s->n_sums);
    for (int i = 0; i < s->n_nodes; i++)
        if (geodec__select_is_sum(s->node[i].op)) r->sum[s->node[i].k] = i;
    GEODEC_NEW(s->running, s->n_running);
    GEODEC_NEW(s->total, s->n_running);
done:
    return st;
}

static void free_run(run *r)
{
    geodec__select_unbind(&r->s);
    for (int64_t g = 0; g < r->n_groups; g++) {
        for (int k = 0; r->groups[g].pile && k < r->s.n_sums; k++) geodec_mem_free(r->groups[g].pile[k].v);
        geodec_mem_free(r->groups[g].pile);
        geodec_mem_free(r->groups[g].key);
    }
    geodec_mem_free(r->groups);
    geodec_mem_free(r->slot);
    geodec_mem_free(r->sum);
    geodec_mem_free(r->room);
    geodec_mem_free(r->cell);
    geodec_mem_free(r->s.running);
    geodec_mem_free(r->s.total);
    geodec_mem_free(r->s.column);
    geodec_mem_free(r->s.list);
    geodec_mem_free(r->s.ref);
    geodec_mem_free(r->s.node);
}

geodec_status geodec_select_run(const geodec_select_source *sources, int n_sources, const geodec_select_query *query,
                                const geodec_select_sink *sink, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    run r = {.s = {.sources = sources, .n_sources = n_sources, .query = query}, .sink = sink};
    int64_t from, to;
    GEODEC_TRY(parse_query(&r, err));
    GEODEC_TRY(parse_rows(query->rows, r.s.n_over ? r.s.extent[0] : 1, &from, &to, err));
    GEODEC_TRY(print_header(&r, err));
    if (r.s.totals) GEODEC_TRY(take_rows(&r, true, from, to, hooks, err));
    GEODEC_TRY(take_rows(&r, false, from, to, hooks, err));
    if (r.grouped) GEODEC_TRY(put_groups(&r, err));
done:
    free_run(&r);
    return st;
}
