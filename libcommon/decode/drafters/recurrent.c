#include "drafters/recurrent.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "linalg/blas.h"

#include <math.h>
#include <string.h>

enum { LANES = 8 };

void geodec_recurrent_clear(geodec_recurrent *r)
{
    GEODEC_FREE(r->token_of, r->class_of, r->weight);
    *r = (geodec_recurrent){0};
}

int64_t geodec_recurrent_count(const geodec_recurrent *r)
{
    const int64_t h = r->width, c = r->classes;
    return h * (1 + GEODEC_RECURRENT_PARTS * r->d + GEODEC_RECURRENT_BACK * (c + 1) + h + 1 + h + c) + c;
}

geodec_recurrent_arrays geodec_recurrent_parts(const geodec_recurrent *r)
{
    geodec_recurrent_arrays p;
    const int64_t h = r->width;
    p.start = r->weight;
    p.input = p.start + h;
    p.token = p.input + GEODEC_RECURRENT_PARTS * r->d * h;
    p.hidden = p.token + GEODEC_RECURRENT_BACK * (r->classes + 1) * h;
    p.bias = p.hidden + h * h;
    p.carry = p.bias + h;
    p.head = p.carry + h * h;
    p.prior = p.head + h * r->classes;
    return p;
}

void geodec_recurrent_advance(int64_t d, const float *h, bool first, float *f)
{
    double square = 0;
    for (int64_t i = 0; i < d; i++) square += (double)h[i] * (double)h[i];
    const float factor = (float)(1 / sqrt(square / (double)d + 1e-5));
    for (int64_t i = 0; i < d; i++) {
        const float s = h[i] * factor;
        f[i] = s;
        f[d + i] = first ? s : 0.5F * f[d + i] + 0.5F * s;
        f[2 * d + i] = first ? s : 0.9F * f[2 * d + i] + 0.1F * s;
    }
}

void geodec_recurrent_start(const geodec_recurrent *r, const float *f, float *c)
{
    const geodec_recurrent_arrays w = geodec_recurrent_parts(r);
    memcpy(c, w.start, (size_t)r->width * sizeof *c);
    geodec_blas_gemv_f32(GEODEC_RECURRENT_PARTS * r->d, r->width, f, w.input, c);
}

void geodec_recurrent_step(const geodec_recurrent *r, float *c, const int32_t x[GEODEC_RECURRENT_BACK], float *h)
{
    const geodec_recurrent_arrays w = geodec_recurrent_parts(r);
    for (int64_t b = 0; b < GEODEC_RECURRENT_BACK; b++) {
        const int64_t class = x[b] < 0 || x[b] >= r->vocab ? r->classes : r->class_of[x[b]];
        const float *t = w.token + (b * (r->classes + 1) + class) * r->width;
        for (int64_t i = 0; i < r->width; i++) c[i] += t[i];
    }
    memcpy(h, w.bias, (size_t)r->width * sizeof *h);
    for (int64_t i = 0; i < r->width; i++) c[i] = c[i] > 0 ? c[i] : 0;
    geodec_blas_gemv_f32(r->width, r->width, c, w.hidden, h);
    for (int64_t i = 0; i < r->width; i++) h[i] = c[i] + (h[i] > 0 ? h[i] : 0);
}

void geodec_recurrent_probabilities(const geodec_recurrent *r, const float *h, float *p)
{
    const geodec_recurrent_arrays w = geodec_recurrent_parts(r);
    memcpy(p, w.prior, (size_t)r->classes * sizeof *p);
    geodec_blas_gemv_f32(r->width, r->classes, h, w.head, p);
    geodec_recurrent_softmax(r->classes, p);
}

void geodec_recurrent_carry(const geodec_recurrent *r, const float *h, float *c)
{
    const geodec_recurrent_arrays w = geodec_recurrent_parts(r);
    memset(c, 0, (size_t)r->width * sizeof *c);
    geodec_blas_gemv_f32(r->width, r->width, h, w.carry, c);
}

/* exp(x) for x <= 0, to 2e-7: 2^i e^f with |f| <= log(2)/2. The compiler vectorises a loop over this function, but not
 * a loop over a library call. */
