/* Shared by geodec-decode and geodec-bench-decode: sessions by option, and the JSON report of one decoding. */
#ifndef GEODEC_TOOLS_CLI_DECODE_REPORT_H
#define GEODEC_TOOLS_CLI_DECODE_REPORT_H

#include "cli/cli.h"
#include "decode/loop.h"
#include "drafters/drafting.h"
#include "measure/readiness.h"
#include "model/model.h"

enum { DECODE_BATCH = GEODEC_DRAFT_MAX + 1, DECODE_GAMMA_AUTO = 8 /* upper limit of an adaptive draft */ };

/* --draft-model and --draft-projection (geodec_drafting_sessions, geodec_drafting_project). */
#define CLI_DRAFT_MODEL_OPTIONS(model_, projection_, arithmetic_)                                                      \
    {.name = "draft-model",                                                                                            \
     .type = CLI_STR,                                                                                                  \
     .flags = CLI_PATH,                                                                                                \
     .target = &(model_),                                                                                              \
     .metavar = "FILE",                                                                                                \
     .help = "a second model of the same tokenizer, for drafter model"},                                               \
        {.name = "draft-arithmetic",                                                                                   \
         .type = CLI_CHOICE,                                                                                           \
         .target = &(arithmetic_),                                                                                     \
         .choices = "auto|exact|fast",                                                                                 \
         .metavar = "MODE",                                                                                            \
         .help =                                                                                                       \
             "arithmetic of drafter model (default auto: by its own file, as --arithmetic auto is by the model's)"},   \
    {                                                                                                                  \
        .name = "draft-projection", .type = CLI_STR, .flags = CLI_PATH, .target = &(projection_), .metavar = "FILE",   \
        .help = "projection.h5 that drafter model runs from: of --draft-model, else of the model itself"               \
    }

/* Options of a session of the tools; n_ctx 0 = the model's. */
geodec_session_options decode_session_options(int32_t n_ctx, const char *isa, const char *arithmetic, const char *kv,
                                              geodec_pool *pool);

/* attnres: as geodec_attnres_parse has it. isa: auto, scalar, avx2, avx512; GEODEC_UNSUPPORTED when the CPU lacks it.
 * n_ctx 0 = the model's. */
geodec_status decode_session(const geodec_model *m, int32_t n_ctx, const char *isa, const char *arithmetic,
                             const char *kv, const char *attnres, geodec_pool *pool, geodec_session **out,
                             geodec_err *err) GEODEC_MUST_USE;

/* The arithmetic of the second model, where there is one: `word`, or NULL and auto for what suits its file; the
 * canonical command line names it. After geodec_drafting_sessions and _project. */
void decode_second_arithmetic(const cli *c, geodec_drafting *d, const char **word);

/* "auto", a whole number N or "papers:N": sets gamma, adaptive and papers_rule. */
geodec_status decode_gamma(const char *text, geodec_decode_options *o, geodec_err *err) GEODEC_MUST_USE;

/* The consistency of the metric and the intrinsic dimension from consistency.h5 (geodec-consistency) among the
 * artifacts, where it is there; folder NULL = no artifacts. GEODEC_CHECKSUM: it is of another model. */
geodec_status decode_consistency(const char *folder, const geodec_model *m, geodec_readiness *r,
                                 geodec_err *err) GEODEC_MUST_USE;

typedef struct decode_report {
    const cli *cli;
    const geodec_session *session;
    const geodec_drafter *drafter;                      /* NULL = none */
    const char *folder;                                 /* of the artifacts, NULL = none */
    double flow_consistency, flow_consistency_shuffled; /* geodec_drafting_consistency */
    const char *artifact_model_sha256;                  /* of the artifact the drafter was made from, "" = none */
    const geodec_decode_options *options;
    int64_t n_prompt;
    const geodec_decoded *got, *plain; /* plain: the comparison run, NULL = not made */
} decode_report;
/* The readiness report (measure/readiness.h) of this one decoding, and its counters. */
geodec_status decode_report_write(const char *path, const decode_report *r, geodec_err *err) GEODEC_MUST_USE;

#endif
