#include "cli/evaluation.h"

#include "session/arithmetic.h"

#include <string.h>

geodec_arithmetic arithmetic_of(const char *word)
{
    return strcmp(word, "integer") == 0 ? GEODEC_INTEGER : strcmp(word, "fast") == 0 ? GEODEC_FAST : GEODEC_EXACT;
}

bool arithmetic_settle(const cli *c, const geodec_model *m, const char **word)
{
    if (strcmp(*word, "auto") != 0) return false;
    *word = geodec_arithmetic_name(geodec_model_arithmetic(m));
    cli_settled(c);
    return true;
}

void arithmetic_say(const cli *c, const geodec_model *m, const char *word)
{
    if (c->verbose > 0 || strcmp(word, "fast") == 0)
        cli_say(c, "arithmetic %s: %.0f %% of the bytes of the weights are quantised in blocks", word,
                100 * geodec_model_block_share(m));
}

geodec_kv_type kv_of(const char *word)
{
    geodec_kv_type t = GEODEC_KV_F32;
    while (t < GEODEC_KV_Q4_0 && strcmp(word, geodec_cache_kv_name(t)) != 0) t++;
    return t;
}

geodec_isa isa_of(const char *word)
{
    geodec_isa isa = GEODEC_ISA_AUTO;
    while (isa < GEODEC_ISA_AVX512 && strcmp(word, geodec_kernels_isa_name(isa)) != 0) isa++;
    return isa;
}

geodec_scorer_evaluation evaluation_of(const geodec_model *m, const char *arithmetic, const char *kv, const char *isa)
{
    return (geodec_scorer_evaluation){.model = m,
                                      .arithmetic = arithmetic_of(arithmetic),
                                      .kv = kv_of(kv),
                                      .isa = isa_of(isa),
                                      .float64 = strcmp(arithmetic, "float64") == 0};
}
