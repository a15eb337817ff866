/* The shim: both readings of Config B and E, and the cancellation theorem with its limits (S1). */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/integer/ring/shim.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

typedef geodec_ring_element element;

/* ---- readings --------------------------------------------------------------------------------------------------- */

static element image(element x, int64_t p, int64_t k)
{
    element out;
    test_ok(geodec_ring_shim_frobenius(x, p, k, &out, NULL), (geodec_err *)NULL);
    return out;
}

Test(ring_shim, powers_of_the_table)
{
    for (int c = 0; c < GEODEC_RING_SHIM_CONFIGS; c++) {
        const geodec_ring_shim *s = geodec_ring_shim_of((geodec_ring_shim_config)c);
        element power;
        int64_t norm;
        test_ok(geodec_ring_pow(s->pi, s->k, &power, NULL), (geodec_err *)NULL);
        cr_assert(power.a == s->power.a && power.b == s->power.b);
        test_ok(geodec_ring_norm(power, &norm, NULL), (geodec_err *)NULL);
        cr_assert_eq(norm, s->modulus * s->modulus);
    }
    cr_assert_null(geodec_ring_shim_of((geodec_ring_shim_config)9));
}

/* Reading 1 is the identity in both configurations, the conjugation for p = 2, k = 1, and for any inert p an involution
 * that fixes the rational integers alone. */
