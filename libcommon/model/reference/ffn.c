/* One feed-forward network: y = W2 [N] (A([cut] (W1 z + b1)) B(W3 z + b3) / scale) + b2, or without W3 and B. */
#include "base/mem.h"
#include "reference/reference_internal.h"

#include <string.h>

/* The hidden vectors of m rows of k tangents, divided by the layer's factors. */
static void divide(const geodec__ref_ffn *f, int64_t k, double *hidden)
{
    const int64_t width = f->gate.rows;
    for (int64_t i = 0; f->scale && i < k * f->m * width; i++) hidden[i] /= (double)f->scale[i % width];
}

/* The argument of the activation; room has the size of g. */
static const double *gate_of(const geodec__ref_ffn *f, double *room)
{
    if (!f->cut) return f->g;
    geodec__reference_cut(f->m, f->gate.rows, f->cut_at, f->g, room);
    return room;
}

static bool normed(const geodec__ref_ffn *f) { return f->norm && f->norm->weight; }

geodec_status geodec__reference_ffn_run(const geodec_reference *r, const geodec__ref_ffn *f, const double *z,
                                        double *hidden, double *y, geodec_err *err)
{
    const int64_t wide = f->m * f->gate.rows;
    GEODEC_PASS(geodec__reference_product(r->pool, &f->gate, f->m, z, f->g, err));
    geodec__reference_bias(f->m, f->gate.rows, f->gate_bias, f->g);
    if (f->up.data) {
        GEODEC_PASS(geodec__reference_product(r->pool, &f->up, f->m, z, f->u, err));
        geodec__reference_bias(f->m, f->up.rows, f->up_bias, f->u);
    }
    if (f->cut) geodec__reference_cut(f->m, f->gate.rows, f->cut_at, f->g, hidden);
    geodec__reference_gated(&f->activation, wide, f->cut ? hidden : f->g, f->up.data ? f->u : NULL, hidden);
    divide(f, 1, hidden);
    if (normed(f)) {
        memcpy(f->h, hidden, (size_t)wide * sizeof *hidden);
        geodec__reference_norm(f->m, f->norm, f->h, hidden);
    }
    GEODEC_PASS(geodec__reference_product(r->pool, &f->down, f->m, hidden, y, err));
    geodec__reference_bias(f->m, f->down.rows, f->down_bias, y);
    return GEODEC_OK;
}

geodec_status geodec__reference_ffn_jvp(const geodec_reference *r, const geodec__ref_ffn *f, int64_t k,
                                        const double *dz, double *dy, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t wide = k * f->m * f->gate.rows;
    const double *up = f->up.data ? f->u : NULL;
    double *dg = NULL;
    GEODEC_NEW(dg, 2 * wide + f->m * f->gate.rows);
    double *du = dg + wide;
    const double *gate = gate_of(f, du + wide);
    GEODEC_TRY(geodec__reference_product(r->pool, &f->gate, k * f->m, dz, dg, err));
    if (up) GEODEC_TRY(geodec__reference_product(r->pool, &f->up, k * f->m, dz, du, err));
    if (f->cut) geodec__reference_cut_jvp(f->m, f->gate.rows, f->cut_at, f->g, k, dg, dg);
    geodec__reference_gated_jvp(&f->activation, f->m * f->gate.rows, gate, up, k, dg, du, dg);
    divide(f, k, dg);
    if (normed(f)) geodec__reference_norm_jvp(f->m, f->norm, f->h, k, dg, dg);
    GEODEC_TRY(geodec__reference_product(r->pool, &f->down, k * f->m, dg, dy, err));
done:
    geodec_mem_free(dg);
    return st;
}

geodec_status geodec__reference_ffn_vjp(const geodec_reference *r, const geodec__ref_ffn *f, int64_t k,
                                        const double *gy, double *gz, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t wide = k * f->m * f->gate.rows, narrow = k * f->m * f->gate.cols;
    const double *up = f->up.data ? f->u : NULL;
    double *buffer[4] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(4, (const int64_t[]){wide, wide, narrow, f->m * f->gate.rows}, buffer, err));
    double *gg = buffer[0], *gu = buffer[1], *part = buffer[2];
    const double *gate = gate_of(f, buffer[3]);
    GEODEC_TRY(geodec__reference_product_vjp(r->pool, &f->down, k * f->m, gy, gu, err));
    if (normed(f)) geodec__reference_norm_vjp(f->m, f->norm, f->h, k, gu, gu);
    divide(f, k, gu);
    geodec__reference_gated_vjp(&f->activation, f->m * f->gate.rows, gate, up, k, gu, gg, gu);
    if (f->cut) geodec__reference_cut_vjp(f->m, f->gate.rows, f->cut_at, f->g, k, gg, gg);
    GEODEC_TRY(geodec__reference_product_vjp(r->pool, &f->gate, k * f->m, gg, gz, err));
    if (up) {
        GEODEC_TRY(geodec__reference_product_vjp(r->pool, &f->up, k * f->m, gu, part, err));
        geodec__reference_add(narrow, part, gz);
    }
done:
    geodec_mem_free(buffer[0]);
    return st;
}
