/* Internal: INLINE and UNROLL for inner loops that are compiled for several sizes or instruction sets; ROLLED for an
 * outer loop of constant length that would spill registers if it were unrolled; UP_TO for a function per size.
 * A file for processors without vectors defines PORTABLE first: its lanes are loops, and unrolled they take half a
 * minute to compile. */
#ifndef GEODEC_BASE_UNROLL_INTERNAL_H
#define GEODEC_BASE_UNROLL_INTERNAL_H

#define INLINE static inline __attribute__((always_inline))
#if defined(GEODEC_DEBUG) || defined(PORTABLE)
/* Debug builds do not unroll either: with a sanitizer, unrolled tiles take minutes to compile. */
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

/* UP_TO(n, X, ...): X(1, ...) X(2, ...) .. X(n, ...), n a number up to 12. */
#define UP_TO(n, X, ...) UP_TO_OF(n, X, __VA_ARGS__)
#define UP_TO_OF(n, X, ...) UP_TO_##n(X, __VA_ARGS__)
#define UP_TO_1(X, ...) X(1, __VA_ARGS__)
#define UP_TO_2(X, ...) UP_TO_1(X, __VA_ARGS__) X(2, __VA_ARGS__)
#define UP_TO_3(X, ...) UP_TO_2(X, __VA_ARGS__) X(3, __VA_ARGS__)
#define UP_TO_4(X, ...) UP_TO_3(X, __VA_ARGS__) X(4, __VA_ARGS__)
#define UP_TO_5(X, ...) UP_TO_4(X, __VA_ARGS__) X(5, __VA_ARGS__)
#define UP_TO_6(X, ...) UP_TO_5(X, __VA_ARGS__) X(6, __VA_ARGS__)
#define UP_TO_7(X, ...) UP_TO_6(X, __VA_ARGS__) X(7, __VA_ARGS__)
#define UP_TO_8(X, ...) UP_TO_7(X, __VA_ARGS__) X(8, __VA_ARGS__)
#define UP_TO_9(X, ...) UP_TO_8(X, __VA_ARGS__) X(9, __VA_ARGS__)
#define UP_TO_10(X, ...) UP_TO_9(X, __VA_ARGS__) X(10, __VA_ARGS__)
#define UP_TO_11(X, ...) UP_TO_10(X, __VA_ARGS__) X(11, __VA_ARGS__)
#define UP_TO_12(X, ...) UP_TO_11(X, __VA_ARGS__) X(12, __VA_ARGS__)

#endif
