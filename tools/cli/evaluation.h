/* Options of the tools that evaluate a model in a selected arithmetic. */
#ifndef GEODEC_TOOLS_CLI_EVALUATION_H
#define GEODEC_TOOLS_CLI_EVALUATION_H

#include "cli/cli.h"
#include "evaluate/scorer.h"

#define CLI_ARITHMETIC_OPTION(var, choices_)                                                                           \
    OPT_CHOICE(                                                                                                        \
        "arithmetic", 0, &(var), choices_, "MODE",                                                                     \
        "exact: float activations; fast: int8 activations where weights are quantised; auto: fast where at least "     \
        "half of the weights' bytes are quantised in blocks, else exact")
#define CLI_KV_OPTION(var)                                                                                             \
    OPT_CHOICE("kv", 0, &(var), GEODEC_KV_CHOICES, "TYPE", "element type of the key and value cache")

#define CLI_KV_PROJECTION_OPTION(var)                                                                                  \
    OPT_FILE("kv-projection", 0, &(var), "FILE",                                                                       \
             "kvprojection.h5 of the model (geodec-project-kv): the cache keeps coefficients of low rank")
#define CLI_ATTNRES_OPTION(var)                                                                                        \
    OPT_STR("attnres", 0, &(var), "WHAT",                                                                              \
            "recombine the residual stream over depth: damp:S, depth_attn:S[:window=N] (joined by +), "                \
            "block_softmax:S[:blocks=N][:tau=T][:query=state|zero], or the control rescale:S (default: off)")

/* Replaces the value auto by the arithmetic that suits the model's file (session/arithmetic.h) and updates the
 * canonical command line. Returns true if the value was auto. Must be called before any other option is changed. */
bool arithmetic_settle(const cli *c, const geodec_model *m, const char **word);
/* Prints a summary line on the arithmetic if it is fast, or with --verbose. */
void arithmetic_say(const cli *c, const geodec_model *m, const char *word);
/* The value of an option; the option table has checked the word. */
geodec_arithmetic arithmetic_of(const char *word);
geodec_kv_type kv_of(const char *word);
geodec_isa isa_of(const char *word);
/* word: exact, fast or float64. */
geodec_scorer_evaluation evaluation_of(const geodec_model *m, const char *arithmetic, const char *kv, const char *isa);

#endif
