#include "session/attnres.h"
#include "session/arch_internal.h"

#include "base/mem.h"
#include "session/model_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---------------------------------------------------------------------------------------------------- */

bool geodec_attnres_on(const geodec_attnres *a)
{
    return a->damp > 0 || a->rescale > 0 || a->depth_attn > 0 || a->block_softmax > 0;
}

/* Checks ranges and combinations. GEODEC_RANGE, GEODEC_INVAL. */
static geodec_status check(const geodec_attnres *a, geodec_err *err)
{
    const double strength[] = {a->damp, a->rescale, a->depth_attn, a->block_softmax};
    int on = 0;
    for (size_t i = 0; i < sizeof strength / sizeof *strength; i++) {
        if (!(strength[i] >= 0 && strength[i] <= 1))
            GEODEC_FAIL(GEODEC_RANGE, "attnres: a strength of %g is outside 0 to 1", strength[i]);
        on += strength[i] > 0;
    }
    if (a->depth_attn > 0 && (a->window < 1 || a->window > GEODEC_ATTNRES_WINDOW))
        GEODEC_FAIL(GEODEC_RANGE, "attnres: a window of %d layers is outside 1 to %d", a->window,
                    GEODEC_ATTNRES_WINDOW);
    if (a->block_softmax > 0 && (a->blocks < 1 || a->blocks > GEODEC_ATTNRES_BLOCKS))
        GEODEC_FAIL(GEODEC_RANGE, "attnres: %d blocks are outside 1 to %d", a->blocks, GEODEC_ATTNRES_BLOCKS);
    if (a->block_softmax > 0 && !(a->tau > 0 && a->tau < 1e6))
        GEODEC_FAIL(GEODEC_RANGE, "attnres: a temperature of %g", a->tau);
    if (on > 1 && !(on == 2 && a->damp > 0 && a->depth_attn > 0))
        GEODEC_FAIL(GEODEC_INVAL, "attnres: only damp and depth_attn can be combined");
    return GEODEC_OK;
}

/* A number that takes all n bytes. */
static bool number(const char *at, size_t n, double *out)
{
    char text[32], *end;
    if (n == 0 || n >= sizeof text) return false;
    memcpy(text, at, n);
    text[n] = '\0';
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out);
}

static bool is_word(const char *at, size_t n, const char *word) { return n == strlen(word) && !memcmp(at, word, n); }

/* KEY=VALUE after a strength. */
static bool parse_setting(geodec_attnres *a, bool depth, const char *at, size_t n)
{
    const char *equals = memchr(at, '=', n);
    if (!equals) return false;
    const size_t key = (size_t)(equals - at), size = n - key - 1;
    double value = 0;
    if (!depth && is_word(at, key, "query")) {
        a->zero_query = is_word(equals + 1, size, "zero");
        return a->zero_query || is_word(equals + 1, size, "state");
    }
    if (!number(equals + 1, size, &value)) return false;
    if (!depth && is_word(at, key, "tau")) {
        a->tau = value;
        return true;
    }
    if (value != floor(value) || fabs(value) > 1e6) return false;
    if (depth && is_word(at, key, "window"))
        a->window = (int32_t)value;
    else if (!depth && is_word(at, key, "blocks"))
        a->blocks = (int32_t)value;
    else
        return false;
    return true;
}

static bool parse_part(geodec_attnres *a, const char *at, size_t n)
{
    static const char *const names[] = {"damp", "rescale", "depth_attn", "block_softmax"};
    double *const strength[] = {&a->damp, &a->rescale, &a->depth_attn, &a->block_softmax};
    const char *end = at + n, *colon = memchr(at, ':', n);
    size_t which = 0;
    while (colon && which < 4 && !is_word(at, (size_t)(colon - at), names[which])) which++;
    if (!colon || which == 4) return false;
    const char *value = colon + 1, *next = memchr(value, ':', (size_t)(end - value));
    if (!number(value, (size_t)((next ? next : end) - value), strength[which])) return false;
    for (; next;) {
        const char *setting = next + 1;
        next = memchr(setting, ':', (size_t)(end - setting));
        if (which < 2 || !parse_setting(a, which == 2, setting, (size_t)((next ? next : end) - setting))) return false;
    }
    return true;
}

geodec_status geodec_attnres_parse(const char *text, geodec_attnres *out, geodec_err *err)
{
    *out = (geodec_attnres){.window = 16, .blocks = 8, .tau = 1};
    if (!text || strcmp(text, "off") == 0) return GEODEC_OK;
    for (const char *at = text;;) {
        const size_t n = strcspn(at, "+");
        if (!parse_part(out, at, n))
            GEODEC_FAIL(GEODEC_INVAL,
                        "attnres '%.80s': not damp:S, rescale:S, depth_attn:S[:window=N] or "
                        "block_softmax:S[:blocks=N][:tau=T][:query=state|zero]",
                        text);
        if (!at[n]) break;
        at += n + 1;
    }
    GEODEC_PASS(check(out, err));
    return GEODEC_OK;
}

