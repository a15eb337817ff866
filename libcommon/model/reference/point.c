/* The map from one boundary to a later one, and its derivatives at a point. */
#include "base/mem.h"
#include "reference/recurrent_internal.h"

#include <string.h>

struct geodec_reference_point {
    const geodec_reference *r;
    int32_t from, to;
    int64_t n, first;
    int32_t *row; /* [n_rows] selected rows */
    int64_t n_rows;
    geodec__ref_beside beside;
    int64_t size;   /* of a boundary: K n d_model, with K streams */
    double *x;      /* [min(to, n_layer) - from + 1][K][n][d_model] boundaries */
    double *y;      /* [n_rows][d_model] input of the head, with to = n_layer + 1 */
    double *logits; /* [n_rows][n_vocab] with a final soft-cap and to = n_layer + 1 */
};

enum { MAX_ROWS = 1 << 20, MAX_TANGENT_ROWS = 1 << 26 };

static geodec_status check(const geodec_reference *r, int32_t from, int32_t to, int64_t n, int64_t first,
                           const geodec_reference_rows *rows, geodec_err *err)
{
    const int32_t n_layer = r->model->config.n_layer;
    if (from < 0 || from > n_layer || to < from || to > n_layer + 1)
        GEODEC_FAIL(GEODEC_RANGE, "boundaries %d to %d; 0 to %d exist, in this order", from, to, n_layer + 1);
    if (r->model->config.embed_added && from > 0 && from < n_layer && to > from)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "the model adds its embedding in every block, so boundary %d is not enough",
                    from);
    if (r->model->config.n_streams > 0 && from > 0 && from < n_layer && to > from)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "the residual has several streams, so the one at boundary %d is not enough",
                    from);
    if (n < 1) GEODEC_FAIL(GEODEC_RANGE, "a sequence of %lld rows", (long long)n);
    GEODEC_PASS(geodec__reference_beside_check(r, from, to < n_layer ? to : n_layer, n, err));
    if (n > MAX_ROWS) GEODEC_FAIL(GEODEC_LIMIT, "a sequence of %lld rows; at most %d", (long long)n, (int)MAX_ROWS);
    if (first < 0 || first >= n)
        GEODEC_FAIL(GEODEC_RANGE, "derivatives from row %lld of %lld", (long long)first, (long long)n);
    if (rows && rows->n < 1) GEODEC_FAIL(GEODEC_RANGE, "%lld rows are selected", (long long)rows->n);
    for (int64_t i = 0; rows && i < rows->n; i++)
        if (rows->row[i] < first || rows->row[i] >= n || (i > 0 && rows->row[i] <= rows->row[i - 1]))
            GEODEC_FAIL(GEODEC_RANGE, "selected row %d does not ascend within %lld to %lld", rows->row[i],
                        (long long)first, (long long)(n - 1));
    return GEODEC_OK;
}

/* Between x [k][n][d] and y [k][n_rows][d], its selected rows (counted from `first`; row NULL: all). pick reads them;
 * place, the transpose, makes x zero but for them. */
static void pick(const int32_t *row, int64_t n_rows, int64_t first, int64_t n, int64_t d, int64_t k, const double *x,
                 double *y)
{
    for (int64_t i = 0; i < k * n_rows; i++, y += d) {
        const int64_t r = i % n_rows;
        memcpy(y, x + (i / n_rows * n + (row ? row[r] - first : r)) * d, (size_t)d * sizeof *x);
    }
}

static void place(const geodec_reference_point *p, int64_t k, const double *y, double *x)
{
    const int64_t d = p->r->model->config.d_model, n = p->n - p->first;
    memset(x, 0, (size_t)(k * n * d) * sizeof *x);
    for (int64_t i = 0; i < k * p->n_rows; i++, y += d)
        memcpy(x + (i / p->n_rows * n + p->row[i % p->n_rows] - p->first) * d, y, (size_t)d * sizeof *x);
}

static int32_t last_block(const geodec_reference *r, int32_t to)
{
    return to < r->model->config.n_layer ? to : r->model->config.n_layer;
}