static inline float exp_of(float x)
{
    const float y = (x > -87 ? x : -87) * 1.44269504F;
    const int32_t i = (int32_t)(y - 0.5F);
    const float f = (y - (float)i) * 0.69314718F;
    const float e =
        1 + f * (1 + f * (0.5F + f * (0.16666667F + f * (0.041666667F + f * (0.0083333333F + f * 0.0013888889F)))));
    union {
        uint32_t bits;
        float value;
    } scale = {.bits = (uint32_t)(i + 127) << 23};
    return e * scale.value;
}

void geodec_recurrent_softmax(int64_t n, float *x)
{
    float top = x[0], part[LANES] = {0}, sum = 0;
    for (int64_t i = 1; i < n; i++) top = x[i] > top ? x[i] : top;
    for (int64_t i = 0; i < n; i++) x[i] = exp_of(x[i] - top);
    for (int64_t i = 0; i + LANES <= n; i += LANES)
        for (int64_t l = 0; l < LANES; l++) part[l] += x[i + l];
    for (int64_t i = n / LANES * LANES; i < n; i++) part[0] += x[i];
    for (int64_t l = 0; l < LANES; l++) sum += part[l];
    const float factor = 1 / sum;
    for (int64_t i = 0; i < n; i++) x[i] *= factor;
}

/* ---- the artifact ----------------------------------------------------------------------------------------------- */

typedef struct recurrent_file {
    geodec_recurrent r;
    geodec_recurrent_summary s;
    geodec_recurrent_arrays w;
    int64_t inputs; /* 3 d */
} recurrent_file;
#define AT(m) GEODEC_AT(recurrent_file, m)
#define IN(m) GEODEC_IN(recurrent_file, m)

static const geodec_field fields[] = {
    {"/classes/token", GEODEC_I32, "C", 0, "1", "token of a class, rising", 0, AT(r.token_of)},
    {"/net/start", GEODEC_F32, "H", 0, "1", "b of c_0 = b + f W", 0, AT(w.start)},
    {"/net/input", GEODEC_F32, "I,H", GEODEC_FIELD_COMPRESS, "1",
     "W; f = (s, mean 0.5, mean 0.9) of s = h / sqrt(mean h^2 + 1e-5)", 0, AT(w.input)},
    {"/net/token", GEODEC_F32, "3,D,H", GEODEC_FIELD_COMPRESS, "1",
     "T of a = relu(c + T_0[x_k] + T_1[x_(k-1)] + T_2[x_(k-2)]); last row: no class", 0, AT(w.token)},
    {"/net/hidden", GEODEC_F32, "H,H", GEODEC_FIELD_COMPRESS, "1", "A of h = a + relu(a A + e)", 0, AT(w.hidden)},
    {"/net/bias", GEODEC_F32, "H", 0, "1", "e", 0, AT(w.bias)},
    {"/net/carry", GEODEC_F32, "H,H", GEODEC_FIELD_COMPRESS, "1", "R of c_(k+1) = h R", 0, AT(w.carry)},
    {"/net/head", GEODEC_F32, "H,C", GEODEC_FIELD_COMPRESS, "1", "U of P = softmax(h U + u)", 0, AT(w.head)},
    {"/net/prior", GEODEC_F32, "C", 0, "1", "u", 0, AT(w.prior)},
    {"/held_out/loss", GEODEC_F64, "4", 0, "nat",
     "mean of - log P of the sampled token, 1, 2, 3, 4 drafts after the last state, on texts of their own", 0,
     GEODEC_ARRAY(recurrent_file, s.loss, [0])},
};

static const geodec_attr attrs[] = {
    {"n_vocab", GEODEC_ATTR_I64, 0, "tokens of the model", IN(r.vocab)},
    {"d_model", GEODEC_ATTR_I64, 0, "width of a state", IN(r.d)},
    {"fitted", GEODEC_ATTR_I64, 0, "places of the fit", IN(s.fitted)},
    {"places", GEODEC_ATTR_I64, 0, "held-out places, for the figures", IN(s.places)},
    {"cover", GEODEC_ATTR_F64, 0, "share of the texts' tokens that have a class", IN(r.cover)},
    {"first", GEODEC_ATTR_F64, 0, "share of them whose most probable token is the sampled one", IN(s.first)},
    {"bigram_loss", GEODEC_ATTR_F64, 0, "control: counts by newest token, add-one smoothed, nat", IN(s.bigram)},
    {"unigram_loss", GEODEC_ATTR_F64, 0, "control: counts, nat", IN(s.unigram)},
};

