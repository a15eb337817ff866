#include "chain/activations.h"

#include "base/f16.h"
#include "base/mem.h"
#include "chain/rounding.h"

#include <stdio.h>
#include <string.h>

static const geodec_field fields[] = {
    {"/state", GEODEC_F32, "R,L,d", GEODEC_FIELD_STREAM | GEODEC_FIELD_OPTIONAL, "activation",
     "residual stream after the token was read, float32", 0},
    {"/state_f16", GEODEC_F16, "R,L,d", GEODEC_FIELD_STREAM | GEODEC_FIELD_OPTIONAL, "activation",
     "the same rounded to float16 (in place of /state)", 0},
    {"/shift", GEODEC_F64, "L,d", GEODEC_FIELD_OPTIONAL, "activation",
     "subtracted from the states of another program before they were rounded to float32 (absent: nothing)", 5},
    {"/layer", GEODEC_I32, "L", 0, "1", "kept layers: blocks passed, 0 = embedding, n_layer = input of the final norm",
     0},
    {"/token", GEODEC_I32, "R", GEODEC_FIELD_STREAM, "1", "token id of the row", 0},
    {"/position", GEODEC_I32, "R", GEODEC_FIELD_STREAM, "1", "position in its sequence, from 0", 0},
    {"/sequence", GEODEC_I32, "R", GEODEC_FIELD_STREAM, "1", "number of the sequence, from 0", 0},
    {"/document", GEODEC_I32, "R", GEODEC_FIELD_STREAM | GEODEC_FIELD_OPTIONAL, "1",
     "number of the document its sequence was cut from, from 0", 1},
    {"/next_token", GEODEC_I32, "R", GEODEC_FIELD_STREAM, "1", "the text's own next token, -1 at the end of a sequence",
     0},
    {"/argmax", GEODEC_I32, "R", GEODEC_FIELD_STREAM | GEODEC_FIELD_OPTIONAL, "1",
     "token with the largest logit, lowest id on ties", 0},
    {"/top_index", GEODEC_I32, "R,M", GEODEC_FIELD_STREAM | GEODEC_FIELD_OPTIONAL, "1",
     "ids of the M largest logits, falling", 0},
    {"/top_logit", GEODEC_F32, "R,M", GEODEC_FIELD_STREAM | GEODEC_FIELD_OPTIONAL, "nat", "their logits", 0},
    {"/expert", GEODEC_I32, "R,X", GEODEC_FIELD_STREAM | GEODEC_FIELD_OPTIONAL, "1",
     "experts that the token used: n_expert_used ids of each layer, most probable first", 3},
    {"/logits", GEODEC_F32, "R,V", GEODEC_FIELD_STREAM | GEODEC_FIELD_OPTIONAL, "nat", "all logits", 0},
};

static const geodec_attr attrs[] = {
    {"n_layer", GEODEC_ATTR_I64, 0, "blocks of the model"},
    {"d_model", GEODEC_ATTR_I64, 0, "width of the residual stream"},
    {"n_vocab", GEODEC_ATTR_I64, 0, "size of the vocabulary"},
    {"n_ctx", GEODEC_ATTR_I64, 0, "context length of the model file"},
    {"window", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "longest sequence"},
    {"positions", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "rows kept of each document: all, last, every:K, FROM:TO (absent: all)"},
    {"arithmetic", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "of the passes: exact or fast (absent: exact)"},
    {"kv", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "element type of the passes' cache: f32, f16, q8_0 (absent: f32)"},
    {"separator", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "rule by which the text became documents: jsonl, mark, blank, line, window, none (absent: sequences of token "
     "ids)"},
    {"n_expert", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "experts of a layer (absent: dense model)"},
    {"n_expert_used", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "experts of a layer that a token uses"},
    {"tensors", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "names of the layers in the safetensors files that were imported, joined by commas (absent: exported here)"},
    {"documents", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "documents read"},
    {"tokens", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "tokens read, kept or not"},
};

