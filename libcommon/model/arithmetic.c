#include "model/arithmetic.h"

#include "model/kernels/panels_internal.h"

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
    return all > 0 ? blocks / all : 0;
}

geodec_arithmetic geodec_arithmetic_of_share(double share) { return share >= 0.5 ? GEODEC_FAST : GEODEC_EXACT; }

geodec_arithmetic geodec_model_arithmetic(const geodec_model *m)
{
    return geodec_arithmetic_of_share(geodec_model_block_share(m));
}

const char *geodec_arithmetic_name(geodec_arithmetic a) { return a == GEODEC_FAST ? "fast" : "exact"; }
