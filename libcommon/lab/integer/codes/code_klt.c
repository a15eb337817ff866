/* Principal components with one step per vector, entropy-coded into a fixed number of bytes.
 *
 * Fixed-rate scalar codes lose 3 to 4 dB to the rate-distortion function of a Gaussian source at 4 bits, entropy-coded
 * uniform ones 1.5 (Gish and Pierce 1968). Here a vector is one message of a range coder: the step, then each component
 * as round(y / step), with the probabilities of that component's calibrated distribution. The encoder takes the
 * smallest step with which the message fits, so that components of small variance cost next to nothing (reverse
 * water-filling), vectors of large norm get a larger step, and no scale is stored but the step's number.
 *
 * Distribution of a component, in units of its deviation: 32 cells of 1/4 from -4 to 4 and two tails to +-8, uniform
 * inside. Values beyond +-8 deviations escape to an Elias gamma code. The decoder takes the mean of a cell. Rounding is
 * that of least error + LAMBDA step^2 bits between the nearest integer and the next one towards zero. No libm but in
 * calibration. */
#include "base/mem.h"
#include "lab/integer/codes/codes_internal.h"
#include "lab/integer/codes/principal_internal.h"
#include "lab/integer/codes/range_internal.h"

#include <math.h>

enum { CELLS = 32, KNOTS = CELLS + 3, STEPS = 1024, STEPS_OCTAVE = 16, STEP_UNIT = 256, MOST = 4096, FITTED = 4096 };
static const double LAMBDA = 0.09;

typedef struct component {
    double deviation;
    double below[KNOTS];   /* distribution at -8, -4, -3.75, ..., 4, 8 deviations: multiples of 2^-16 */
    double density[KNOTS]; /* of the cell above a knot; exact, as cells have powers of two as widths */
    double moment[KNOTS];  /* first moment below, in deviations */
} component;

typedef struct klt {
    int64_t dim, bytes;
    float *mean, *analysis, *synthesis;
    component *component;
    double unit;                    /* step STEP_UNIT */
    double step[STEPS];             /* unit 2^((i - STEP_UNIT) / STEPS_OCTAVE) */
    uint32_t step_below[STEPS + 1]; /* of 2^16 */
    int32_t usual;
} klt;

/* ---- distributions ---------------------------------------------------------------------------------------------- */

static double knot(int k) { return k == 0 ? -8 : k == KNOTS - 1 ? 8 : (k - 1) * 0.25 - 4; }

/* The knot below t (in deviations), which is within -8 .. 8. */
static int knot_of(double t)
{
    if (t < -4) return 0;
    if (t >= 4) return KNOTS - 2;
    return 1 + (int)((t + 4) * 4);
}

/* Monotone in t after rounding too: the value at the upper knot of a cell is exact. */
static double below(const component *c, double t)
{
    if (t <= -8) return 0;
    if (t >= 8) return 1;
    const int k = knot_of(t);
    return c->below[k] + c->density[k] * (t - (k == 0 ? -8 : (k - 1) * 0.25 - 4));
}

static double moment(const component *c, double t)
{
    if (t <= -8) return 0;
    if (t >= 8) return c->moment[KNOTS - 1];
    const int k = knot_of(t);
    return c->moment[k] + c->density[k] * 0.5 * (t * t - knot(k) * knot(k));
}

/* The symbols of a component at a step: -most .. most, the ends with an escape. */
typedef struct scheme {
    const component *c;
    double step, ratio; /* step / deviation */
    int32_t most;
} scheme;

static scheme scheme_of(const component *c, double step)
{
    const double ratio = step / c->deviation, most = 8 / ratio + 1;
    return (scheme){c, step, ratio, most < MOST ? (int32_t)most : MOST};
}

/* Where the interval of symbol q begins, of 2^16; every symbol has at least 1. */
static uint32_t begin_of(const scheme *s, int32_t q)
{
    if (q <= -s->most) return 0;
    if (q > s->most) return GEODEC__RANGE_ONE;
    const double room = GEODEC__RANGE_ONE - 1 - 2 * s->most;
    return (uint32_t)(below(s->c, ((double)q - 0.5) * s->ratio) * room) + (uint32_t)(q + s->most);
}

static uint32_t size_of(const scheme *s, int32_t q) { return begin_of(s, q + 1) - begin_of(s, q); }

