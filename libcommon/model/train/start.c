#include "train/start.h"

#include "base/mem.h"
#include "session/arch_internal.h"
#include "train/params.h"

#include <string.h>

geodec_status geodec_start_new(const char *vocab, const geodec_model_config *shape, uint64_t seed, geodec_start *s,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf *g = NULL;
    geodec_start new = {0};
    geodec_model_config c = *shape;
    GEODEC_TRY(geodec_gguf_open(vocab, &g, err));
    GEODEC_TRY(geodec_tokenizer_from_gguf(g, &new.own_tokenizer, err));
    new.tokenizer = new.own_tokenizer;
    if (c.head_dim == 0) {
        if (c.n_head < 1 || c.d_model % c.n_head)
            GEODEC_THROW(GEODEC_INVAL, "a width of %d does not split into %d heads", c.d_model, c.n_head);
        c.head_dim = c.rope_dim = c.d_model / c.n_head;
    }
    c.n_vocab = geodec_tokenizer_size(new.tokenizer);
    GEODEC_TRY(geodec_layout_create(&c, &new.layout, err));
    GEODEC_NEW(new.params, new.layout->total);
    geodec_params_init(new.layout, seed, new.params);
    GEODEC_MOVE(*s, new);
done:
    geodec_gguf_close(g);
    geodec_start_clear(&new);
    return st;
}

/* Layout and values of the model that s has. */
static geodec_status read_values(geodec_start *s, int32_t n_ctx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model_config c = *geodec_model_configuration(s->model);
    s->tokenizer = geodec_model_tokenizer(s->model);
    if (n_ctx > 0) c.n_ctx = n_ctx;
    GEODEC_TRY(geodec_layout_create(&c, &s->layout, err));
    GEODEC_NEW(s->params, s->layout->total);
    GEODEC_TRY(geodec_params_read(s->layout, geodec_model_gguf(s->model), s->params, err));
done:
    return st;
}

geodec_status geodec_start_from(const char *model, int32_t n_ctx, geodec_start *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_start new = {0};
    GEODEC_TRY(geodec_model_open(model, &new.model, err));
    const char *peculiarity = geodec__model_peculiarity(new.model);
    if (peculiarity)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: only plain llama models can be trained; this one has %s%s", model,
                     strcmp(peculiarity, geodec_model_configuration(new.model)->arch) == 0 ? "architecture " : "",
                     peculiarity);
    GEODEC_TRY(read_values(&new, n_ctx, err));
    GEODEC_MOVE(*s, new);
done:
    geodec_start_clear(&new);
    return st;
}

geodec_status geodec_start_recurrent(const char *model, geodec_start *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_start new = {0};
    GEODEC_TRY(geodec_model_open(model, &new.model, err));
    const geodec_model_config *c = geodec_model_configuration(new.model);
    if (c->recur_period == 0) GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: not a PERSPECTIVE model", model);
    if (geodec_model_store_bytes(new.model) > 0)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: its experts are in a store; give the GGUF", model);
    if (c->attn_scale != 0 || c->attn_softcap != 0 || c->final_softcap != 0 || c->rope_scale != 0 ||
        c->expert_scale != 0)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: scaled or capped attention, or scaled experts", model);
    GEODEC_TRY(read_values(&new, 0, err));
    GEODEC_MOVE(*s, new);
done:
    geodec_start_clear(&new);
    return st;
}

void geodec_start_clear(geodec_start *s)
{
    geodec_mem_free(s->params);
    geodec_layout_destroy(s->layout);
    geodec_tokenizer_destroy(s->own_tokenizer);
    geodec_model_close(s->model);
    *s = (geodec_start){0};
}
