/* Products with the matrices of the file, decoded a panel of rows at a time. Blocks have fixed sizes and every element
 * of the result is written by one task, so the bytes do not depend on the number of threads. */
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "linalg/blas.h"
#include "reference/operators_internal.h"

enum {
    PANEL_BYTES = 32 << 20,
    ROW_BLOCK = 64,    /* rows of the activations a task takes */
    COLUMN_BLOCK = 96, /* columns of the result a task takes */
    DECODE_BLOCK = 16, /* rows of the matrix a task decodes */
};

typedef struct product {
    const geodec__matrix *w;
    int64_t n;
    const double *in;
    double *out;
    double *panel;       /* [panel_rows][cols] */
    int64_t first, rows; /* of the panel */
    float *buffer;       /* [workers][cols] */
} product;

void geodec__reference_decode_row(const geodec__matrix *w, int64_t row, float *buffer, double *out)
{
    geodec_ggml_traits_of(w->type)->decode(w->data + row * w->row_bytes, buffer, w->cols);
    for (int64_t i = 0; i < w->cols; i++) out[i] = (double)buffer[i];
}

static void decode_task(void *ctx, int64_t task, int worker)
{
    const product *p = ctx;
    const int64_t end = geodec__min((task + 1) * DECODE_BLOCK, p->rows);
    for (int64_t o = task * DECODE_BLOCK; o < end; o++)
        geodec__reference_decode_row(p->w, p->first + o, p->buffer + worker * p->w->cols, p->panel + o * p->w->cols);
}

/* out [n][rows of w], columns of this panel, = in panel^T */
static void forward_task(void *ctx, int64_t task, int worker)
{
    const product *p = ctx;
    (void)worker;
    const int64_t blocks = (p->rows + COLUMN_BLOCK - 1) / COLUMN_BLOCK;
    const int64_t t = task / blocks * ROW_BLOCK, o = task % blocks * COLUMN_BLOCK, cols = p->w->cols;
    geodec_blas_gemm(false, true, geodec__min(ROW_BLOCK, p->n - t), geodec__min(COLUMN_BLOCK, p->rows - o), cols, 1,
                     p->in + t * cols, cols, p->panel + o * cols, cols, 0, p->out + t * p->w->rows + p->first + o,
                     p->w->rows);
}

/* out [n][cols of w] += in, columns of this panel, times panel */
static void transposed_task(void *ctx, int64_t task, int worker)
{
    const product *p = ctx;
    (void)worker;
    const int64_t cols = p->w->cols, blocks = (cols + COLUMN_BLOCK - 1) / COLUMN_BLOCK;
    const int64_t t = task / blocks * ROW_BLOCK, i = task % blocks * COLUMN_BLOCK;
    geodec_blas_gemm(false, false, geodec__min(ROW_BLOCK, p->n - t), geodec__min(COLUMN_BLOCK, cols - i), p->rows, 1,
                     p->in + t * p->w->rows + p->first, p->w->rows, p->panel + i, cols, p->first == 0 ? 0 : 1,
                     p->out + t * cols + i, cols);
}

static geodec_status multiply(geodec_pool *pool, product *p, geodec_pool_fn task, bool transposed, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t cols = p->w->cols, fit = PANEL_BYTES / (cols * (int64_t)sizeof(double));
    const int64_t panel =
        geodec__min(p->w->rows, fit > COLUMN_BLOCK ? fit / COLUMN_BLOCK * COLUMN_BLOCK : COLUMN_BLOCK);
    GEODEC_NEW(p->panel, panel * cols);
    GEODEC_NEW(p->buffer, geodec_pool_threads(pool) * cols);
    for (p->first = 0; p->first < p->w->rows; p->first += panel) {
        p->rows = geodec__min(panel, p->w->rows - p->first);
        const int64_t width = transposed ? cols : p->rows;
        geodec_pool_run(pool, (p->rows + DECODE_BLOCK - 1) / DECODE_BLOCK, decode_task, p);
        geodec_pool_run(pool, (p->n + ROW_BLOCK - 1) / ROW_BLOCK * ((width + COLUMN_BLOCK - 1) / COLUMN_BLOCK), task,
                        p);
    }
done:
    GEODEC_FREE(p->panel, p->buffer);
    return st;
}

geodec_status geodec__reference_product(geodec_pool *pool, const geodec__matrix *w, int64_t n, const double *x,
                                        double *y, geodec_err *err)
{
    product p = {.w = w, .n = n, .in = x, .out = y};
    return n == 0 ? GEODEC_OK : multiply(pool, &p, forward_task, false, err);
}

geodec_status geodec__reference_product_vjp(geodec_pool *pool, const geodec__matrix *w, int64_t n, const double *gy,
                                            double *gx, geodec_err *err)
{
    product p = {.w = w, .n = n, .in = gy, .out = gx};
    return n == 0 ? GEODEC_OK : multiply(pool, &p, transposed_task, true, err);
}