void geodec_attnres_text(const geodec_attnres *a, char text[GEODEC_ATTNRES_TEXT])
{
    int n = snprintf(text, GEODEC_ATTNRES_TEXT, "%s", geodec_attnres_on(a) ? "" : "off");
    if (a->damp > 0) n += snprintf(text + n, GEODEC_ATTNRES_TEXT - (size_t)n, "damp:%g", a->damp);
    if (a->rescale > 0) n += snprintf(text + n, GEODEC_ATTNRES_TEXT - (size_t)n, "rescale:%g", a->rescale);
    if (a->depth_attn > 0)
        n += snprintf(text + n, GEODEC_ATTNRES_TEXT - (size_t)n, "%sdepth_attn:%g:window=%d", n ? "+" : "",
                      a->depth_attn, a->window);
    if (a->block_softmax > 0)
        (void)snprintf(text + n, GEODEC_ATTNRES_TEXT - (size_t)n, "block_softmax:%g:blocks=%d:tau=%g:query=%s",
                       a->block_softmax, a->blocks, a->tau, a->zero_query ? "zero" : "state");
}

/* ---- state ------------------------------------------------------------------------------------------------------ */

/* State of a row of the batch besides its stream, from its embedding to its head: slots of [pad(d_model)].
 *   rescale        the plain sum, the damped stream
 *   depth_attn     the stream after layer l at slot l % window
 *   block_softmax  the plain sum, b_0, b_1, .. */
struct geodec__attnres {
    geodec_attnres how;
    int64_t places, stride; /* of a row; floats of a slot */
    int64_t blocks, window; /* at most the layers of the model */
    float *data;            /* [max_batch][places][stride] */
};

static float *place_of(const geodec__attnres *a, int64_t row, int64_t place)
{
    return a->data + (row * a->places + place) * a->stride;
}

geodec_status geodec__attnres_create(geodec_session *s, const geodec_attnres *how, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    geodec__attnres *a = NULL;
    GEODEC_TRY(check(how, err));
    if (!geodec_attnres_on(how)) goto done;
    const char *part = geodec__model_part_beyond(s->model);
    if (part) GEODEC_THROW(GEODEC_UNSUPPORTED, "residual attention does not support %s", part);
    GEODEC_NEW(a, 1);
    a->how = *how;
    a->stride = geodec__pad(c->d_model);
    a->window = how->window < c->n_layer ? how->window : c->n_layer;
    a->blocks = how->blocks < c->n_layer ? how->blocks : c->n_layer;
    a->places = how->rescale > 0 ? 2 : how->block_softmax > 0 ? a->blocks + 2 : how->depth_attn > 0 ? a->window : 0;
    if (a->places > 0) GEODEC_NEW(a->data, s->max_batch * a->places * a->stride);
    s->attnres = a;
    a = NULL;
done:
    geodec_mem_free(a);
    return st;
}

void geodec__attnres_destroy(geodec__attnres *a)
{
    if (!a) return;
    GEODEC_FREE(a->data, a);
}

