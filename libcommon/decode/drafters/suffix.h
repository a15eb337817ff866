/* Suffix automaton of a growing text (Blumer et al. 1985): the smallest automaton of all its substrings. A state
 * represents the substrings that end at the same places of the text; the longest of them has `length` tokens, and
 * `link` leads to the longest suffix that also ends elsewhere. The link of the whole text therefore leads to the
 * longest suffix that occurred before, and the edges of that state are all tokens that followed it.
 *
 * A text of n tokens has at most 2 n states and 3 n edges; appending a token is O(1) amortised. */
#ifndef GEODEC_DRAFTERS_SUFFIX_H
#define GEODEC_DRAFTERS_SUFFIX_H

#include "base/err.h"

#include <stdint.h>

/* Number of suffixes of a prefix whose counts are updated. Only texts that repeat with a short period have more. Their
 * shorter suffixes then have counts that are too low; the match remains exact. */
enum { GEODEC_SUFFIX_COUNTED = 128 };

typedef struct geodec_suffix geodec_suffix;

/* A place: the last `length` tokens of a string, which occur in the text. {0, 0} is the empty string. */
typedef struct geodec_suffix_match {
    int32_t state, length;
} geodec_suffix_match;

geodec_status geodec_suffix_create(geodec_suffix **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_suffix_destroy(geodec_suffix *s);
/* Back to the empty text. */
void geodec_suffix_clear(geodec_suffix *s);
geodec_status geodec_suffix_append(geodec_suffix *s, int32_t token, geodec_err *err) GEODEC_MUST_USE;
int64_t geodec_suffix_length(const geodec_suffix *s); /* tokens appended */

/* The longest suffix of the text that also ends at an earlier place. */
geodec_suffix_match geodec_suffix_longest(const geodec_suffix *s);
/* The longest suffix of (string, token) that occurs in the text. */
geodec_suffix_match geodec_suffix_step(const geodec_suffix *s, geodec_suffix_match m, int32_t token);
/* The longest proper suffix with more places in the text; that of the empty string is the empty string. */
geodec_suffix_match geodec_suffix_shorter(const geodec_suffix *s, geodec_suffix_match m);
/* Number of times the token followed the string; 0 = never. */
int64_t geodec_suffix_count(const geodec_suffix *s, geodec_suffix_match m, int32_t token);
/* Visits the continuations, latest first: `at` is geodec_suffix_first, then the returned value; -1 = end. */
int32_t geodec_suffix_first(const geodec_suffix *s, geodec_suffix_match m);
int32_t geodec_suffix_next(const geodec_suffix *s, int32_t at, int32_t *token, int64_t *count);

#endif
