// C functions around Intel HEXL for tests/bench/bench_ntt.c (make bench-ntt PEER=FOLDER), which loads the shared object
// made of this file and FOLDER/libhexl.a. Never part of a build.
#include "hexl/hexl.hpp"

extern "C" {
void *peer_ntt_new(uint64_t n, uint64_t q, uint64_t root)
{
    return new intel::hexl::NTT(n, q, root);
}
void peer_ntt_delete(void *ntt) { delete static_cast<intel::hexl::NTT *>(ntt); }
// Input and output in [0, q); the output of the forward transform is in bit-reversed order.
void peer_ntt_forward(void *ntt, const uint64_t *in, uint64_t *out)
{
    static_cast<intel::hexl::NTT *>(ntt)->ComputeForward(out, in, 1, 1);
}
void peer_ntt_inverse(void *ntt, const uint64_t *in, uint64_t *out)
{
    static_cast<intel::hexl::NTT *>(ntt)->ComputeInverse(out, in, 1, 1);
}
void peer_ntt_multiply(const uint64_t *a, const uint64_t *b, uint64_t *out, uint64_t n, uint64_t q)
{
    intel::hexl::EltwiseMultMod(out, a, b, n, q, 1);
}
}
