/* A code path of the transforms for one word size. */
#ifndef GEODEC_INTEGER_NTT_NTT_INTERNAL_H
#define GEODEC_INTEGER_NTT_NTT_INTERNAL_H

#include "integer/fixed/mulmod.h"
#include "lab/integer/ntt/ntt.h"

enum { GEODEC__NTT_PARTS = 4 };

/* Constants of each twiddle: `parts` table words. roots, inverses: [n][parts], of psi^bitrev(i) and psi^-bitrev(i);
 * inverses[0] = N^-1 and inverses[1] = N^-1 psi^-bitrev(1), for the last level. The lane tables are for the levels
 * within a vector: [n / lanes^2][lanes - 1][parts][lanes], in the order of use. */
typedef struct geodec__ntt_tables {
    const geodec_modulus *modulus;
    int64_t n;
    int levels;                    /* log2 n */
    geodec_mulmod_barrett barrett; /* tight */
    void *roots, *inverses, *root_lanes, *inverse_lanes;
} geodec__ntt_tables;

typedef struct geodec__ntt_kernel {
    geodec_ntt_path path;
    int lanes, parts;
    size_t word, table_word; /* bytes */
    void (*twiddle)(uint64_t q, uint64_t w, uint64_t parts[GEODEC__NTT_PARTS]);
    void (*forward)(const geodec__ntt_tables *t, const void *in, void *out); /* n >= lanes^2 */
    void (*inverse)(const geodec__ntt_tables *t, const void *in, void *out);
    void (*forward_batch)(const geodec__ntt_tables *t, const void *in, void *out);
    void (*inverse_batch)(const geodec__ntt_tables *t, const void *in, void *out);
    void (*multiply)(const geodec__ntt_tables *t, const void *a, const void *b, void *out,
                     int64_t n); /* n: a multiple of lanes */
} geodec__ntt_kernel;

extern const geodec__ntt_kernel geodec__ntt_scalar32, geodec__ntt_scalar64, geodec__ntt_portable64;
#if defined(__x86_64__)
extern const geodec__ntt_kernel geodec__ntt_narrow_avx2, geodec__ntt_narrow_avx512, geodec__ntt_wide_avx512,
    geodec__ntt_narrow_ifma, geodec__ntt_wide_ifma;
#endif

/* The kernel of a path, for words of 4 or 8 bytes; NULL: the processor or the library lacks it. */
const geodec__ntt_kernel *geodec__ntt_kernel_for(geodec_ntt_path path, size_t word);

#endif
