/* Shared by the two halves of the bench. */
#ifndef GEODEC_MEASURE_BENCH_INTERNAL_H
#define GEODEC_MEASURE_BENCH_INTERNAL_H

#include "artifact/artifact.h"
#include "measure/bench.h"

geodec_status geodec__bench_check(const geodec_bench_plan *plan, geodec_err *err);
/* Options of a request of the plan; gamma 0 = plain. */
geodec_decode_options geodec__bench_options(const geodec_bench_plan *plan, bool sampled, int64_t prompt, int32_t seed,
                                            int32_t gamma);

/* Drafters of one worker. */
typedef struct bench_drafters {
    geodec_drafter *d[GEODEC_BENCH_DRAFTERS];
} bench_drafters;
geodec_status geodec__bench_drafters_open(const geodec_bench_plan *plan, bench_drafters *out, geodec_err *err);
void geodec__bench_drafters_close(bench_drafters *b);

bool geodec__bench_oracle_is(const geodec_drafter *d);
/* plain is borrowed; its stop token is proposed after its output. */
void geodec__bench_oracle_set(geodec_drafter *d, const geodec_decoded *plain);

/* Asks `inner` at every position and sends nothing; the drafts are compared afterwards with the decided tokens. */
geodec_status geodec__bench_probe_create(int64_t max_tokens, int32_t gamma, int32_t budget, geodec_drafter **out,
                                         geodec_err *err);
void geodec__bench_probe_set(geodec_drafter *probe, geodec_drafter *inner);
/* Adds the results of the drafts to c->position, total and confidence, for every position with `gamma` decided tokens
 * after it. Adds the number of these positions to c->rounds. */
void geodec__bench_probe_tally(const geodec_drafter *probe, const geodec_decoded *plain, geodec_decode_counters *c);

/* Number of places at which two texts differ, including places that only the longer one has. *first (NULL ok): number
 * of tokens before the first such place. */
int64_t geodec__bench_differences(const geodec_decoded *a, const geodec_decoded *b, int64_t *first);
/* Mean tokens of a round of up to gamma drafts, from the acceptance of each position (decode/predict.h). Position i is
 * reached when i drafts were accepted; a missing draft counts as rejected. */
double geodec__bench_tokens(const geodec_decode_counters *c, int32_t gamma);

/* As geodec__bench_probe_tally, for trees: counts the length of the right path through the first `budget` drafts, at
 * positions with GEODEC_BENCH_GAMMA decided tokens after them. */
void geodec__bench_probe_tally_tree(const geodec_drafter *d, const geodec_decoded *plain, int32_t budget,
                                    geodec_decode_counters *c);

/* Rows and counts by text of a benchdecode artifact. GEODEC_FORMAT. */
geodec_status geodec__bench_read_counts(const geodec_artifact *a, geodec_bench_counts *out, geodec_err *err);

/* Attributes of every artifact of a plan: a member `about` of its struct, bound by GEODEC__ABOUT. */
typedef struct geodec__about {
    char names[GEODEC_BENCH_DRAFTERS * 64];
    const char *drafters;  /* names */
    const char *separator; /* NULL: the prompts do not come from documents */
    const int64_t *documents;
    int64_t prompts, max_tokens;
} geodec__about;
#define GEODEC__ABOUT(S, drafters_are, prompts_are)                                                                    \
    {"drafters", GEODEC_ATTR_STR, 0, drafters_are, GEODEC_IN(S, about.drafters)},                                      \
        {"prompts", GEODEC_ATTR_I64, 0, prompts_are, GEODEC_IN(S, about.prompts)},                                     \
        {"max_tokens", GEODEC_ATTR_I64, 0, "output tokens of a prompt", GEODEC_IN(S, about.max_tokens)},               \
        {"separator", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,                                                          \
         "rule that divided the text of the prompts into documents", GEODEC_IN(S, about.separator)},                   \
    {                                                                                                                  \
        "documents", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "documents of that text", GEODEC_AT(S, about.documents)   \
    }
/* out must not be moved: it points into itself. GEODEC_LIMIT: the names are too long. */
geodec_status geodec__bench_about_plan(const geodec_bench_plan *plan, int64_t prompts, geodec__about *out,
                                       geodec_err *err);

#endif