geodec_status geodec_reference_run(const geodec_reference *r, int32_t from, int32_t to, int64_t n, const double *x,
                                   const geodec_reference_rows *rows, double *y, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = r->model->config.d_model;
    geodec__ref_tape tape = {0};
    geodec__ref_beside beside = {0};
    double *state = NULL, *wanted = NULL;
    GEODEC_TRY(check(r, from, to, n, 0, rows, err));
    const int64_t out = rows ? rows->n : n;
    const int32_t *row = rows ? rows->row : NULL;
    GEODEC_NEW(state, geodec__reference_streams(r) * n * d);
    memcpy(state, x, (size_t)(n * d) * sizeof *x);
    if (from == 0) GEODEC_TRY(geodec__reference_spread(r, n, state, err));
    if (from < last_block(r, to)) {
        GEODEC_TRY(geodec__reference_tape_create(r, n, 0, &tape, err));
        GEODEC_TRY(geodec__reference_beside_at(&tape, from, last_block(r, to), r->token, x, &beside, err));
    }
    for (int32_t l = from; l < last_block(r, to); l++) GEODEC_TRY(geodec__reference_block(&tape, l, state, err));
    if (to > r->model->config.n_layer) {
        GEODEC_NEW(wanted, out * d);
        pick(row, out, 0, n, d, 1, state, wanted);
        GEODEC_TRY(geodec__reference_head(r, out, wanted, y, err));
    } else {
        pick(row, out, 0, n, d, 1, state, y);
    }
done:
    geodec__reference_tape_destroy(&tape);
    geodec__reference_beside_destroy(&beside);
    GEODEC_FREE(state, wanted);
    return st;
}

void geodec_reference_point_destroy(geodec_reference_point *p)
{
    if (!p) return;
    geodec__reference_beside_destroy(&p->beside);
    GEODEC_FREE(p->row, p->x, p->y, p->logits, p);
}

geodec_status geodec_reference_linearise(const geodec_reference *r, int32_t from, int32_t to, int64_t n,
                                         const double *x, int64_t first, const geodec_reference_rows *rows,
                                         geodec_reference_point **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &r->model->config;
    const int64_t size = geodec__reference_streams(r) * n * c->d_model;
    geodec__ref_tape tape = {0};
    geodec_reference_point *p = NULL;
    GEODEC_TRY(check(r, from, to, n, first, rows, err));
    const int32_t last = last_block(r, to);
    GEODEC_NEW(p, 1);
    *p = (geodec_reference_point){
        .r = r, .from = from, .to = to, .n = n, .first = first, .n_rows = rows ? rows->n : n - first, .size = size};
    GEODEC_NEW(p->row, p->n_rows);
    for (int64_t i = 0; i < p->n_rows; i++) p->row[i] = rows ? rows->row[i] : (int32_t)(first + i);
    GEODEC_NEW(p->x, (last - from + 1) * size);
    GEODEC_TRY(geodec__reference_tape_create(r, n, 0, &tape, err));
    memcpy(p->x, x, (size_t)(n * c->d_model) * sizeof *x);
    if (from == 0) GEODEC_TRY(geodec__reference_spread(r, n, p->x, err));
    GEODEC_TRY(geodec__reference_beside_at(&tape, from, last, r->token, p->x, &p->beside, err));
    for (int32_t l = from; l < last; l++) {
        double *next = p->x + (l - from + 1) * size;
        memcpy(next, next - size, (size_t)size * sizeof *x);
        GEODEC_TRY(geodec__reference_block(&tape, l, next, err));
    }
    p->beside.complete = true;
    if (to > c->n_layer) {
        GEODEC_NEW(p->y, p->n_rows * c->d_model);
        pick(p->row, p->n_rows, 0, n, c->d_model, 1, p->x + (last - from) * size, p->y);
        if (c->final_softcap != 0) {
            GEODEC_NEW(p->logits, p->n_rows * c->n_vocab);
            GEODEC_TRY(geodec__reference_head(r, p->n_rows, p->y, p->logits, err));
        }
    }
    GEODEC_MOVE(*out, p);
done:
    geodec__reference_tape_destroy(&tape);
    geodec_reference_point_destroy(p);
    return st;
}

geodec_status geodec_reference_point_value(const geodec_reference_point *p, double *y, geodec_err *err)
{
    const int32_t last = last_block(p->r, p->to);
    if (p->to > last)
        GEODEC_PASS(geodec__reference_head(p->r, p->n_rows, p->y, y, err));
    else
        pick(p->row, p->n_rows, 0, p->n, p->r->model->config.d_model, 1, p->x + (last - p->from) * p->size, y);
    return GEODEC_OK;
}

static geodec_status check_tangents(const geodec_reference_point *p, int64_t k, geodec_err *err)
{
    if (k < 1) GEODEC_FAIL(GEODEC_RANGE, "%lld tangents", (long long)k);
    if (k > MAX_TANGENT_ROWS / p->n)
        GEODEC_FAIL(GEODEC_LIMIT, "%lld tangents of %lld rows; at most %d rows together", (long long)k, (long long)p->n,
                    (int)MAX_TANGENT_ROWS);
    return GEODEC_OK;
}

/* The tape of block l at the point; next [size] is scratch. */
static geodec_status fill_tape(const geodec_reference_point *p, geodec__ref_tape *t, int32_t l, double *next,
                               geodec_err *err)
{
    geodec__ref_beside value = p->beside; /* complete: only read */
    memcpy(next, p->x + (l - p->from) * p->size, (size_t)p->size * sizeof *next);
    t->value = &value;
    const geodec_status st = geodec__reference_block(t, l, next, err);
    t->value = NULL;
    return st;
}