const geodec_attnres *geodec__attnres_how(const geodec__attnres *a)
{
    static const geodec_attnres off = {0};
    return a ? &a->how : &off;
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

static double dot(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* The factors of the papers' runtime. */
static float damping(double s, bool feed, double f)
{
    const double least = feed ? 0.65 : 0.70, factor = 1 - (feed ? 0.18 : 0.12) * s * f;
    return (float)(factor > least ? factor : least);
}

/* score [n] to weights that sum to 1. */
static void softmax(double *score, int64_t n)
{
    double top = score[0], sum = 0;
    for (int64_t i = 1; i < n; i++) top = score[i] > top ? score[i] : top;
    for (int64_t i = 0; i < n; i++) sum += score[i] = exp(score[i] - top);
    for (int64_t i = 0; i < n; i++) score[i] /= sum;
}

static void rescale(const geodec__attnres *a, int64_t row, const float *y, float factor, int64_t d, float *x)
{
    float *sum = place_of(a, row, 0), *damped = place_of(a, row, 1);
    for (int64_t i = 0; i < d; i++) {
        sum[i] += y[i];
        damped[i] = factor * (damped[i] + y[i]);
    }
    const double before = dot(sum, sum, d), after = dot(damped, damped, d);
    const double ratio = before > 0 ? sqrt(after / before) : 1;
    for (int64_t i = 0; i < d; i++) x[i] = (float)(ratio * (double)sum[i]);
}

/* Mixes x of a row after layer l with its states after the layers before, and keeps x for later layers. */
static void depth_attention(const geodec__attnres *a, int64_t row, int64_t l, double f, int64_t d, float *x)
{
    double score[GEODEC_ATTNRES_WINDOW];
    const int64_t window = a->window, first = l > window ? l - window : 0, n = l - first;
    const double length = sqrt(dot(x, x, d) + 1e-9), most = a->how.depth_attn * f, w = most < 0.85 ? most : 0.85;
    for (int64_t p = 0; p < n; p++) {
        const float *state = place_of(a, row, (first + p) % window);
        score[p] = 6 * dot(x, state, d) / (length * sqrt(dot(state, state, d) + 1e-9));
    }
    if (n > 0) softmax(score, n);
    for (int64_t i = 0; i < d; i++) {
        double mixed = 0;
        for (int64_t p = 0; p < n; p++) mixed += score[p] * (double)place_of(a, row, (first + p) % window)[i];
        /* the slot of the oldest state is reused for this layer's, unmixed */
        place_of(a, row, l % window)[i] = x[i];
        if (n > 0) x[i] = (float)((1 - w) * (double)x[i] + w * mixed);
    }
}

/* Sources b_0 .. b_{n-1}. */
static void block_mixture(const geodec__attnres *a, int64_t row, int64_t n, int64_t d, double eps, float *x)
{
    double score[GEODEC_ATTNRES_BLOCKS + 1];
    const float *sum = place_of(a, row, 0), *b = place_of(a, row, 1);
    const double s = a->how.block_softmax, width = (double)d, squares = dot(sum, sum, d);
    for (int64_t k = 0; k < n; k++) {
        const float *source = b + k * a->stride;
        const double norms = sqrt(squares / width + eps) * sqrt(dot(source, source, d) / width + eps);
        score[k] = a->how.zero_query ? 0 : dot(sum, source, d) / norms / (a->how.tau * sqrt(width));
    }
    softmax(score, n);
    double mixed_squares = 0;
    for (int64_t i = 0; i < d; i++) {
        double mixed = 0;
        for (int64_t k = 0; k < n; k++) mixed += score[k] * (double)b[k * a->stride + i];
        x[i] = (float)mixed;
        mixed_squares += mixed * mixed;
    }
    const double g = mixed_squares > 0 ? sqrt(squares / mixed_squares) : 0;
    for (int64_t i = 0; i < d; i++) x[i] = (float)((1 - s) * (double)sum[i] + s * g * (double)x[i]);
}

static void add_block(const geodec__attnres *a, int64_t row, int64_t l, bool feed, const float *y, int64_t n_layer,
                      int64_t d, double eps, float *x)
{
    const int64_t block = 1 + l * a->blocks / n_layer;
    const bool first = !feed && (l == 0 || (l - 1) * a->blocks / n_layer != l * a->blocks / n_layer);
    float *sum = place_of(a, row, 0), *b = place_of(a, row, 1 + block);
    for (int64_t i = 0; i < d; i++) {
        sum[i] += y[i];
        b[i] = first ? y[i] : b[i] + y[i];
    }
    block_mixture(a, row, block + 1, d, eps, x);
}

void geodec__attnres_begin(geodec_session *s, int64_t row)
{
    const geodec__attnres *a = s->attnres;
    const size_t bytes = (size_t)s->model->config.d_model * sizeof(float);
    if (a->how.rescale <= 0 && a->how.block_softmax <= 0) return;
    memcpy(place_of(a, row, 0), s->x_row[row], bytes);
    memcpy(place_of(a, row, 1), s->x_row[row], bytes);
}

void geodec__attnres_add(geodec_session *s, int64_t row, int32_t layer, bool feed, const float *y)
{
    const geodec__attnres *a = s->attnres;
    const geodec_model_config *c = &s->model->config;
    const int64_t d = c->d_model;
    const double f = (double)(layer + 1) / (double)c->n_layer;
    float *x = s->x_row[row];
    if (a->how.block_softmax > 0) {
        add_block(a, row, layer, feed, y, c->n_layer, d, (double)c->rms_eps, x);
        return;
    }
    if (a->how.rescale > 0) {
        rescale(a, row, y, damping(a->how.rescale, feed, f), d, x);
        return;
    }
    const float factor = a->how.damp > 0 ? damping(a->how.damp, feed, f) : 1;
    for (int64_t i = 0; i < d; i++) x[i] = factor * (x[i] + y[i]);
    if (a->how.depth_attn > 0 && feed) depth_attention(a, row, layer, f, d, x);
}
