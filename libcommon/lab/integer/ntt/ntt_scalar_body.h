/* Harvey's butterflies with Shoup's products, one word at a time. A file defines WORD, BITS, HIGH(a, b) = floor(a b /
 * 2^BITS) and PRODUCT(barrett, a, b). */
#include "base/unroll_internal.h"
#include "integer/fixed/mulmod.h"
#include "lab/integer/ntt/ntt_internal.h"

#define TWORD WORD
#define V WORD
#define LOG_LANES 0
#define RADIX 2
#define UP_TO_LOG(X) X(1) X(2)
#define PARTS 2
#define SETTLE 0

typedef struct K {
    WORD q, two;
    geodec_mulmod_barrett barrett;
} K;
typedef struct TW {
    WORD w, scaled;
} TW;

static void twiddle(uint64_t q, uint64_t w, uint64_t parts[GEODEC__NTT_PARTS])
{
    parts[0] = w;
    parts[1] = geodec_mulmod_quotient(w, BITS, q, NULL);
}

INLINE K constants(const geodec__ntt_tables *t)
{
    return (K){(WORD)t->modulus->q, (WORD)(2 * t->modulus->q), t->barrett};
}
INLINE TW one(const WORD *p) { return (TW){p[0], p[1]}; }
INLINE V take(const WORD *p) { return *p; }
INLINE void put(const K *k, WORD *p, V x)
{
    (void)k;
    *p = x;
}
INLINE V once(V x, V q) { return x >= q ? x - q : x; }
INLINE V times(const K *k, TW t, V x) { return t.w * x - HIGH(t.scaled, x) * k->q; }

#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#include "lab/integer/ntt/ntt_harvey_body.h"

INLINE V product(const K *k, V x, V y) { return PRODUCT(&k->barrett, x, y); }

#include "lab/integer/ntt/ntt_body.h"
