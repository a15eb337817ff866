#include "session/arithmetic.h"

#include "kernels/panels_internal.h"
#include "session/weights_internal.h"

#include <string.h>

double geodec_model_block_share(const geodec_model *m)
{
    const geodec_gguf *g = geodec_model_gguf(m);
    const bool tied = geodec_model_configuration(m)->tied;
    double blocks = 0, all = 0;
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        if (t->n_dims < 2 || (!tied && strcmp(t->name, "token_embd.weight") == 0)) continue;
        all += (double)t->bytes;
        if (geodec__panel_format_of(t->type)) blocks += (double)t->bytes;
    }
    for (int32_t i = 0; m->store && i < m->config.n_layer; i++) {
        const geodec__matrix *const many[] = {&m->layer[i].gate, &m->layer[i].up, &m->layer[i].down};
        for (int k = 0; m->layer[i].router.data && k < 3; k++) {
            const double bytes = (double)(many[k]->rows * many[k]->row_bytes) * m->config.n_expert;
            all += bytes;
            if (geodec__panel_format_of(many[k]->type)) blocks += bytes;
        }
    }
    return all > 0 ? blocks / all : 0;
}

geodec_arithmetic geodec_arithmetic_of_share(double share) { return share >= 0.5 ? GEODEC_FAST : GEODEC_EXACT; }

geodec_arithmetic geodec_model_arithmetic(const geodec_model *m)
{
    return m->layer ? geodec_arithmetic_of_share(geodec_model_block_share(m)) : GEODEC_INTEGER;
}

const char *geodec_arithmetic_name(geodec_arithmetic a)
{
    return a == GEODEC_INTEGER ? "integer" : a == GEODEC_FAST ? "fast" : "exact";
}
