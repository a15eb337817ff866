/* Stands in for PCRE2's header in builds of float_hash.c for another architecture (mk/everywhere.mk): what
 * libcommon/model/tokenizer uses of it, as declarations. The program reads vocabularies without regular expressions
 * only, and calls none of these functions. */
#ifndef EVERYWHERE_PCRE2_H
#define EVERYWHERE_PCRE2_H

#include <stddef.h>
#include <stdint.h>

typedef struct pcre2_general_context pcre2_general_context;
typedef struct pcre2_compile_context pcre2_compile_context;
typedef struct pcre2_match_context pcre2_match_context;
typedef struct pcre2_match_data pcre2_match_data;
typedef struct pcre2_code pcre2_code;
typedef const uint8_t *PCRE2_SPTR;
typedef size_t PCRE2_SIZE;
#define PCRE2_ZERO_TERMINATED (~(PCRE2_SIZE)0)
enum { PCRE2_UTF = 1, PCRE2_UCP = 2, PCRE2_JIT_COMPLETE = 1 };
enum { PCRE2_NO_UTF_CHECK = 1, PCRE2_NOTEMPTY = 2, PCRE2_NO_JIT = 4 };
enum {
    PCRE2_ERROR_NOMATCH = -1,
    PCRE2_ERROR_JIT_STACKLIMIT = -2,
    PCRE2_ERROR_NOMEMORY = -3,
    PCRE2_ERROR_HEAP_FAILED = -4
};

pcre2_general_context *pcre2_general_context_create(void *(*get)(size_t, void *), void (*put)(void *, void *),
                                                    void *ctx);
void pcre2_general_context_free(pcre2_general_context *c);
pcre2_compile_context *pcre2_compile_context_create(pcre2_general_context *c);
void pcre2_compile_context_free(pcre2_compile_context *c);
pcre2_code *pcre2_compile(PCRE2_SPTR pattern, PCRE2_SIZE n, uint32_t options, int *error, PCRE2_SIZE *at,
                          pcre2_compile_context *c);
void pcre2_code_free(pcre2_code *code);
int pcre2_jit_compile(pcre2_code *code, uint32_t options);
pcre2_match_data *pcre2_match_data_create(uint32_t n, pcre2_general_context *c);
void pcre2_match_data_free(pcre2_match_data *m);
pcre2_match_context *pcre2_match_context_create(pcre2_general_context *c);
void pcre2_match_context_free(pcre2_match_context *c);
int pcre2_match(const pcre2_code *code, PCRE2_SPTR subject, PCRE2_SIZE n, PCRE2_SIZE from, uint32_t options,
                pcre2_match_data *m, pcre2_match_context *c);
PCRE2_SIZE *pcre2_get_ovector_pointer(pcre2_match_data *m);

#endif