/* -log2(size / 2^16), to 0.01; size >= 1. */
static double bits_of(uint32_t size)
{
    double v = (double)size;
    uint64_t word;
    memcpy(&word, &v, sizeof word);
    const int exponent = (int)(word >> 52) - 1023;
    word = (word & (((uint64_t)1 << 52) - 1)) | (uint64_t)1023 << 52;
    memcpy(&v, &word, sizeof v);
    return GEODEC__RANGE_BITS - exponent - (v - 1) - 0.3437 * (v - 1) * (2 - v);
}

static int log2_of(uint32_t v)
{
    int e = 0;
    while (v >> (e + 1)) e++;
    return e;
}

static double symbol_bits(const scheme *s, int32_t q)
{
    const int32_t size = q < 0 ? -q : q;
    if (size < s->most) return bits_of(size_of(s, q));
    return bits_of(size_of(s, q < 0 ? -s->most : s->most)) + 2 * log2_of((uint32_t)(size - s->most) + 1) + 1;
}

static double value_of(const scheme *s, int32_t q)
{
    if (q <= -s->most || q >= s->most) return q * s->step;
    const double from = ((double)q - 0.5) * s->ratio, to = from + s->ratio;
    const double mass = below(s->c, to) - below(s->c, from);
    if (!(mass > 1e-9)) return q * s->step;
    const double mean = (moment(s->c, to) - moment(s->c, from)) / mass;
    return (mean < from ? from : mean > to ? to : mean) * s->c->deviation;
}

/* ---- vectors ---------------------------------------------------------------------------------------------------- */

static int32_t nearest(double v)
{
    const double size = v < 0 ? -v : v;
    const int32_t q = size < 1e9 ? (int32_t)(size + 0.5) : 1000000000;
    return v < 0 ? -q : q;
}

/* The symbols of y at step i, and their bits with that of the step. */
static double quantise(const klt *l, const double *y, int32_t i, int32_t *q)
{
    double total = bits_of(l->step_below[i + 1] - l->step_below[i]);
    for (int64_t k = 0; k < l->dim; k++) {
        const scheme s = scheme_of(&l->component[k], l->step[i]);
        q[k] = nearest(y[k] / s.step);
        double bits = symbol_bits(&s, q[k]);
        if (q[k] != 0) {
            const int32_t nearer = q[k] > 0 ? q[k] - 1 : q[k] + 1;
            const double other = symbol_bits(&s, nearer), a = y[k] - value_of(&s, q[k]),
                         b = y[k] - value_of(&s, nearer);
            if (b * b - a * a < LAMBDA * s.step * s.step * (bits - other)) {
                q[k] = nearer;
                bits = other;
            }
        }
        total += bits;
    }
    return total;
}

static void put_gamma(geodec__range_writer *w, uint32_t v)
{
    const int e = log2_of(v), half = GEODEC__RANGE_ONE / 2;
    for (int i = 0; i <= e; i++) geodec__range_put(w, i < e ? (uint32_t)half : 0, (uint32_t)half);
    for (int i = e - 1; i >= 0; i--) geodec__range_put(w, v >> i & 1 ? (uint32_t)half : 0, (uint32_t)half);
}

static bool write_message(const klt *l, int32_t step, const int32_t *q, uint8_t *bytes)
{
    geodec__range_writer w = geodec__range_write(bytes, l->bytes);
    geodec__range_put(&w, l->step_below[step], l->step_below[step + 1] - l->step_below[step]);
    for (int64_t k = 0; k < l->dim && !w.over; k++) {
        const scheme s = scheme_of(&l->component[k], l->step[step]);
        const int32_t size = q[k] < 0 ? -q[k] : q[k], symbol = size < s.most ? q[k] : q[k] < 0 ? -s.most : s.most;
        geodec__range_put(&w, begin_of(&s, symbol), size_of(&s, symbol));
        if (size >= s.most) put_gamma(&w, (uint32_t)(size - s.most) + 1);
    }
    return geodec__range_end(&w);
}

/* The smallest step with which the message fits, searched from `usual` on. Returns it; STEPS: none. */
static int32_t encode_vector(const klt *l, const double *y, uint8_t *bytes)
{
    int32_t q[GEODEC_CODES_DIM_MAX], low = -1, high = STEPS, at = l->usual, jump = 4;
    const double most = 8 * (double)l->bytes;
    while (high - low > 1) { /* low: does not fit, high: fits */
        if (quantise(l, y, at, q) <= most)
            high = at;
        else
            low = at;
        if (low >= 0 && high < STEPS) {
            at = (low + high) / 2;
        } else {
            at = low < 0 ? high - jump : low + jump;
            at = at < 0 ? 0 : at >= STEPS ? STEPS - 1 : at;
            if (at == high || at == low) break;
            jump *= 2;
        }
    }
    for (at = high; at < STEPS; at++) {
        (void)quantise(l, y, at, q);
        if (write_message(l, at, q, bytes)) return at;
    }
    memset(bytes, 0, (size_t)l->bytes);
    return STEPS;
}

