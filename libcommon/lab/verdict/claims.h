/* Published claims, each with its reproduction, the correct value, its control and a verdict (pipelines/claims/README).
 *
 * A fragment is a table with the columns id, section, claim, published, reproduced, exports, model, control, verdict.
 * The five values of a row are P (the published figure) and R, E, M, C (references, or `-` for none). The words of its
 * rule are reproduced, not reproduced, artefact, refuted, holds, and two for undecided rows: untestable, undecidable.
 * The column `power` at the end has the finding of a row that says something of a geometry, or `-: REASON`
 * (verdict/gate.h); a fragment may be without it, and geodec-claims --check refuses it then. */
#ifndef GEODEC_VERDICT_CLAIMS_H
#define GEODEC_VERDICT_CLAIMS_H

#include "io/table.h"
#include "lab/verdict/gate.h"
#include "lab/verdict/reference.h"
#include "lab/verdict/rule.h"
#include "lab/verdict/values.h"

/* The word of a row with a broken reference. */
#define GEODEC_CLAIM_BROKEN "error"

typedef struct geodec_claim {
    const char *id, *section, *claim, *published, *reference[4]; /* cells; NULL for `-` */
    bool percent; /* the published figure is a percentage; rules use the values as shares */
    geodec_rule rule;
    const char *finding; /* whose power its verdict needs; NULL: none */
} geodec_claim;

typedef struct geodec_claims {
    geodec_table table;
    int64_t n;
    geodec_claim *row;
    bool gated; /* the fragment has the column `power` */
} geodec_claims;

typedef struct geodec_claim_verdict {
    char shown[5][GEODEC_VALUE_TEXT]; /* P R E M C */
    char word[GEODEC_RULE_WORD], sentence[GEODEC_SENTENCE_MAX];
} geodec_claim_verdict;

/* Reads and checks a fragment; GEODEC_FORMAT names file and line. Errors are: a reference to a table's row by its
 * number; rules with only one deciding word, or whose last rule decides; `reproduced` with a condition without P; a
 * condition that needs a value that the row does not have; an unreachable branch. */
geodec_status geodec_claims_read(const char *path, geodec_claims *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_claims_free(geodec_claims *c);
/* The five values; @MODEL and @FILE in a reference are replaced by `model` (its folder of results) and `file` (the
 * model file's name without .gguf, as in tables of several models). A broken reference sets *broken, and `sentence` has
 * the reason. */
geodec_status geodec_claim_values(const geodec_claim *c, geodec_references *refs, const char *model, const char *file,
                                  geodec_values *values, bool *broken, char sentence[GEODEC_SENTENCE_MAX],
                                  geodec_err *err) GEODEC_MUST_USE;
/* The verdict on given values. If a value that a condition needs is missing, the verdict is the last rule's word, with
 * the reason. If all values are known and no condition holds, it is `undecidable`. */
geodec_status geodec_claim_decide(const geodec_claim *c, geodec_values *values, geodec_claim_verdict *out,
                                  geodec_err *err) GEODEC_MUST_USE;

#endif
