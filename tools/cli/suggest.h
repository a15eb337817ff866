/* The nearest of several words to one that is unknown, for the messages about mistyped options and values. */
#ifndef GEODEC_TOOLS_CLI_SUGGEST_H
#define GEODEC_TOOLS_CLI_SUGGEST_H

#include <stddef.h>

typedef struct suggestion {
    const char *word; /* as given by the user; not copied */
    size_t length;    /* of it */
    const char *best; /* the nearest candidate so far, or NULL if none is near; not copied */
    size_t best_length, distance;
} suggestion;

enum { SUGGEST_MAX = 40 }; /* longer words are not compared */

/* Starts with a word of `length` bytes. A candidate is near if at most a third of the word's letters differ, at least
 * one: insertions, deletions, replacements and exchanges of neighbours count 1 each (optimal string alignment). */
suggestion suggest_begin(const char *word, size_t length);
/* Compares a candidate. Of equally near ones the first stays. A candidate that begins with a word of three or more
 * letters is near too. */
void suggest_compare(suggestion *s, const char *candidate, size_t length);

#endif