static void klt_encode(const geodec_codes *c, const float *x, uint8_t *bytes)
{
    const klt *l = c->tables;
    double y[GEODEC_CODES_DIM_MAX];
    geodec__principal_analyse(l->dim, l->dim, l->mean, l->analysis, x, y);
    (void)encode_vector(l, y, bytes);
}

static uint32_t take_gamma(geodec__range_reader *r)
{
    const uint32_t half = GEODEC__RANGE_ONE / 2;
    int e = 0;
    uint32_t v = 1;
    for (;; e++) {
        const bool more = geodec__range_peek(r) >= half;
        geodec__range_take(r, more ? half : 0, half);
        if (!more || e == 29) break;
    }
    for (int i = 0; i < e; i++) {
        const bool one = geodec__range_peek(r) >= half;
        geodec__range_take(r, one ? half : 0, half);
        v = v << 1 | one;
    }
    return v;
}

static int32_t take_symbol(geodec__range_reader *r, const scheme *s)
{
    const uint32_t at = geodec__range_peek(r);
    int32_t low = -s->most, high = s->most + 1; /* begin(low) <= at < begin(high) */
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        if (begin_of(s, middle) <= at)
            low = middle;
        else
            high = middle;
    }
    geodec__range_take(r, begin_of(s, low), size_of(s, low));
    if (low == s->most || low == -s->most) {
        const int32_t more = (int32_t)take_gamma(r) - 1;
        return low < 0 ? low - more : low + more;
    }
    return low;
}

static geodec_status klt_decode(const geodec_codes *c, const uint8_t *bytes, float *x, geodec_err *err)
{
    const klt *l = c->tables;
    double y[GEODEC_CODES_DIM_MAX];
    geodec__range_reader r = geodec__range_read(bytes, l->bytes);
    (void)err;
    const uint32_t at = geodec__range_peek(&r);
    int32_t step = 0;
    while (l->step_below[step + 1] <= at) step++;
    geodec__range_take(&r, l->step_below[step], l->step_below[step + 1] - l->step_below[step]);
    for (int64_t k = 0; k < l->dim; k++) {
        const scheme s = scheme_of(&l->component[k], l->step[step]);
        y[k] = value_of(&s, take_symbol(&r, &s));
    }
    geodec__principal_synthesise(l->dim, l->dim, l->mean, l->synthesis, y, x);
    return GEODEC_OK;
}

/* ---- calibration ------------------------------------------------------------------------------------------------ */

static int64_t klt_bytes(int32_t share, int64_t dim)
{
    const int64_t bytes = geodec_codes_budget(dim) * share / 63;
    return bytes > 2 ? bytes : 2;
}

static void fit_component(int64_t n, int64_t dim, const float *y, double floor_, component *c)
{
    double square = 0, count[KNOTS - 1], total = 0;
    for (int64_t i = 0; i < n; i++) square += (double)y[i * dim] * (double)y[i * dim];
    c->deviation = (double)(float)sqrt(square / (double)n);
    if (!(c->deviation > floor_)) c->deviation = floor_;
    for (int k = 0; k < KNOTS - 1; k++) { /* a prior of 8 values: a Laplace distribution, as wide as the cells allow */
        const double middle = 0.5 * (knot(k) + knot(k + 1));
        total += count[k] = exp(-1.4142 * fabs(middle)) * (knot(k + 1) - knot(k)) * 8 * 0.7071;
    }
    for (int64_t i = 0; i < n; i++) {
        const double t = (double)y[i * dim] / c->deviation, within = t < -7.9 ? -7.9 : t > 7.9 ? 7.9 : t;
        count[knot_of(within)]++;
        total++;
    }
    double sum = 0;
    for (int k = 0; k < KNOTS; k++) { /* stored as multiples of 2^-16 */
        c->below[k] = k == KNOTS - 1 ? 1 : (double)(int32_t)(sum / total * 65536) / 65536;
        if (k < KNOTS - 1) sum += count[k];
    }
    for (int k = 0; k < KNOTS - 1; k++) c->density[k] = (c->below[k + 1] - c->below[k]) / (knot(k + 1) - knot(k));
    c->moment[0] = 0;
    for (int k = 1; k < KNOTS; k++)
        c->moment[k] = c->moment[k - 1] + (c->below[k] - c->below[k - 1]) * 0.5 * (knot(k - 1) + knot(k));
}