const geodec_kind geodec_activations_kind = {
    .name = "activations",
    .major = 1,
    .minor = 5, /* 1.2 had no experts, 1.3 no names of tensors, 1.4 no shift */
    .tool = "geodec-export",
    .purpose = "hidden states, tokens and best logits of a model on a text",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

geodec_status geodec_activations_view(const geodec_artifact *a, geodec_activations *out, geodec_err *err)
{
    geodec_activations v = {.file = a};
    const bool full = geodec_artifact_has(a, "/state");
    v.half = geodec_artifact_has(a, "/state_f16");
    if (full == v.half) {
        GEODEC_FAIL(GEODEC_FORMAT, "%s: exactly one of /state and /state_f16 must be there", geodec_artifact_path(a));
    }
    GEODEC_PASS(geodec_artifact_dim(a, "R", &v.rows, err));
    GEODEC_PASS(geodec_artifact_dim(a, "L", &v.layers, err));
    GEODEC_PASS(geodec_artifact_dim(a, "d", &v.d, err));
    if (v.layers < 1 || v.d < 1) GEODEC_FAIL(GEODEC_FORMAT, "%s: no layers or no width", geodec_artifact_path(a));
    *out = v;
    return GEODEC_OK;
}

geodec_status geodec_activations_find_layer(const geodec_activations *v, int64_t layer, int64_t *index, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *kept = NULL;
    char list[128] = "";
    GEODEC_TRY(geodec_artifact_read(v->file, "/layer", &kept, err));
    for (int64_t i = 0; i < v->layers; i++) {
        if (kept[i] == layer) {
            *index = i;
            goto done;
        }
        const size_t used = strlen(list);
        (void)snprintf(list + used, sizeof list - used, " %d", (int)kept[i]);
    }
    GEODEC_THROW(GEODEC_NOTFOUND, "%s: layer %lld was not exported; there are:%s", geodec_artifact_path(v->file),
                 (long long)layer, list);
done:
    geodec_mem_free(kept);
    return st;
}

geodec_status geodec_activations_units(const geodec_artifact *a, int32_t **unit, geodec_split *split, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *separator = "";
    int64_t rows;
    int32_t *u = NULL;
    GEODEC_TRY(geodec_artifact_dim(a, "R", &rows, err));
    GEODEC_TRY(geodec_artifact_read(a, geodec_artifact_has(a, "/document") ? "/document" : "/sequence", &u, err));
    if (geodec_artifact_has_attr(a, "separator")) GEODEC_TRY(geodec_artifact_get_str(a, "separator", &separator, err));
    *split = geodec_split_rows(rows, u, strcmp(separator, "window") == 0, u);
    *unit = u;
    u = NULL;
done:
    geodec_mem_free(u);
    return st;
}

size_t geodec_activations_scratch(const geodec_activations *v, int64_t n)
{
    return (size_t)(n * v->layers * v->d) * (v->half ? sizeof(uint16_t) : sizeof(float));
}

geodec_status geodec_activations_read(const geodec_activations *v, int64_t index, int64_t row0, int64_t n, float *state,
                                      void *scratch, geodec_err *err)
{
    const int64_t stride = v->layers * v->d;
    if (index < 0 || index >= v->layers) GEODEC_FAIL(GEODEC_RANGE, "layer index %lld", (long long)index);
    if (v->half) {
        const uint16_t *h = scratch;
        GEODEC_PASS(geodec_artifact_read_rows(v->file, "/state_f16", row0, n, scratch, err));
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; c < v->d; c++)
                state[r * v->d + c] = geodec_f16_to_f32(h[r * stride + index * v->d + c]);
    } else {
        const float *f = scratch;
        GEODEC_PASS(geodec_artifact_read_rows(v->file, "/state", row0, n, scratch, err));
        for (int64_t r = 0; r < n; r++)
            memcpy(state + r * v->d, f + r * stride + index * v->d, (size_t)v->d * sizeof *state);
    }
    return GEODEC_OK;
}

