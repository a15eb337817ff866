/* Included before each file by make check-analyzer and make check-tidy, and by nothing else. The analysers look at one
 * file at a time: they do not know what functions of other files return and which memory they own. */
#ifndef GEODEC_ANALYZER_H
#define GEODEC_ANALYZER_H

#include "base/err.h"
#include "base/mem.h"

/* Memory is followed from its allocation to its release. */
#ifndef __clang__
void *geodec_mem_new(int64_t n, size_t size) __attribute__((malloc(geodec_mem_free, 1)));
char *geodec_mem_strdup(const char *s) __attribute__((malloc(geodec_mem_free, 1)));
#endif
#undef GEODEC_FREE
#define GEODEC_FREE(...)                                                                                               \
    do {                                                                                                               \
        PICK__(__VA_ARGS__, FREE40__, FREE39__, FREE38__, FREE37__, FREE36__, FREE35__, FREE34__, FREE33__, FREE32__,  \
               FREE31__, FREE30__, FREE29__, FREE28__, FREE27__, FREE26__, FREE25__, FREE24__, FREE23__, FREE22__,     \
               FREE21__, FREE20__, FREE19__, FREE18__, FREE17__, FREE16__, FREE15__, FREE14__, FREE13__, FREE12__,     \
               FREE11__, FREE10__, FREE9__, FREE8__, FREE7__, FREE6__, FREE5__, FREE4__, FREE3__, FREE2__, FREE1__, 0) \
        (__VA_ARGS__)                                                                                                  \
    } while (0)
#define PICK__(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22,    \
               a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, x, ...)       \
    x
#define FREE1__(p) geodec_mem_free(p);
#define FREE2__(p, ...) FREE1__(p) FREE1__(__VA_ARGS__)
#define FREE3__(p, ...) FREE1__(p) FREE2__(__VA_ARGS__)
#define FREE4__(p, ...) FREE1__(p) FREE3__(__VA_ARGS__)
#define FREE5__(p, ...) FREE1__(p) FREE4__(__VA_ARGS__)
#define FREE6__(p, ...) FREE1__(p) FREE5__(__VA_ARGS__)
#define FREE7__(p, ...) FREE1__(p) FREE6__(__VA_ARGS__)
#define FREE8__(p, ...) FREE1__(p) FREE7__(__VA_ARGS__)
#define FREE9__(p, ...) FREE1__(p) FREE8__(__VA_ARGS__)
#define FREE10__(p, ...) FREE1__(p) FREE9__(__VA_ARGS__)
#define FREE11__(p, ...) FREE1__(p) FREE10__(__VA_ARGS__)
#define FREE12__(p, ...) FREE1__(p) FREE11__(__VA_ARGS__)
#define FREE13__(p, ...) FREE1__(p) FREE12__(__VA_ARGS__)
#define FREE14__(p, ...) FREE1__(p) FREE13__(__VA_ARGS__)
#define FREE15__(p, ...) FREE1__(p) FREE14__(__VA_ARGS__)
#define FREE16__(p, ...) FREE1__(p) FREE15__(__VA_ARGS__)
#define FREE17__(p, ...) FREE1__(p) FREE16__(__VA_ARGS__)
#define FREE18__(p, ...) FREE1__(p) FREE17__(__VA_ARGS__)
#define FREE19__(p, ...) FREE1__(p) FREE18__(__VA_ARGS__)
#define FREE20__(p, ...) FREE1__(p) FREE19__(__VA_ARGS__)
#define FREE21__(p, ...) FREE1__(p) FREE20__(__VA_ARGS__)
#define FREE22__(p, ...) FREE1__(p) FREE21__(__VA_ARGS__)
#define FREE23__(p, ...) FREE1__(p) FREE22__(__VA_ARGS__)
#define FREE24__(p, ...) FREE1__(p) FREE23__(__VA_ARGS__)
#define FREE25__(p, ...) FREE1__(p) FREE24__(__VA_ARGS__)
#define FREE26__(p, ...) FREE1__(p) FREE25__(__VA_ARGS__)
#define FREE27__(p, ...) FREE1__(p) FREE26__(__VA_ARGS__)
#define FREE28__(p, ...) FREE1__(p) FREE27__(__VA_ARGS__)
#define FREE29__(p, ...) FREE1__(p) FREE28__(__VA_ARGS__)
#define FREE30__(p, ...) FREE1__(p) FREE29__(__VA_ARGS__)
#define FREE31__(p, ...) FREE1__(p) FREE30__(__VA_ARGS__)
#define FREE32__(p, ...) FREE1__(p) FREE31__(__VA_ARGS__)
#define FREE33__(p, ...) FREE1__(p) FREE32__(__VA_ARGS__)
#define FREE34__(p, ...) FREE1__(p) FREE33__(__VA_ARGS__)
#define FREE35__(p, ...) FREE1__(p) FREE34__(__VA_ARGS__)
#define FREE36__(p, ...) FREE1__(p) FREE35__(__VA_ARGS__)
#define FREE37__(p, ...) FREE1__(p) FREE36__(__VA_ARGS__)
#define FREE38__(p, ...) FREE1__(p) FREE37__(__VA_ARGS__)
#define FREE39__(p, ...) FREE1__(p) FREE38__(__VA_ARGS__)
#define FREE40__(p, ...) FREE1__(p) FREE39__(__VA_ARGS__)

/* An error is returned as the status that it has, which is not GEODEC_OK. */
#undef GEODEC_THROW
#define GEODEC_THROW(status_, ...)                                                                                     \
    do {                                                                                                               \
        st = (status_);                                                                                                \
        (void)geodec_err_set(err, st, __func__, __LINE__, __VA_ARGS__);                                                \
        if (st == GEODEC_OK) __builtin_unreachable();                                                                  \
        goto done;                                                                                                     \
    } while (0)
#undef GEODEC_FAIL
#define GEODEC_FAIL(status_, ...)                                                                                      \
    do {                                                                                                               \
        const geodec_status failed_ = (status_);                                                                       \
        (void)geodec_err_set(err, failed_, __func__, __LINE__, __VA_ARGS__);                                           \
        if (failed_ == GEODEC_OK) __builtin_unreachable();                                                             \
        return failed_;                                                                                                \
    } while (0)
#undef GEODEC_PASS_MSG
#define GEODEC_PASS_MSG(call, ...)                                                                                     \
    do {                                                                                                               \
        const geodec_status st_ = (call);                                                                              \
        if (st_ != GEODEC_OK) {                                                                                        \
            (void)geodec_err_add(err, st_, __func__, __LINE__, __VA_ARGS__);                                           \
            return st_;                                                                                                \
        }                                                                                                              \
    } while (0)

#endif
