/* Documents for codes of the key and value cache, and the option that runs a cache through one. */
#ifndef GEODEC_TOOLS_CLI_KEY_CODE_H
#define GEODEC_TOOLS_CLI_KEY_CODE_H

#include "cli/cli.h"
#include "evaluate/key_codes.h"

#define CLI_KV_CODE_OPTION(var)                                                                                        \
    OPT_STR("kv-code", 0, &(var), "CODE",                                                                              \
            "run keys and values through a code of geodec-integer-keycodes, NAME[/pre][/query]; needs --kv-code-text")
#define CLI_KV_CODE_TEXT_OPTION(var)                                                                                   \
    OPT_FILE("kv-code-text", 0, &(var), "FILE", "text whose documents calibrate the code of --kv-code")

/* Documents of several texts as tokens. All zero but `every` is empty. */
typedef struct key_code_corpus {
    int64_t every; /* every n-th document calibrates; the others are in held_out, separated by empty lines */
    int64_t n, capacity, n_token, token_capacity;
    int64_t *begin; /* [n + 1] */
    int32_t *token;
    char *held_out;
    size_t n_held_out, held_out_capacity;
} key_code_corpus;
geodec_status key_code_add(key_code_corpus *x, const char *path, const char *separator, const geodec_tokenizer *t,
                           geodec_err *err) GEODEC_MUST_USE;
void key_code_clear(key_code_corpus *x);

/* Fits a code to the documents of a text. name NULL: *out is NULL. text NULL otherwise: GEODEC_INVAL. */
geodec_status key_code_fit(const cli *c, const geodec_model *m, const char *name, const char *text, int64_t window,
                           geodec_key_codes_set **out, geodec_err *err) GEODEC_MUST_USE;

#endif
