/* The corpus: short generated stories with the exact entropy of their text. The generator keeps the state of a world
 * (who is present, who has what, where things are, how many are left, who knows what).
 *
 * Every random choice has a known probability and is printed where it is made. A text therefore has exactly one
 * sequence of choices, and -log2 P(text) is the sum of -log2 p over them (geodec_corpus_derivations checks this for a
 * given text). The mean over stories of these bits, divided by the mean length, is the entropy of the source per byte:
 * no model can have a lower expected loss, the end of the story included.
 *
 * File convention: stories are UTF-8 (ASCII in fact), without leading or trailing white space, paragraphs on lines of
 * their own, and separated by GEODEC_STORY_SEPARATOR: a line "<|endoftext|>" between empty lines. A trainer splits
 * there and encodes each story as BOS + story + EOS; the separator itself is not text and is not counted in bytes or
 * bits. */
#ifndef GEODEC_CORPUS_CORPUS_H
#define GEODEC_CORPUS_CORPUS_H

#include "base/err.h"
#include "base/hooks.h"
#include "base/pool.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GEODEC_STORY_END "<|endoftext|>"
#define GEODEC_STORY_SEPARATOR "\n\n" GEODEC_STORY_END "\n\n"

/* Story `index` of the stream `seed`: a pure function of both, so any range can be made by any thread. *text:
 * zero-terminated, n bytes, caller frees with geodec_mem_free. *bits: -log2 of the probability of this text. */
geodec_status geodec_corpus_story(uint64_t seed, uint64_t index, char **text, size_t *n, double *bits,
                                  geodec_err *err) GEODEC_MUST_USE;

/* The number of sequences of choices that give exactly this text (depth-first search through the generator), and -log2
 * of their summed probability. `bits` is exact because the number is 1 for every story of the corpus. count 0: not a
 * text of the generator, *bits = 0. About 10 ms a story. */
geodec_status geodec_corpus_derivations(const char *text, size_t n, int64_t *count, double *bits,
                                        geodec_err *err) GEODEC_MUST_USE;

/* Statistics of a range of stories. */
typedef struct geodec_corpus_stats {
    int64_t stories, bytes, words, distinct_words;
    double bits;                 /* sum over stories */
    double bits_per_byte;        /* bits / bytes: the entropy estimate */
    double bits_per_byte_error;  /* its standard error over stories (ratio estimator, delta method) */
    double bytes_mean, bytes_sd; /* length of a story */
} geodec_corpus_stats;

/* Writes stories first .. first+n_stories-1 (n_bytes 0), or as many as are needed to reach n_bytes bytes of story text
 * (n_stories 0), to `out` with separators between them. Bounded memory; the bytes do not depend on the number of
 * threads. out may be NULL. */
geodec_status geodec_corpus_write(uint64_t seed, uint64_t first, int64_t n_stories, int64_t n_bytes, FILE *out,
                                  geodec_pool *pool, const geodec_hooks *hooks, geodec_corpus_stats *stats,
                                  geodec_err *err) GEODEC_MUST_USE;

#endif
