#include "support/evaluation.h"

#include <string.h>

geodec_arithmetic arithmetic_of(const char *word) { return strcmp(word, "fast") == 0 ? GEODEC_FAST : GEODEC_EXACT; }

geodec_kv_type kv_of(const char *word)
{
    geodec_kv_type t = GEODEC_KV_F32;
    while (t < GEODEC_KV_Q4_0 && strcmp(word, geodec_kv_name(t)) != 0) t++;
    return t;
}

geodec_isa isa_of(const char *word)
{
    geodec_isa isa = GEODEC_ISA_AUTO;
    while (isa < GEODEC_ISA_AVX512 && strcmp(word, geodec_isa_name(isa)) != 0) isa++;
    return isa;
}

geodec_evaluation evaluation_of(const geodec_model *m, const char *arithmetic, const char *kv, const char *isa)
{
    return (geodec_evaluation){.model = m,
                               .arithmetic = arithmetic_of(arithmetic),
                               .kv = kv_of(kv),
                               .isa = isa_of(isa),
                               .float64 = strcmp(arithmetic, "float64") == 0};
}
