/* Shared by geodec-decode and geodec-bench-decode: sessions by option, and the JSON report of one decoding. */
#ifndef GEODEC_TOOLS_CLI_DECODE_REPORT_H
#define GEODEC_TOOLS_CLI_DECODE_REPORT_H

#include "cli/cli.h"
#include "decode/loop.h"
#include "drafters/drafting.h"
#include "measure/readiness.h"
#include "model/model.h"

enum { DECODE_BATCH = GEODEC_DRAFT_MAX + 1, DECODE_GAMMA_AUTO = 8 /* upper limit of an adaptive draft */ };

/* The words of the options that say how the models run. NULL = not given; isa, arithmetic and kv have defaults. */
typedef struct decode_words {
    const char *isa, *arithmetic, *kv, *attnres;
    const char *projection, *kv_projection; /* files */
    const char *draft_model, *draft_projection, *draft_arithmetic;
} decode_words;

/* --draft-model and --draft-projection (geodec_drafting_sessions, geodec_drafting_project). */
#define CLI_DRAFT_MODEL_OPTIONS(words_)                                                                                \
    OPT_FILE("draft-model", 0, &(words_).draft_model, "FILE",                                                          \
             "a second model of the same tokenizer, for drafter model"),                                               \
        OPT_CHOICE(                                                                                                    \
            "draft-arithmetic", 0, &(words_).draft_arithmetic, "auto|exact|fast", "MODE",                              \
            "arithmetic of drafter model (default auto: by its own file, as --arithmetic auto is by the model's)"),    \
        OPT_FILE("draft-projection", 0, &(words_).draft_projection, "FILE",                                            \
                 "projection.h5 that drafter model runs from: of --draft-model, else of the model itself")

/* --projection and --kv-projection, where they are given. */
geodec_status decode_projections(const decode_words *w, geodec_model *m, geodec_err *err) GEODEC_MUST_USE;

/* A session of the model. GEODEC_UNSUPPORTED when the CPU lacks the instruction set. n_ctx 0 = the model's. */
geodec_status decode_session(const geodec_model *m, int32_t n_ctx, const decode_words *w, geodec_pool *pool,
                             geodec_session **out, geodec_err *err) GEODEC_MUST_USE;

/* The sessions of the drafters that run models, as that of the target, from --draft-model and --draft-projection. The
 * second model's arithmetic is --draft-arithmetic, else what suits its file; the canonical command line names it. */
geodec_status decode_second(const cli *c, const geodec_session *target, decode_words *w, geodec_pool *pool,
                            geodec_drafting *d, geodec_err *err) GEODEC_MUST_USE;

/* "auto", a whole number N or "papers:N": sets gamma, adaptive and papers_rule. */
geodec_status decode_gamma(const char *text, geodec_decode_options *o, geodec_err *err) GEODEC_MUST_USE;

/* The consistency of the metric and the intrinsic dimension from consistency.h5 (geodec-consistency) among the
 * artifacts, where it is there; folder NULL = no artifacts. GEODEC_CHECKSUM: it is of another model. */
geodec_status decode_consistency(const char *folder, const geodec_model *m, geodec_readiness *r,
                                 geodec_err *err) GEODEC_MUST_USE;

#endif