Test(ring_shim, residue_field_frobenius)
{
    for (int64_t i = 0; i < 41 * 41; i++) {
        const element x = {i % 41, i / 41};
        for (int64_t k = 0; k <= 8; k++) cr_assert(image(x, 41, k).a == x.a && image(x, 41, k).b == x.b);
    }
    for (int64_t i = 0; i < 4; i++) {
        const element x = {i % 2, i / 2}, y = image(x, 2, 1), z = image(x, 2, 2);
        cr_assert(y.a == (x.a + x.b) % 2 && y.b == x.b); /* -b = b */
        cr_assert(z.a == x.a && z.b == x.b);
    }
    for (int64_t i = 0; i < 37 * 37; i++) {
        const element x = {i % 37, i / 37}, y = image(x, 37, 1), z = image(y, 37, 1);
        cr_assert(y.a == (x.a + x.b) % 37 && y.b == (37 - x.b) % 37);
        cr_assert(z.a == x.a && z.b == x.b);
    }
    const element y = image((element){INT64_MIN, -1}, 2147483647, 1); /* any coordinates are reduced first */
    cr_assert(y.a >= 0 && y.a < 2147483647 && y.b >= 0);
    element out;
    cr_assert_eq(geodec_ring_shim_frobenius((element){1, 1}, 1, 1, &out, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_shim_frobenius((element){1, 1}, 41, -1, &out, NULL), GEODEC_RANGE);
}

enum { WEIGHTS = 5000 };

static float *weights(void)
{
    float *w = geodec_mem_new(WEIGHTS, sizeof *w);
    geodec_rng g = geodec_rng_stream(15, 5);
    for (int i = 0; i < WEIGHTS; i++) w[i] = (float)(0.02 * geodec_rng_normal(&g));
    return w;
}

/* Only reading 2 of Config B differs from plain encoding; its error is no larger than half a step either. */
Test(ring_shim, only_scaling_by_41_changes_weights)
{
    for (int reading = 1; reading <= GEODEC_RING_SHIM_READINGS; reading++)
        for (int c = 0; c < GEODEC_RING_SHIM_CONFIGS; c++)
            for (int q = 4; q <= 20; q += 4) {
                float *w = weights(), *before = weights();
                geodec_ring_shim_report r;
                test_ok(geodec_ring_shim_apply((geodec_ring_shim_config)c, reading, q, w, WEIGHTS, &r, NULL),
                        (geodec_err *)NULL);
                const bool moves = reading == 2 && c == GEODEC_RING_SHIM_B;
                if (moves)
                    cr_assert_gt(r.changed, WEIGHTS / 2);
                else
                    cr_assert(r.changed == 0 && r.error == r.plain);
                const double factor =
                    reading == 2 ? (double)geodec_ring_shim_of((geodec_ring_shim_config)c)->modulus : 1;
                const double half = ldexp(0.5, r.exponent) / factor;
                for (int i = 0; i < WEIGHTS; i++)
                    cr_assert_leq(fabs((double)w[i] - (double)before[i]), half * (1 + 1e-6) + 1e-9);
                cr_assert(r.error > 0 && r.error < 2.01 * r.plain && r.plain < 2.01 * r.error);
                GEODEC_FREE(w, before);
            }
    float w[2] = {1, NAN};
    cr_assert_eq(geodec_ring_shim_apply(GEODEC_RING_SHIM_B, 2, 8, w, 2, NULL, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_ring_shim_apply(GEODEC_RING_SHIM_B, 3, 8, w, 1, NULL, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_shim_apply((geodec_ring_shim_config)7, 1, 8, w, 1, NULL, NULL), GEODEC_RANGE);
}

/* ---- cancellation ----------------------------------------------------------------------------------------------- */

enum { D = 16, HEADS = 2, HEAD = D / HEADS, FF = 24, ROWS = 5, BITS = 12 };
enum { Q, K, V, O, GATE, UP, DOWN, SLOTS };
static const char *const names[SLOTS] = {"q", "k", "v", "o", "gate", "up", "down"};
static const int shape[SLOTS][2] = {{D, D}, {D, D}, {D, D}, {D, D}, {FF, D}, {FF, D}, {D, FF}};

/* One layer of a transformer. norms: QK-norm and norms after both halves, as in gemma3; without: llama. */
typedef struct layer {
    bool norms;
    double eps[SLOTS]; /* of the norm that the slot's output reaches; the norms before the halves have eps 0 */
    double w[SLOTS][FF * D];
} layer;

static void rms_norm(double *x, int n, double eps)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    for (int i = 0; i < n; i++) x[i] /= sqrt(sum / n + eps);
}

static void apply(const layer *l, int slot, const double *x, double *y)
{
    for (int i = 0; i < shape[slot][0]; i++) {
        y[i] = 0;
        for (int k = 0; k < shape[slot][1]; k++) y[i] += l->w[slot][i * shape[slot][1] + k] * x[k];
    }
}

static void attend(const layer *l, double (*q)[D], double (*k)[D], double (*v)[D], int row, double *out)
{
    for (int h = 0; h < HEADS; h++) {
        double weight[ROWS], top = -INFINITY, sum = 0;
        for (int t = 0; t <= row; t++) {
            weight[t] = 0;
            for (int i = h * HEAD; i < (h + 1) * HEAD; i++) weight[t] += q[row][i] * k[t][i];
            weight[t] /= sqrt(HEAD);
            top = fmax(top, weight[t]);
        }
        for (int t = 0; t <= row; t++) sum += weight[t] = exp(weight[t] - top);
        for (int i = h * HEAD; i < (h + 1) * HEAD; i++) {
            out[i] = 0;
            for (int t = 0; t <= row; t++) out[i] += weight[t] / sum * v[t][i];
        }
    }
    (void)l;
}

static void forward(const layer *l, const double (*in)[D], double (*out)[D])
{
    double q[ROWS][D], k[ROWS][D], v[ROWS][D];
    for (int r = 0; r < ROWS; r++) {
        double x[D];
        memcpy(x, in[r], sizeof x);
        rms_norm(x, D, 0);
        apply(l, Q, x, q[r]);
        apply(l, K, x, k[r]);
        apply(l, V, x, v[r]);
        for (int h = 0; h < HEADS && l->norms; h++) {
            rms_norm(q[r] + h * HEAD, HEAD, l->eps[Q]);
            rms_norm(k[r] + h * HEAD, HEAD, l->eps[K]);
        }
    }
    for (int r = 0; r < ROWS; r++) {
        double heads[D], y[D], x[D], gate[FF], up[FF];
        attend(l, q, k, v, r, heads);
        apply(l, O, heads, y);
        if (l->norms) rms_norm(y, D, l->eps[O]);
        for (int i = 0; i < D; i++) out[r][i] = x[i] = in[r][i] + y[i];
        rms_norm(x, D, 0);
        apply(l, GATE, x, gate);
        apply(l, UP, x, up);
        for (int i = 0; i < FF; i++)
            up[i] *=
                0.5 * gate[i] * (1 + tanh(0.7978845608028654 * (gate[i] + 0.044715 * gate[i] * gate[i] * gate[i])));
        apply(l, DOWN, up, y);
        if (l->norms) rms_norm(y, D, l->eps[DOWN]);
        for (int i = 0; i < D; i++) out[r][i] += y[i];
    }
}

typedef struct ratio {
    int64_t num, den;
    bool power_of_two;
} ratio;
static const ratio scales[] = {{2, 1, true}, {4, 1, true}, {2825761, 1, false}, {37, 100, false}};
enum { SCALES = sizeof scales / sizeof *scales };

/* Weights are codes of the ring; the slot's are multiplied by num / den in their scale's exact factor. */
static void fill(layer *l, int slot, ratio s)
{
    geodec_rng g = geodec_rng_stream(15, 6);
    for (int i = 0; i < SLOTS; i++) {
        const int n = shape[i][0] * shape[i][1];
        float w[FF * D];
        element x[FF * D];
        geodec_ring_scale scale = {1, 1, 0};
        for (int k = 0; k < n; k++) w[k] = (float)(geodec_rng_normal(&g) / sqrt(shape[i][1]));
        test_ok(geodec_ring_encode(w, n, BITS, &scale, x, NULL), (geodec_err *)NULL);
        if (i == slot) test_ok(geodec_ring_encode_factor(&scale, s.den, s.num, NULL), (geodec_err *)NULL);
        for (int k = 0; k < n; k++) l->w[i][k] = geodec_ring_encode_value(scale, x[k].a);
    }
}

/* Largest relative difference of the layer's outputs when a slot is scaled. scaled_eps: its norm's eps times s^2. */
static double difference(bool norms, double eps, int slot, ratio s, bool scaled_eps)
{
    static layer plain, scaled;
    double in[ROWS][D], x[ROWS][D], y[ROWS][D], most = 0, top = 0;
    geodec_rng g = geodec_rng_stream(15, 7);
    for (int i = 0; i < ROWS * D; i++) in[i / D][i % D] = geodec_rng_normal(&g);
    plain.norms = scaled.norms = norms;
    for (int i = 0; i < SLOTS; i++) plain.eps[i] = scaled.eps[i] = eps;
    const double f = (double)s.num / (double)s.den;
    if (scaled_eps) {
        const int norm = slot == V ? O : slot == UP ? DOWN : slot; /* the norm that it reaches */
        scaled.eps[norm] *= f * f;
    }
    fill(&plain, -1, s);
    fill(&scaled, slot, s);
    forward(&plain, (const double(*)[D])in, x);
    forward(&scaled, (const double(*)[D])in, y);
    for (int i = 0; i < ROWS * D; i++) {
        top = fmax(top, fabs(x[i / D][i % D]));
        most = fmax(most, fabs(x[i / D][i % D] - y[i / D][i % D]));
    }
    return most / top;
}

Test(ring_shim, cancels_with_norms_after)
{
    for (int slot = 0; slot < SLOTS; slot++)
        for (int i = 0; i < SCALES; i++) {
            const double d = difference(true, 0, slot, scales[i], false);
            cr_log_info("norms after, eps 0, %s times %lld / %lld: %.3g", names[slot], (long long)scales[i].num,
                        (long long)scales[i].den, d);
            if (slot == GATE)
                cr_assert_gt(d, 0.01, "a gate's weights cancel");
            else if (scales[i].power_of_two)
                cr_assert_eq(d, 0, "%s", names[slot]);
            else
                cr_assert_leq(d, 1e-13, "%s", names[slot]); /* some hundreds of roundings of 1.1e-16 */
        }
}

Test(ring_shim, does_not_cancel_without)
{
    for (int slot = 0; slot < SLOTS; slot++)
        for (int i = 0; i < SCALES; i++) {
            const double d = difference(false, 0, slot, scales[i], false);
            cr_log_info("no norms after, eps 0, %s times %lld / %lld: %.3g", names[slot], (long long)scales[i].num,
                        (long long)scales[i].den, d);
            cr_assert_gt(d, 0.01, "%s", names[slot]);
        }
}

/* eps > 0 leaves a difference, unless eps is multiplied by s^2 too. */
Test(ring_shim, eps_limits_cancellation)
{
    for (int slot = 0; slot < SLOTS; slot++)
        for (int i = 0; i < SCALES && slot != GATE; i++) {
            const double kept = difference(true, 1e-3, slot, scales[i], false);
            const double scaled = difference(true, 1e-3, slot, scales[i], true);
            cr_assert(kept > 1e-6 && kept < 0.1, "%s: %g", names[slot], kept);
            if (scales[i].power_of_two)
                cr_assert_eq(scaled, 0, "%s", names[slot]);
            else
                cr_assert_leq(scaled, 1e-13, "%s: %g", names[slot], scaled);
        }
    /* the size of it, for one norm: eps / (2 ms) (1 - 1 / s^2) to first order */
    for (int i = 0; i < SCALES; i++) {
        const double s = (double)scales[i].num / (double)scales[i].den, eps = 1e-6;
        double x[D], y[D], ms = 0;
        geodec_rng g = geodec_rng_stream(15, 8);
        for (int k = 0; k < D; k++) {
            x[k] = geodec_rng_normal(&g);
            y[k] = s * x[k];
            ms += x[k] * x[k] / D;
        }
        rms_norm(x, D, eps);
        rms_norm(y, D, eps);
        const double wanted = eps / (2 * ms) * (1 - 1 / (s * s));
        for (int k = 0; k < D; k++) cr_assert_float_eq(y[k] / x[k] - 1, wanted, 1e-4 * fabs(wanted) + 1e-15);
    }
}
