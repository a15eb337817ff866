#include "base/mem.h"
#include "drafters/recurrent.h"

#include <math.h>
#include <string.h>

static const geodec_field fields[] = {
    {"/classes/token", GEODEC_I32, "C", 0, "1", "token of a class, rising", 0},
    {"/net/start", GEODEC_F32, "H", 0, "1", "b of c_0 = b + f W", 0},
    {"/net/input", GEODEC_F32, "I,H", GEODEC_FIELD_COMPRESS, "1",
     "W; f = (s, mean 0.5, mean 0.9) of s = h / sqrt(mean h^2 + 1e-5)", 0},
    {"/net/token", GEODEC_F32, "3,D,H", GEODEC_FIELD_COMPRESS, "1",
     "T of a = relu(c + T_0[x_k] + T_1[x_(k-1)] + T_2[x_(k-2)]); last row: no class", 0},
    {"/net/hidden", GEODEC_F32, "H,H", GEODEC_FIELD_COMPRESS, "1", "A of h = a + relu(a A + e)", 0},
    {"/net/bias", GEODEC_F32, "H", 0, "1", "e", 0},
    {"/net/carry", GEODEC_F32, "H,H", GEODEC_FIELD_COMPRESS, "1", "R of c_(k+1) = h R", 0},
    {"/net/head", GEODEC_F32, "H,C", GEODEC_FIELD_COMPRESS, "1", "U of P = softmax(h U + u)", 0},
    {"/net/prior", GEODEC_F32, "C", 0, "1", "u", 0},
    {"/held_out/loss", GEODEC_F64, "4", 0, "nat",
     "mean of - log P of the sampled token, 1, 2, 3, 4 drafts after the last state, on texts of their own", 0},
};

static const geodec_attr attrs[] = {
    {"n_vocab", GEODEC_ATTR_I64, 0, "tokens of the model"},
    {"d_model", GEODEC_ATTR_I64, 0, "width of a state"},
    {"cover", GEODEC_ATTR_F64, 0, "share of the texts' tokens that have a class"},
    {"fitted", GEODEC_ATTR_I64, 0, "places of the fit"},
    {"places", GEODEC_ATTR_I64, 0, "held-out places, for the figures"},
    {"first", GEODEC_ATTR_F64, 0, "share of them whose most probable token is the sampled one"},
    {"bigram_loss", GEODEC_ATTR_F64, 0, "control: counts by newest token, add-one smoothed, nat"},
    {"unigram_loss", GEODEC_ATTR_F64, 0, "control: counts, nat"},
};

