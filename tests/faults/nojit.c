/* Preloaded by check-valgrind: PCRE2 interprets its patterns. Its compiled code reads whole words around a text, and
 * memcheck cannot see that it discards what is outside. */
#include <stdint.h>

int pcre2_jit_compile_8(void *code, uint32_t options);
int pcre2_jit_compile_8(void *code, uint32_t options)
{
    (void)code;
    (void)options;
    return -45; /* PCRE2_ERROR_JIT_BADOPTION */
}