/* Whether inputs of the blocks depend on the stream at the point. */
static bool reads_inputs(const geodec_reference_point *p)
{
    return p->r->model->config.d_inputs > 0 && p->from == 0 && last_block(p->r, p->to) > 0;
}

geodec_status geodec_reference_jvp(const geodec_reference_point *p, int64_t k, const double *dx, double *dy,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_reference *r = p->r;
    const int64_t d = r->model->config.d_model, n = p->n - p->first, size = n * d;
    geodec__ref_tape tape = {0};
    geodec__ref_beside change = {0};
    double *state = NULL, *tangent = NULL, *wanted = NULL;
    GEODEC_TRY(check_tangents(p, k, err));
    GEODEC_NEW(state, p->size);
    GEODEC_NEW(tangent, geodec__reference_streams(r) * k * size);
    GEODEC_TRY(geodec__reference_tape_create(r, p->n, p->first, &tape, err));
    GEODEC_TRY(geodec__reference_beside_create(r, k * n, &change, err));
    change.entry = dx;
    tape.change = &change;
    if (reads_inputs(p)) GEODEC_TRY(geodec__reference_inputs_jvp(r, n, p->x + p->first * d, k, dx, change.input, err));
    memcpy(tangent, dx, (size_t)(k * size) * sizeof *dx);
    if (p->from == 0) GEODEC_TRY(geodec__reference_spread_jvp(r, n, p->x + p->first * d, k, tangent, err));
    for (int32_t l = p->from; l < last_block(r, p->to); l++) {
        GEODEC_TRY(fill_tape(p, &tape, l, state, err));
        GEODEC_TRY(geodec__reference_block_jvp(&tape, l, k, tangent, err));
    }
    if (p->to > r->model->config.n_layer) {
        GEODEC_NEW(wanted, k * p->n_rows * d);
        pick(p->row, p->n_rows, p->first, n, d, k, tangent, wanted);
        GEODEC_TRY(geodec__reference_head_jvp(r, p->n_rows, p->y, p->logits, k, wanted, dy, err));
    } else {
        pick(p->row, p->n_rows, p->first, n, d, k, tangent, dy);
    }
done:
    geodec__reference_tape_destroy(&tape);
    geodec__reference_beside_destroy(&change);
    GEODEC_FREE(state, tangent, wanted);
    return st;
}

geodec_status geodec_reference_vjp(const geodec_reference_point *p, int64_t k, const double *gy, double *gx,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_reference *r = p->r;
    const int64_t d = r->model->config.d_model, size = k * (p->n - p->first) * d;
    geodec__ref_tape tape = {0};
    geodec__ref_beside change = {0};
    double *state = NULL, *wanted = NULL, *all = NULL;
    double *entry = NULL; /* cotangent of the embedding that is added again */
    GEODEC_TRY(check_tangents(p, k, err));
    GEODEC_NEW(state, p->size);
    GEODEC_NEW(all, geodec__reference_streams(r) * size);
    GEODEC_TRY(geodec__reference_tape_create(r, p->n, p->first, &tape, err));
    if (r->model->config.embed_added && p->from == 0) GEODEC_NEW(entry, size);
    GEODEC_TRY(geodec__reference_beside_create(r, k * (p->n - p->first), &change, err));
    change.gentry = entry;
    tape.change = &change;
    if (p->to > r->model->config.n_layer) {
        GEODEC_NEW(wanted, k * p->n_rows * d);
        GEODEC_TRY(geodec__reference_head_vjp(r, p->n_rows, p->y, p->logits, k, gy, wanted, err));
        place(p, k, wanted, all);
    } else {
        place(p, k, gy, all);
    }
    for (int32_t l = last_block(r, p->to) - 1; l >= p->from; l--) {
        GEODEC_TRY(fill_tape(p, &tape, l, state, err));
        GEODEC_TRY(geodec__reference_block_vjp(&tape, l, k, all, err));
    }
    if (entry) geodec__reference_add(size, entry, all);
    if (reads_inputs(p))
        GEODEC_TRY(geodec__reference_inputs_vjp(r, p->n - p->first, p->x + p->first * d, k, change.input, all, err));
    if (p->from == 0) GEODEC_TRY(geodec__reference_spread_vjp(r, p->n - p->first, p->x + p->first * d, k, all, err));
    memcpy(gx, all, (size_t)size * sizeof *gx);
done:
    geodec__reference_tape_destroy(&tape);
    geodec__reference_beside_destroy(&change);
    GEODEC_FREE(state, wanted, entry, all);
    return st;
}