static const geodec_extent extents[] = {
    {"C", IN(r.classes)}, {"D", IN(r.classes), 0, 1}, {"H", IN(r.width)}, {"I", IN(inputs)}};

const geodec_kind geodec_recurrent_kind = {
    .name = "recurrent",
    .major = 1,
    .tool = "geodec-recurrent",
    .purpose = "a recurrent net that predicts a model's next token from its last state",
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_recurrent_write(const geodec_recurrent *r, const geodec_recurrent_summary *s, geodec_artifact *out,
                                     geodec_err *err)
{
    const recurrent_file file = {
        .r = *r, .s = *s, .w = geodec_recurrent_parts(r), .inputs = GEODEC_RECURRENT_PARTS * r->d};
    return geodec_artifact_save(out, &file, err);
}

static geodec_status check_sizes(const recurrent_file *f, const char *path, geodec_err *err)
{
    const geodec_recurrent *r = &f->r;
    if (r->width < 1 || r->width > GEODEC_RECURRENT_WIDTH_MAX || r->classes < 1 ||
        r->classes > GEODEC_RECURRENT_CLASSES_MAX || r->vocab < r->classes || r->vocab > INT32_MAX || r->d < 1 ||
        r->d > INT32_MAX || f->inputs != GEODEC_RECURRENT_PARTS * r->d)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: sizes that do not belong together", path);
    if (!(r->cover >= 0 && r->cover <= 1)) GEODEC_FAIL(GEODEC_FORMAT, "%s: cover is not in 0..1", path);
    return GEODEC_OK;
}

/* Copies the arrays of the file to `weight`. */
static geodec_status gather_weights(const recurrent_file *f, geodec_recurrent *r, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    r->weights = geodec_recurrent_count(r);
    GEODEC_NEW(r->weight, r->weights);
    const geodec_recurrent_arrays w = geodec_recurrent_parts(r);
    const struct {
        const char *name;
        const float *from;
        float *to, *end;
    } all[] = {
        {"/net/start", f->w.start, w.start, w.input},  {"/net/input", f->w.input, w.input, w.token},
        {"/net/token", f->w.token, w.token, w.hidden}, {"/net/hidden", f->w.hidden, w.hidden, w.bias},
        {"/net/bias", f->w.bias, w.bias, w.carry},     {"/net/carry", f->w.carry, w.carry, w.head},
        {"/net/head", f->w.head, w.head, w.prior},     {"/net/prior", f->w.prior, w.prior, r->weight + r->weights}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const int64_t n = all[i].end - all[i].to;
        for (int64_t k = 0; k < n; k++)
            if (!(fabsf(all[i].from[k]) <= 1e4F)) /* products of weights below this limit stay finite */
                GEODEC_THROW(GEODEC_FORMAT, "%s: %s holds a weight that is not finite or too large", path, all[i].name);
        memcpy(all[i].to, all[i].from, (size_t)n * sizeof(float));
    }
done:
    return st;
}

geodec_status geodec_recurrent_read(const geodec_artifact *in, geodec_recurrent *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    recurrent_file f = {.inputs = 0};
    geodec_recurrent r = {0};
    const char *path = geodec_artifact_path(in);
    GEODEC_TRY(geodec_artifact_load(in, &f, err));
    GEODEC_TRY(check_sizes(&f, path, err));
    GEODEC_MOVE(r, f.r);
    GEODEC_NEW(r.class_of, r.vocab);
    for (int64_t v = 0; v < r.vocab; v++) r.class_of[v] = (int32_t)r.classes;
    for (int64_t c = 0; c < r.classes; c++) {
        if (r.token_of[c] < 0 || r.token_of[c] >= r.vocab || (c > 0 && r.token_of[c] <= r.token_of[c - 1]))
            GEODEC_THROW(GEODEC_FORMAT, "%s: the classes are not rising tokens", path);
        r.class_of[r.token_of[c]] = (int32_t)c;
    }
    GEODEC_TRY(gather_weights(&f, &r, path, err));
    GEODEC_MOVE(*out, r);
done:
    geodec_artifact_clear(&geodec_recurrent_kind, &f);
    geodec_recurrent_clear(&r);
    return st;
}