static void flat_steps(klt *l)
{
    for (int i = 0; i <= STEPS; i++) l->step_below[i] = (uint32_t)i * (GEODEC__RANGE_ONE / STEPS);
}

/* The steps that some of the vectors take, smoothed over neighbours. */
static void fit_steps(klt *l, int64_t n, const float *x)
{
    uint8_t bytes[GEODEC_CODES_DIM_MAX];
    double y[GEODEC_CODES_DIM_MAX], count[STEPS + 2] = {0}, total = 0, sum = 0;
    const int64_t used = n < FITTED ? n : FITTED;
    for (int64_t k = 0; k < used; k++) {
        geodec__principal_analyse(l->dim, l->dim, l->mean, l->analysis, x + k * n / used * l->dim, y);
        const int32_t i = encode_vector(l, y, bytes);
        if (i < STEPS) count[i + 1]++;
        if (i < STEPS) l->usual = i;
    }
    int32_t best = 0;
    double weight[STEPS];
    for (int i = 0; i < STEPS; i++) {
        total += weight[i] = count[i + 1] + 0.25 * (count[i] + count[i + 2]) + 1e-9;
        if (weight[i] > weight[best]) best = i;
    }
    l->usual = best;
    for (int i = 0; i < STEPS; i++) {
        l->step_below[i] = (uint32_t)(sum / total * (GEODEC__RANGE_ONE - STEPS)) + (uint32_t)i;
        sum += weight[i];
    }
    l->step_below[STEPS] = GEODEC__RANGE_ONE;
}

static geodec_status klt_create(geodec_codes *c, const geodec_codes_sample *sample, geodec_err *err)
{
    static const double root[4] = {1.0442737824274138, 1.0905077326652577, 1.189207115002721, 1.4142135623730951};
    geodec_status st = GEODEC_OK;
    const int64_t dim = c->dim, n = sample->n;
    double *y = NULL;
    float *all = NULL;
    klt *l = NULL;
    GEODEC_NEW(l, 1);
    c->tables = l;
    l->dim = dim;
    l->bytes = klt_bytes(c->kind->parameter, dim);
    GEODEC_NEW_EACH(dim, l->mean, y);
    GEODEC_NEW(l->component, dim);
    GEODEC_NEW_EACH(dim * dim, l->analysis, l->synthesis);
    GEODEC_NEW(all, n * dim);
    GEODEC_TRY(geodec__principal_fit(dim, sample, l->mean, l->analysis, l->synthesis, err));
    for (int64_t k = 0; k < n; k++) {
        geodec__principal_analyse(dim, dim, l->mean, l->analysis, sample->x + k * dim, y);
        for (int64_t i = 0; i < dim; i++) all[k * dim + i] = (float)y[i];
    }
    for (int64_t i = 0; i < dim; i++)
        fit_component(n, dim, all + i, i == 0 ? 1e-20 : l->component[0].deviation * 1e-6, &l->component[i]);
    l->unit = l->component[0].deviation;
    for (int i = 0; i < STEPS; i++) {
        double within = l->unit;
        for (int b = 0; b < 4; b++)
            if (i % STEPS_OCTAVE >> b & 1) within *= root[b];
        l->step[i] = ldexp(within, (i - i % STEPS_OCTAVE - STEP_UNIT) / STEPS_OCTAVE);
    }
    flat_steps(l);
    l->usual = STEP_UNIT - 2 * STEPS_OCTAVE;
    fit_steps(l, n, sample->x);
    /* the mean, the basis, with a metric its inverse too, deviations, distributions, steps */
    c->shared = 4 * dim * (1 + dim * (sample->metric ? 2 : 1) + 1) + 2 * dim * (KNOTS - 2) + 2 * STEPS;
done:
    GEODEC_FREE(y, all);
    return st;
}

static void klt_destroy(void *tables)
{
    klt *l = tables;
    GEODEC_FREE(l->mean, l->analysis, l->synthesis, l->component, l);
}

const geodec_codes_method geodec__codes_klt = {1, klt_bytes, klt_create, klt_destroy, klt_encode, klt_decode};
