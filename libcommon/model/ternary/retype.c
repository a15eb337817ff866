#include "ternary/retype.h"

#include "base/f16.h"
#include "base/mem.h"
#include "gguf/quantize.h"
#include "ternary/ternary.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RUN = 256 /* columns that share a scale */ };

static const char *const experts[] = {"blk.*.ffn_*_exps.weight", "blk.*.ffn_gate.[0-9]*.weight",
                                      "blk.*.ffn_up.[0-9]*.weight", "blk.*.ffn_down.[0-9]*.weight"};
enum { PATTERNS = sizeof experts / sizeof *experts };

/* The scale with the largest error so far. */
typedef struct worst {
    const char *tensor;
    int64_t row;
    float scale, rounded;
} worst;

static float rounded(const geodec_ggml_traits *to, float s)
{
    float back;
    uint8_t room[sizeof(float)];
    if (to->block > 1) return geodec_f16_to_f32(geodec_f32_to_f16(s));
    to->encode(&s, room, 1);
    to->decode(room, &back, 1);
    return back;
}

static geodec_status look_at_scale(const geodec_ggml_traits *to, float s, const char *name, int64_t row, worst *w,
                                   geodec_ternary_retyped *r, geodec_err *err)
{
    if (!(s > 0) || s == w->scale) return GEODEC_OK;
    const float back = s < to->limit ? rounded(to, s) : INFINITY;
    if (!(back > 0) || !isfinite(back))
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "tensor '%s', row %lld: the scale %g is beyond the type %s", name,
                    (long long)row, (double)s, to->name);
    const double error = fabs((double)back - (double)s) / (double)s;
    if (error > r->error) {
        *w = (worst){name, row, s, back};
        r->error = error;
    }
    return GEODEC_OK;
}

/* Rows of all experts of the tensor are counted through. */
static geodec_status look_at(const geodec_gguf_tensor *t, const geodec_ggml_traits *to, float *x, worst *w,
                             geodec_ternary_retyped *r, geodec_err *err)
{
    const geodec_ggml_traits *from = geodec_ggml_traits_of(t->type);
    const int64_t cols = t->dim[0], rows = t->dim[1] * t->dim[2] * t->dim[3];
    const size_t bytes = geodec_ggml_bytes(from, cols);
    int8_t trit[RUN];
    if (cols % to->block)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "tensor '%s': rows of %lld weights are no whole blocks of %d (%s)", t->name,
                    (long long)cols, to->block, to->name);
    for (int64_t o = 0; o < rows; o++) {
        from->decode((const uint8_t *)t->data + (size_t)o * bytes, x, cols);
        for (int64_t first = 0; first < cols; first += RUN) {
            const int64_t n = cols - first < RUN ? cols - first : RUN;
            float scale = 0;
            const int64_t bad = geodec_ternary_collect(x + first, n, &scale, trit);
            if (bad >= 0)
                GEODEC_FAIL(GEODEC_UNSUPPORTED,
                            "tensor '%s' is not ternary: row %lld, column %lld is %g, and weights before it are 0 or "
                            "+-%g",
                            t->name, (long long)o, (long long)(first + bad), (double)x[first + bad], (double)scale);
            for (int64_t i = 0; i < n; i++) r->zeros += trit[i] == 0;
            GEODEC_PASS(look_at_scale(to, scale, t->name, o, w, r, err));
        }
    }
    r->tensors++;
    r->weights += rows * cols;
    r->before += (int64_t)t->bytes;
    r->after += (int64_t)geodec_ggml_bytes(to, rows * cols);
    return GEODEC_OK;
}

static int pattern_of(const char *name)
{
    int k = 0;
    while (k < PATTERNS && fnmatch(experts[k], name, 0) != 0) k++;
    return k;
}

/* The overrides of geodec_quantize for the patterns that are used; it refuses others. */
static void add_rule(char *rules, size_t room, const char *pattern, const char *type)
{
    const size_t n = strlen(rules);
    (void)snprintf(rules + n, room - n, "%s%s=%s", n ? "," : "", pattern, type);
}

static geodec_status look(const geodec_gguf *in, const geodec_ggml_traits *to, const geodec_hooks *hooks, char *rules,
                          size_t room, worst *w, geodec_ternary_retyped *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = geodec_gguf_n_tensors(in);
    bool used[PATTERNS + 1] = {false};
    float *x = NULL;
    int64_t widest = 0;
    for (int64_t i = 0; i < n; i++)
        if (geodec_gguf_tensor_at(in, i)->dim[0] > widest) widest = geodec_gguf_tensor_at(in, i)->dim[0];
    GEODEC_NEW(x, widest);
    for (int64_t i = 0; i < n; i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(in, i);
        const int k = pattern_of(t->name);
        GEODEC_TRY(geodec_hooks_progress(hooks, "experts", i, n, err));
        if (k == PATTERNS) continue;
        GEODEC_TRY(look_at(t, to, x, w, r, err));
        if (!used[k]) add_rule(rules, room, experts[k], to->name);
        used[k] = true;
    }
done:
    geodec_mem_free(x);
    return st;
}

geodec_status geodec_ternary_retype(const geodec_gguf *in, const char *path, int type, bool lossy, geodec_pool *pool,
                                    const geodec_hooks *hooks, geodec_ternary_retyped *out, geodec_err *err)
{
    const geodec_ggml_traits *to = geodec_ggml_traits_of(type);
    const char *name = geodec_gguf_path(in);
    char rules[256] = "";
    worst w = {0};
    *out = (geodec_ternary_retyped){0};
    if (type != GEODEC_GGML_TQ1_0 && type != GEODEC_GGML_TQ2_0 && (!to || to->product != GEODEC_GGML_FLOATS))
        GEODEC_FAIL(GEODEC_INVAL, "ternary experts do not become %s", geodec_ggml_type_name(type));
    GEODEC_PASS(geodec_gguf_check_types(in, err));
    GEODEC_PASS_MSG(look(in, to, hooks, rules, sizeof rules, &w, out, err), "%s", name);
    if (out->tensors == 0) GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: no tensors of experts", name);
    out->refused = out->error > 0 && !lossy;
    if (out->refused)
        GEODEC_FAIL(GEODEC_UNSUPPORTED,
                    "%s: not exact in %s: tensor '%s', row %lld: the scale %.9g becomes %.9g, the largest relative "
                    "error (%.2g)",
                    name, to->name, w.tensor, (long long)w.row, (double)w.scale, (double)w.rounded, out->error);
    const geodec_quantize_options o = {.overrides = rules};
    GEODEC_PASS(geodec_quantize(in, path, &o, pool, hooks, NULL, err));
    return GEODEC_OK;
}
