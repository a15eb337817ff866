/* What the keys of a file say of single layers: windows, rotation, heads, widths, constants of activations. */
#include "session/keys_internal.h"
#include "session/model_internal.h"

#include <math.h>
#include <stdio.h>

/* Four numbers of xIELU for each layer: alpha of positive and of negative numbers, beta, eps. The keys have no prefix.
 */
static geodec_status read_xielu(geodec__keys *k, int32_t n_layer, geodec__layer *layer)
{
    static const char *const name[] = {"xielu.alpha_p", "xielu.alpha_n", "xielu.beta", "xielu.eps"};
    geodec_err *err = k->err;
    double each[GEODEC__MAX_LAYERS];
    for (int i = 0; i < 4; i++) {
        int64_t n;
        if (!geodec_gguf_has(k->g, name[i])) GEODEC_PASS(geodec__key_missing(k->path, name[i], err));
        GEODEC_PASS(geodec__key_numbers(k, name[i], n_layer, each, &n));
        if (n != n_layer)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %lld values for %d layers", k->path, name[i], (long long)n,
                        n_layer);
        for (int32_t l = 0; l < n_layer; l++) layer[l].xielu[i] = (float)each[l];
    }
    for (int32_t l = 0; l < n_layer; l++)
        for (int i = 0; i < 4; i++)
            if (!(fabsf(layer[l].xielu[i]) < 1e6f))
                GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %g is outside -1e6 to 1e6", k->path, name[i],
                            (double)layer[l].xielu[i]);
    return GEODEC_OK;
}

/* Where the gates of layers are cut; minus infinity stands for layers whose gates are whole. */
static geodec_status read_cuts(geodec__keys *k, const geodec_model_config *c, geodec__layer *layer)
{
    geodec_err *err = k->err;
    double each[GEODEC__MAX_LAYERS];
    int64_t n = c->n_layer;
    if (k->arch->cut_at == 0) return GEODEC_OK;
    for (int32_t i = 0; i < c->n_layer; i++) each[i] = i < k->arch->cut_layers ? k->arch->cut_at : (double)-INFINITY;
    if (geodec__key_has(k, "activation_sparsity_scale"))
        GEODEC_PASS(geodec__key_numbers(k, k->name, c->n_layer, each, &n));
    if (n < c->n_layer)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %lld values for %d layers", k->path, k->name, (long long)n,
                    c->n_layer);
    for (int32_t i = 0; i < c->n_layer; i++) {
        layer[i].cut = each[i] != (double)-INFINITY;
        if (!layer[i].cut) continue;
        if (!(fabs(each[i]) <= 100) || layer[i].d_ff < 2)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %g for the %d gates of layer %d", k->path, k->name, each[i],
                        layer[i].d_ff, i);
        layer[i].cut_at = (float)each[i];
    }
    return GEODEC_OK;
}

/* Limits of the gated vectors of each layer. */
static geodec_status read_limits(geodec__keys *k, int32_t n_layer, geodec__layer *layer)
{
    static const char *const name[] = {"swiglu_clamp_exp", "swiglu_clamp_shexp"};
    geodec_err *err = k->err;
    double each[GEODEC__MAX_LAYERS];
    for (int i = 0; i < 2 && k->arch->limits; i++) {
        int64_t n;
        if (!geodec__key_has(k, name[i])) continue;
        GEODEC_PASS(geodec__key_numbers(k, k->name, n_layer, each, &n));
        if (n < n_layer)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %lld values for %d layers", k->path, k->name, (long long)n,
                        n_layer);
        for (int32_t l = 0; l < n_layer; l++) {
            if (!(each[l] >= 0 && each[l] < 1e6))
                GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %g is outside 0 to 1e6", k->path, k->name, each[l]);
            *(i == 0 ? &layer[l].expert_limit : &layer[l].limit) = each[l] > 1e-6 ? (float)each[l] : 0;
        }
    }
    return GEODEC_OK;
}

static bool rotates(const geodec__arch *a, const geodec_model_config *c, const geodec__layer *l, int32_t i)
{
    switch (a->rotated) {
    case GEODEC__ROTATED_ALL:
    case GEODEC__ROTATED_TRAINED:
        return a->layers_of_rotation == 0 || a->layers_of_rotation == c->n_layer;
    case GEODEC__ROTATED_NONE:
        return false;
    case GEODEC__ROTATED_SLIDING:
        return l->window > 0 || (a->layers_of_windows > 0 && a->layers_of_windows != c->n_layer);
    case GEODEC__ROTATED_DENSE:
        return l->window > 0 || i < c->n_dense;
    case GEODEC__ROTATED_BUT_FOURTH:
        return i % 4 != 3;
    case GEODEC__ROTATED_BUT_FIRST:
        return i % 4 != 0 || c->window == 0;
    }
    return true;
}

/* Where the keys say what a layer has, they and its tensors must agree. */
static geodec_status check_gaps(const geodec__keys *k, int32_t layer, bool attends, bool feeds)
{
    geodec_err *err = k->err;
    char name[3][GEODEC__KEY];
    static const char *const part[] = {"attn_q", "attn_qkv", "ffn_down"};
    const geodec_gguf_tensor *t[3];
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name[i], sizeof name[i], "blk.%d.%s.weight", layer, part[i]);
        t[i] = geodec_gguf_find(k->g, name[i]);
    }
    if (attends != (t[0] || t[1]))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s.attention.head_count': layer %d has %s, and %s tensor '%s'", k->path,
                    k->arch->name, layer, attends ? "heads" : "no heads", attends ? "no" : "a", name[0]);
    if (feeds != (t[2] != NULL))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s.feed_forward_length': layer %d has %s width, and %s tensor '%s'",
                    k->path, k->arch->name, layer, feeds ? "a" : "no", feeds ? "no" : "a", name[2]);
    return GEODEC_OK;
}

