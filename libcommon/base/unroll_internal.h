/* Internal: INLINE and UNROLL for inner loops that are compiled for several sizes or instruction sets; ROLLED for an
 * outer loop of constant length that would spill registers if it were unrolled. */
#ifndef GEODEC_BASE_UNROLL_INTERNAL_H
#define GEODEC_BASE_UNROLL_INTERNAL_H

#define INLINE static inline __attribute__((always_inline))
#if defined(GEODEC_DEBUG)
#define UNROLL /* sums in memory, slow; but a sanitizer's instrumentation of unrolled tiles takes minutes to compile   \
                */
#elif defined(__clang__)
#define UNROLL _Pragma("unroll")
#pragma clang diagnostic ignored "-Wpass-failed" /* a non-constant bound gives a warning only; the result is the same  \
                                                  */
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif
#if defined(__clang__)
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ROLLED _Pragma("GCC unroll 1")
#endif

#endif
