/* Prompts and outputs of geodec-bench-decode and geodec-drafts. */
#ifndef GEODEC_TOOLS_CLI_BENCH_PLAN_H
#define GEODEC_TOOLS_CLI_BENCH_PLAN_H

#include "cli/cli.h"
#include "cli/text.h"
#include "measure/bench.h"

/* The file of the prompts, the sizes of the prompts, and the lengths of drafts. */
#define CLI_PROMPTS_OPTION(path_)                                                                                      \
    OPT_FILE("prompts", 0, &(path_), "FILE",                                                                           \
             "text that prompts are cut from; with JSON Lines each record is a prompt", .flags = CLI_REQUIRED)
#define CLI_PROMPT_CUT_OPTIONS(tokens_, count_)                                                                        \
    OPT_I64("prompt-tokens", 0, &(tokens_), 1, 65536, "N", "tokens of a prompt, including BOS"),                       \
        OPT_I64("n-prompts", 0, &(count_), 1, 100000, "N", "number of prompts")
#define CLI_GAMMAS_OPTION(list_) OPT_STR("gammas", 0, &(list_), "LIST", "draft lengths, ascending, 1 to 16")

/* Makes `count` prompts of `length` tokens from the file at path, or fewer and shorter ones if the text is short.
 * Conversations are in the model's own chat format and leave room for max_tokens in its context. lines: each line is a
 * prompt. separator: CLI_SEPARATOR_OPTION. The summary names the rule of the documents and, if the text is short, the
 * number and length of the prompts. */
geodec_status bench_prompts(const cli *c, const geodec_model *m, const char *path, const char *separator, bool lines,
                            int64_t count, int64_t length, int64_t max_tokens, geodec_prompts *out,
                            geodec_err *err) GEODEC_MUST_USE;

/* Path of `name` in the folder of `path`; caller frees. */
geodec_status bench_next_to(const char *path, const char *name, char **out, geodec_err *err) GEODEC_MUST_USE;
/* Prints the result on stderr. GEODEC_CHECK if a token differs from plain decoding. */
geodec_status bench_verdict(const cli *c, const geodec_bench_plan *plan, const geodec_bench_counts *counts,
                            geodec_err *err) GEODEC_MUST_USE;

#endif
