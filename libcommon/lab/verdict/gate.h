/* The gate of a verdict: what the positive control of its finding says of the power of the rule.
 *
 * A row of the headline or of the claims that says something of a geometry names its finding in the column `power`
 * (FINDING, or `-: REASON` of a row that is no such row). The table of power (geodec-power; columns finding, unit,
 * size, power, least, points, data, none, reason among others) has a row for each finding. From the word of the row's
 * own rule:
 *
 *     holds, mixed, refuted, artefact   without a row of the finding, or without a power figure: not measured, with the
 *                                       reason
 *     holds, mixed, refuted, artefact   found in more than GEODEC_GATE_FALSE of the worlds without the effect: no power
 *     mixed, refuted, artefact          power below GEODEC_GATE_LEAST at the size: no power
 *     holds, mixed, refuted, artefact   otherwise unchanged; the sentence gets the power and the least effect
 *     any other word                    unchanged: it says nothing of the effect
 *
 * Where the rule finds the effect in many worlds without it, the sentence says so. */
#ifndef GEODEC_VERDICT_GATE_H
#define GEODEC_VERDICT_GATE_H

#include "io/table.h"
#include "lab/verdict/rule.h"
#include "lab/verdict/values.h"

#include <stdbool.h>

#define GEODEC_GATE_LEAST 0.8 /* the least power at which a negative outcome says something */
#define GEODEC_GATE_FALSE 0.5 /* above this share without the effect, a rule does not tell the two apart */
#define GEODEC_NO_POWER "no power"
#define GEODEC_NOT_MEASURED "not measured"
/* A `--power` of this name: no gate, for the worlds of the positive controls themselves. */
#define GEODEC_GATE_OFF "-"

typedef struct geodec_gate {
    bool off;
    geodec_table table;              /* no rows if there is no file */
    char missing[GEODEC_VALUE_TEXT]; /* the reason, if there is no file */
} geodec_gate;

/* A missing file is no error: no finding has a power figure then. The first line of path.not-measured is the reason, if
 * there is such a file. GEODEC_FORMAT (a column is missing), GEODEC_LIMIT. */
geodec_status geodec_gate_open(const char *path, geodec_gate *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_gate_close(geodec_gate *g); /* all zero is allowed */
/* word, sentence: those of the row's rule, replaced. finding NULL: unchanged. GEODEC_LIMIT (the sentence). */
geodec_status geodec_gate_judge(const geodec_gate *g, const char *finding, char word[GEODEC_RULE_WORD],
                                char sentence[GEODEC_SENTENCE_MAX], geodec_err *err) GEODEC_MUST_USE;

/* Reads a table of rules with these columns [n], no empty cell, and perhaps the column `power` as the last one; *gated
 * says whether it is there. */
geodec_status geodec_gate_rules(const char *path, int64_t n, const char *const *columns, const char *what,
                                geodec_table *out, bool *gated, geodec_err *err) GEODEC_MUST_USE;
/* The finding of a cell of the column `power`: NULL for `-: REASON`. GEODEC_FORMAT unless it is one of the two. */
geodec_status geodec_gate_finding(const char *cell, const char **out, geodec_err *err) GEODEC_MUST_USE;

#endif
