/* Shared by geodec-decode and geodec-bench-decode: sessions by option, and the JSON report of one decoding. */
#ifndef GEODEC_TOOLS_CLI_DECODE_REPORT_H
#define GEODEC_TOOLS_CLI_DECODE_REPORT_H

#include "cli/cli.h"
#include "decode/loop.h"
#include "drafters/drafting.h"
#include "measure/readiness.h"
#include "session/model.h"

enum {
    DECODE_BATCH = GEODEC_DRAFT_MAX + 1,
    DECODE_GAMMA_AUTO = 8 /* upper limit of an adaptive draft */
};

/* Values of the options that control how the models run. NULL = not given; isa, arithmetic and kv have defaults. */
typedef struct decode_words {
    const char *isa, *arithmetic, *kv, *attnres;
    const char *projection, *kv_projection; /* files */
    const char *draft_model, *draft_projection, *draft_arithmetic;
} decode_words;

/* --draft-model and --draft-projection (geodec_drafting_sessions, geodec_drafting_project). */
#define CLI_DRAFT_MODEL_OPTIONS(words_)                                                                                \
    OPT_FILE("draft-model", 0, &(words_).draft_model, "FILE",                                                          \
             "second model with the same tokenizer, for the drafter named model"),                                     \
        OPT_CHOICE(                                                                                                    \
            "draft-arithmetic", 0, &(words_).draft_arithmetic, "auto|exact|fast", "MODE",                              \
            "arithmetic of the drafter named model (default auto: chosen from the file of the second model, as "       \
            "for --arithmetic)"),                                                                                      \
        OPT_FILE("draft-projection", 0, &(words_).draft_projection, "FILE",                                            \
                 "projection.h5 for the drafter named model: of --draft-model if given, else of the model itself")

/* Loads --projection and --kv-projection, if given. */
geodec_status decode_projections(const decode_words *w, geodec_model *m, geodec_err *err) GEODEC_MUST_USE;

/* Creates a session of the model. n_ctx 0 = the context of the model. GEODEC_UNSUPPORTED if the CPU lacks the
 * instruction set. */
geodec_status decode_session(const geodec_model *m, int32_t n_ctx, const decode_words *w, geodec_pool *pool,
                             geodec_session **out, geodec_err *err) GEODEC_MUST_USE;

/* Creates the sessions of drafters that run a model, from --draft-model and --draft-projection, with the options of the
 * target's session. The arithmetic of the second model is --draft-arithmetic, or is chosen from its file; the canonical
 * command line names it. */
geodec_status decode_second(const cli *c, const geodec_session *target, decode_words *w, geodec_pool *pool,
                            geodec_drafting *d, geodec_err *err) GEODEC_MUST_USE;

/* v(b) for adaptive drafts after `at` tokens (tree: drafts of a tree, 0: chains). While experts stream, nothing is
 * timed before the run: each pass would read experts, and the loop learns their price. */
geodec_status decode_cost(const geodec_target *target, int32_t at, int64_t tree, geodec_cost *out,
                          geodec_err *err) GEODEC_MUST_USE;

/* "auto" or a whole number: sets gamma and adaptive. */
geodec_status decode_gamma(const char *text, geodec_decode_options *o, geodec_err *err) GEODEC_MUST_USE;

/* Reads the consistency of the metric and the intrinsic dimension from FOLDER/consistency.h5 (geodec-consistency), if
 * the file exists; folder NULL = no artifacts. GEODEC_CHECKSUM: the file was measured on another model. */
geodec_status decode_consistency(const char *folder, const geodec_model *m, geodec_readiness *r,
                                 geodec_err *err) GEODEC_MUST_USE;

#endif
