/* Internal: INLINE and UNROLL for inner loops that are compiled for several sizes or instruction sets; ROLLED for an
 * outer loop of constant length that would spill registers if it were unrolled; EACH for a function per size. */
#ifndef GEODEC_BASE_UNROLL_INTERNAL_H
#define GEODEC_BASE_UNROLL_INTERNAL_H

#define INLINE static inline __attribute__((always_inline))
#if defined(GEODEC_DEBUG)
/* Slow sums in memory: a sanitizer's instrumentation of unrolled tiles takes minutes to compile. */
#define UNROLL
#elif defined(__clang__)
#define UNROLL _Pragma("unroll")
/* A bound that is not constant gives a warning; the result is the same. */
#pragma clang diagnostic ignored "-Wpass-failed"
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif
#if defined(__clang__)
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ROLLED _Pragma("GCC unroll 1")
#endif

/* EACH(n, X, ...): X(1, ...) X(2, ...) .. X(n, ...), n a number up to 12. */
#define EACH(n, X, ...) EACH_OF(n, X, __VA_ARGS__)
#define EACH_OF(n, X, ...) EACH_##n(X, __VA_ARGS__)
#define EACH_1(X, ...) X(1, __VA_ARGS__)
#define EACH_2(X, ...) EACH_1(X, __VA_ARGS__) X(2, __VA_ARGS__)
#define EACH_3(X, ...) EACH_2(X, __VA_ARGS__) X(3, __VA_ARGS__)
#define EACH_4(X, ...) EACH_3(X, __VA_ARGS__) X(4, __VA_ARGS__)
#define EACH_5(X, ...) EACH_4(X, __VA_ARGS__) X(5, __VA_ARGS__)
#define EACH_6(X, ...) EACH_5(X, __VA_ARGS__) X(6, __VA_ARGS__)
#define EACH_7(X, ...) EACH_6(X, __VA_ARGS__) X(7, __VA_ARGS__)
#define EACH_8(X, ...) EACH_7(X, __VA_ARGS__) X(8, __VA_ARGS__)
#define EACH_9(X, ...) EACH_8(X, __VA_ARGS__) X(9, __VA_ARGS__)
#define EACH_10(X, ...) EACH_9(X, __VA_ARGS__) X(10, __VA_ARGS__)
#define EACH_11(X, ...) EACH_10(X, __VA_ARGS__) X(11, __VA_ARGS__)
#define EACH_12(X, ...) EACH_11(X, __VA_ARGS__) X(12, __VA_ARGS__)

#endif