/* The states as float32, in new memory. */
static geodec_status round_states(int64_t rows, int64_t d, const double *x, double *shift, float **out, bool *shifted,
                                  int64_t *merged, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    float *state = NULL;
    GEODEC_NEW(state, rows * d);
    GEODEC_TRY(geodec_rounding_judge(rows, d, x, shift, shifted, err));
    GEODEC_TRY(geodec_rounding_apply(rows, d, x, *shifted ? shift : NULL, state, err));
    GEODEC_TRY(geodec_rounding_merged(rows, d, x, state, merged, err));
    if (*merged > rows / 100)
        GEODEC_THROW(GEODEC_FORMAT,
                     "%lld of %lld states would become equal to another one as float32; --coordinates keeps float64",
                     (long long)*merged, (long long)rows);
    GEODEC_MOVE(*out, state);
done:
    geodec_mem_free(state);
    return st;
}

geodec_status geodec_activations_write_rows(int64_t rows, int64_t d, const double *x, const int32_t *sequence,
                                            const int32_t *position, const geodec_activations_said *said,
                                            geodec_artifact *a, bool *shifted, int64_t *merged, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    enum { SLAB = 1024 };
    const int32_t layer = said ? (int32_t)said->n_layer : 0, none = -1;
    int64_t longest = 0;
    float *state = NULL;
    double *shift = NULL;
    if (rows < 1 || rows > INT32_MAX || d < 1)
        GEODEC_THROW(GEODEC_RANGE, "%lld states of width %lld", (long long)rows, (long long)d);
    GEODEC_NEW(shift, d);
    GEODEC_TRY(round_states(rows, d, x, shift, &state, shifted, merged, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "L", 1, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "d", d, err));
    if (*shifted) GEODEC_TRY(geodec_artifact_write(a, "/shift", shift, err));
    GEODEC_TRY(geodec_artifact_write(a, "/layer", &layer, err));
    for (int64_t r0 = 0; r0 < rows; r0 += SLAB)
        GEODEC_TRY(geodec_artifact_append(a, "/state", rows - r0 < SLAB ? rows - r0 : SLAB, state + r0 * d, err));
    for (int64_t r = 0; r < rows; r++) {
        const bool begins = r == 0 || sequence[r] != sequence[r - 1],
                   ends = r + 1 == rows || sequence[r + 1] != sequence[r];
        const int32_t *read = !said ? &none : begins ? &said->first : said->choice + r - 1;
        GEODEC_TRY(geodec_artifact_append(a, "/token", 1, read, err));
        GEODEC_TRY(geodec_artifact_append(a, "/next_token", 1, said && !ends ? said->choice + r : &none, err));
        if (said) GEODEC_TRY(geodec_artifact_append(a, "/argmax", 1, said->choice + r, err));
        GEODEC_TRY(geodec_artifact_append(a, "/sequence", 1, sequence + r, err));
        GEODEC_TRY(geodec_artifact_append(a, "/position", 1, position + r, err));
        if (position[r] >= longest) longest = (int64_t)position[r] + 1;
    }
    GEODEC_TRY(geodec_artifact_put_i64(a, "n_layer", layer, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "d_model", d, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n_vocab", said ? said->n_vocab : 0, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n_ctx", longest, err));
done:
    GEODEC_FREE(state, shift);
    return st;
}

geodec_status geodec_activations_write_states(int64_t rows, int64_t d, const double *x, bool consecutive,
                                              geodec_artifact *a, bool *shifted, int64_t *merged, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *number = NULL, *zero = NULL;
    if (rows < 1 || rows > INT32_MAX || d < 1)
        GEODEC_THROW(GEODEC_RANGE, "%lld states of width %lld", (long long)rows, (long long)d);
    GEODEC_NEW_EACH(rows, number, zero);
    for (int64_t r = 0; r < rows; r++) number[r] = (int32_t)r;
    GEODEC_TRY(geodec_activations_write_rows(rows, d, x, consecutive ? zero : number, consecutive ? number : zero, NULL,
                                             a, shifted, merged, err));
done:
    GEODEC_FREE(number, zero);
    return st;
}