const geodec_kind geodec_recurrent_kind = {
    .name = "recurrent",
    .major = 1,
    .minor = 0,
    .tool = "geodec-recurrent",
    .purpose = "a recurrent net that predicts a model's next token from its last state",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

typedef struct place {
    const char *name;
    float *at;
    int64_t n;
} place;
enum { ARRAYS = 8 };

static void places_of(const geodec_recurrent *r, place place_of[ARRAYS])
{
    const geodec_recurrent_arrays w = geodec_recurrent_parts(r);
    const int64_t h = r->width;
    const place all[ARRAYS] = {
        {"/net/start", w.start, h},
        {"/net/input", w.input, GEODEC_RECURRENT_PARTS * r->d * h},
        {"/net/token", w.token, GEODEC_RECURRENT_BACK * (r->classes + 1) * h},
        {"/net/hidden", w.hidden, h * h},
        {"/net/bias", w.bias, h},
        {"/net/carry", w.carry, h * h},
        {"/net/head", w.head, h * r->classes},
        {"/net/prior", w.prior, r->classes},
    };
    memcpy(place_of, all, sizeof all);
}

geodec_status geodec_recurrent_write(const geodec_recurrent *r, const geodec_recurrent_summary *s, geodec_artifact *out,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const struct {
        const char *name;
        int64_t value;
    } whole[] = {{"n_vocab", r->vocab}, {"d_model", r->d}, {"fitted", s->fitted}, {"places", s->places}};
    const struct {
        const char *name;
        double value;
    } real[] = {{"cover", r->cover}, {"first", s->first}, {"bigram_loss", s->bigram}, {"unigram_loss", s->unigram}};
    place p[ARRAYS];
    places_of(r, p);
    GEODEC_TRY(geodec_artifact_set_dim(out, "C", r->classes, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "D", r->classes + 1, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "H", r->width, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "I", GEODEC_RECURRENT_PARTS * r->d, err));
    GEODEC_TRY(geodec_artifact_write(out, "/classes/token", r->token_of, err));
    for (int i = 0; i < ARRAYS; i++) GEODEC_TRY(geodec_artifact_write(out, p[i].name, p[i].at, err));
    GEODEC_TRY(geodec_artifact_write(out, "/held_out/loss", s->loss, err));
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        GEODEC_TRY(geodec_artifact_put_i64(out, whole[i].name, whole[i].value, err));
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        GEODEC_TRY(geodec_artifact_put_f64(out, real[i].name, real[i].value, err));
done:
    return st;
}

static geodec_status read_sizes(const geodec_artifact *in, geodec_recurrent *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *path = geodec_artifact_path(in);
    int64_t rows, inputs;
    GEODEC_TRY(geodec_artifact_get_i64(in, "n_vocab", &r->vocab, err));
    GEODEC_TRY(geodec_artifact_get_i64(in, "d_model", &r->d, err));
    GEODEC_TRY(geodec_artifact_get_f64(in, "cover", &r->cover, err));
    GEODEC_TRY(geodec_artifact_dim(in, "C", &r->classes, err));
    GEODEC_TRY(geodec_artifact_dim(in, "D", &rows, err));
    GEODEC_TRY(geodec_artifact_dim(in, "H", &r->width, err));
    GEODEC_TRY(geodec_artifact_dim(in, "I", &inputs, err));
    if (r->width < 1 || r->width > GEODEC_RECURRENT_WIDTH_MAX || r->classes < 1 ||
        r->classes > GEODEC_RECURRENT_CLASSES_MAX || rows != r->classes + 1 || r->vocab < r->classes ||
        r->vocab > INT32_MAX || r->d < 1 || r->d > INT32_MAX || inputs != GEODEC_RECURRENT_PARTS * r->d)
        GEODEC_THROW(GEODEC_FORMAT, "%s: sizes that do not belong together", path);
    if (!(r->cover >= 0 && r->cover <= 1)) GEODEC_THROW(GEODEC_FORMAT, "%s: cover is no share", path);
done:
    return st;
}

geodec_status geodec_recurrent_read(const geodec_artifact *in, geodec_recurrent *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_recurrent r = {0};
    const char *path = geodec_artifact_path(in);
    place p[ARRAYS];
    float *array = NULL;
    GEODEC_TRY(read_sizes(in, &r, err));
    GEODEC_TRY(geodec_artifact_read(in, "/classes/token", &r.token_of, err));
    GEODEC_NEW(r.class_of, r.vocab);
    for (int64_t v = 0; v < r.vocab; v++) r.class_of[v] = (int32_t)r.classes;
    for (int64_t c = 0; c < r.classes; c++) {
        if (r.token_of[c] < 0 || r.token_of[c] >= r.vocab || (c > 0 && r.token_of[c] <= r.token_of[c - 1]))
            GEODEC_THROW(GEODEC_FORMAT, "%s: the classes are no rising tokens", path);
        r.class_of[r.token_of[c]] = (int32_t)c;
    }
    r.weights = geodec_recurrent_count(&r);
    GEODEC_NEW(r.weight, r.weights);
    places_of(&r, p);
    for (int i = 0; i < ARRAYS; i++) {
        GEODEC_TRY(geodec_artifact_read(in, p[i].name, &array, err));
        for (int64_t k = 0; k < p[i].n; k++)
            if (!(fabsf(array[k]) <= 1e4F)) /* products of these stay finite */
                GEODEC_THROW(GEODEC_FORMAT, "%s: %s holds a weight that is not finite or too large", path, p[i].name);
        memcpy(p[i].at, array, (size_t)p[i].n * sizeof *array);
        geodec_mem_free(array);
        array = NULL;
    }
    GEODEC_MOVE(*out, r);
done:
    geodec_mem_free(array);
    geodec_recurrent_clear(&r);
    return st;
}
