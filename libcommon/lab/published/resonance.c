#include "lab/published/resonance.h"

const int64_t geodec_resonance_batch[GEODEC_RESONANCE_BATCHES] = {1, 10, 100, 1000, 10000};
const double geodec_resonance_published_loop_seconds[GEODEC_RESONANCE_BATCHES] = {1.46e-5, 4.112e-4, 1.673e-4, 1.143e-3,
                                                                                  1.11002e-2};
const double geodec_resonance_published_product_seconds[GEODEC_RESONANCE_BATCHES] = {1e-6, 4.2e-6, 6.1e-6, 2.57e-5,
                                                                                     1.849e-4};

geodec_resonance_published_row geodec_resonance_published_explain(void)
{
    enum { LAST = GEODEC_RESONANCE_BATCHES - 1 };
    geodec_resonance_published_row r;
    r.overhead = 1e6 * geodec_resonance_published_loop_seconds[LAST] / (double)geodec_resonance_batch[LAST];
    for (int i = 0; i < GEODEC_RESONANCE_BATCHES; i++) {
        r.speedup[i] = geodec_resonance_published_loop_seconds[i] / geodec_resonance_published_product_seconds[i];
        r.steady[i] =
            1e-6 * r.overhead * (double)geodec_resonance_batch[i] / geodec_resonance_published_product_seconds[i];
    }
    return r;
}
