#include "cli/context.h"

bool context_allow_long;

void context_check(const cli *c, const geodec_model *m, const char *what, int64_t tokens)
{
    const int32_t trained = geodec_model_configuration(m)->n_ctx;
    if (context_allow_long || tokens <= trained) return;
    geodec_hooks_log(&c->hooks, GEODEC_LOG_WARN,
                     "%s of %lld tokens are longer than the %d that the model was trained for; beyond these its "
                     "predictions are poor (--allow-long silences this)",
                     what, (long long)tokens, trained);
}
