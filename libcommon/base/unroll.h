/* Internal: INLINE and UNROLL for inner loops that are written once and compiled for several sizes or instruction sets.
 */
#ifndef GEODEC_BASE_UNROLL_H
#define GEODEC_BASE_UNROLL_H

#define INLINE static inline __attribute__((always_inline))
#if defined(GEODEC_DEBUG)
#define UNROLL /* sums in memory, slow; but a sanitizer's instrumentation of unrolled tiles takes minutes to compile   \
                */
#elif defined(__clang__)
#define UNROLL _Pragma("unroll")
#pragma clang diagnostic ignored "-Wpass-failed" /* where a bound is no constant it says so; speed alone is lost */
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#endif