geodec_status geodec__config_layers(const geodec_gguf *g, const geodec_model_config *c, geodec__layer *layer,
                                    geodec_err *err)
{
    geodec__keys k = {.g = g, .path = geodec_gguf_path(g), .arch = geodec__arch_find(c->arch), .err = err};
    const geodec__arch *a = k.arch;
    int32_t slides[GEODEC__MAX_LAYERS], heads[GEODEC__MAX_LAYERS], kv[GEODEC__MAX_LAYERS],
        ff[GEODEC__MAX_LAYERS] = {0}, most, v_dim, shared = 0, local_dim, local_v_dim;
    bool trained = true;
    if (c->window_period < 0 && geodec__key_has(&k, "attention.sliding_window_pattern"))
        GEODEC_PASS(geodec__key_flags(&k, c->n_layer, slides));
    for (int32_t i = 0; i < c->n_layer && c->window_period >= 0; i++)
        slides[i] = c->window_period == 0 ||
                    (a->global_first ? i % c->window_period != 0 : i % c->window_period < c->window_period - 1);
    if (c->activation == GEODEC_XIELU) GEODEC_PASS(read_xielu(&k, c->n_layer, layer));
    GEODEC_PASS(read_limits(&k, c->n_layer, layer));
    if (a->rotated == GEODEC__ROTATED_TRAINED && geodec__key_has(&k, "rope.scaling.finetuned"))
        GEODEC_PASS(geodec_gguf_get_bool(g, k.name, &trained, err));
    const bool hybrid = geodec__arch_has_gaps(a); /* what a layer has is said by its tensors */
    const int64_t least = hybrid ? 0 : 1, must = hybrid ? 0 : -1;
    GEODEC_PASS(geodec__key_each(&k, "attention.head_count", least, GEODEC__MAX_HEADS, must, c, heads, &most));
    GEODEC_PASS(geodec__key_each(&k, "attention.head_count_kv", least, GEODEC__MAX_HEADS, c->n_head, c, kv, &most));
    GEODEC_PASS(geodec__key_int(&k, "attention.value_length", 1, GEODEC__MAX_HEAD_DIM, c->head_dim, &v_dim));
    GEODEC_PASS(geodec__key_int(&k, "attention.key_length_swa", 1, c->head_dim, c->head_dim, &local_dim));
    GEODEC_PASS(geodec__key_int(&k, "attention.value_length_swa", 1, GEODEC__MAX_HEAD_DIM, v_dim, &local_v_dim));
    if (c->n_expert == 0)
        GEODEC_PASS(geodec__key_each(&k, "feed_forward_length", least, GEODEC__MAX_FF, must, c, ff, &most));
    if (a->layer_inputs) {
        if (a->layers_with_keys > 0 && a->layers_with_keys < c->n_layer) shared = c->n_layer - a->layers_with_keys;
        GEODEC_PASS(geodec__key_int(&k, "attention.shared_kv_layers", 0, c->n_layer - 1, shared, &shared));
    }
    for (int32_t i = 0; i < c->n_layer; i++) {
        geodec__layer *l = &layer[i];
        l->window = slides[i] ? c->window : 0;
        l->rope = !trained || !rotates(a, c, l, i) ? -1 : l->window && c->rope_base_local > 0 ? 1 : 0;
        l->n_head = hybrid && heads[i] == 0 ? c->n_head : heads[i];
        l->n_kv_head = hybrid && (kv[i] == 0 || heads[i] == 0) ? c->n_kv_head : kv[i];
        l->head_dim = l->window ? local_dim : c->head_dim;
        l->v_dim = l->window ? local_v_dim : v_dim;
        l->d_ff = c->n_expert == 0 ? ff[i] / (a->half_length ? 2 : 1) : c->d_ff_dense;
        l->kv_layer = i;
        if (a->latent != GEODEC__LATENT_NONE) {
            l->n_kv_head = 1;
            l->head_dim = c->head_dim;
            l->v_dim = l->rope_at = c->d_latent;
        }
        if (i >= c->n_layer - shared) /* the last of its kind with keys of its own */
            for (l->kv_layer = c->n_layer - shared - 1; l->kv_layer >= 0 && slides[l->kv_layer] != slides[i];)
                l->kv_layer--;
        if (l->kv_layer < 0)
            GEODEC_FAIL(GEODEC_FORMAT,
                        "%s: layer %d would read the keys of an earlier layer, and there is none of its kind", k.path,
                        i);
        if (l->rope >= 0 && geodec__rope_dim(c, l->rope) > l->head_dim)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: layer %d rotates %d of %d dimensions", k.path, i,
                        geodec__rope_dim(c, l->rope), l->head_dim);
        if (l->n_kv_head != layer[l->kv_layer].n_kv_head)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: layer %d would read %d heads of keys, of layer %d, which has %d", k.path, i,
                        l->n_kv_head, l->kv_layer, layer[l->kv_layer].n_kv_head);
        if (a->gaps) GEODEC_PASS(check_gaps(&k, i, heads[i] > 0 && kv[i] > 0, ff[i] > 0));
        if (hybrid) continue;
        if (l->n_head == 0 || l->n_kv_head == 0 || l->n_head % l->n_kv_head)
            GEODEC_FAIL(GEODEC_FORMAT,
                        "%s: key '%s.attention.head_count_kv': layer %d has %d heads of queries and %d of keys", k.path,
                        a->name, i, l->n_head, l->n_kv_head);
        if (c->n_expert == 0 && l->d_ff == 0)
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: layer %d has no feed-forward", k.path, i);
    }
    return read_cuts(&k, c, layer);
}
