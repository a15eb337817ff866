/* How often the experts of a model are used, kept between runs: for a warm start, static sets and frequency scores.
 *
 * File, little-endian: magic "GEXUSAGE", u32 version, u32 layers, u32 experts, u32 0, fingerprint of the model (64
 * digits); for each layer and expert in order u32 layer, u32 expert, f32 F (the frequency, eviction_internal.h), u64
 * hits; CRC-32C of all before it. */
#ifndef GEODEC_STREAMING_USAGE_H
#define GEODEC_STREAMING_USAGE_H

#include "base/err.h"
#include "base/sha256.h"
#include "streaming/slots.h"

typedef struct geodec_usage {
    int32_t n_layer, n_expert;
    float *frequency; /* [n_layer][n_expert] F in [0, 1], owned */
    int64_t *hits;    /* [n_layer][n_expert] uses in all runs, owned */
    char fingerprint[GEODEC_SHA256_HEX];
} geodec_usage;

/* A table without uses: F = 1 / n_expert. GEODEC_LIMIT. */
geodec_status geodec_usage_new(int32_t n_layer, int32_t n_expert, const char *fingerprint, geodec_usage *out,
                               geodec_err *err) GEODEC_MUST_USE;
void geodec_usage_clear(geodec_usage *u); /* u may be all zero */
/* Takes over the frequencies of a run that began with those of u, and adds its uses. s has the layers and experts of u.
 */
void geodec_usage_add(geodec_usage *u, const geodec_slots *s);
/* Keys layer * n_expert + expert, most frequent first, then most hits, then lowest; order [n_layer n_expert]. */
geodec_status geodec_usage_order(const geodec_usage *u, int32_t *order, geodec_err *err) GEODEC_MUST_USE;

/* Replaces the file at once; after a kill the old one is there. */
geodec_status geodec_usage_write(const char *path, const geodec_usage *u, geodec_err *err) GEODEC_MUST_USE;
/* GEODEC_NOTFOUND, GEODEC_IO, GEODEC_FORMAT, GEODEC_VERSION, GEODEC_CHECKSUM, GEODEC_LIMIT; the message names the file.
 */
geodec_status geodec_usage_read(const char *path, geodec_usage *out, geodec_err *err) GEODEC_MUST_USE;
/* Reads the table of this model. False: there is none that fits (*out is unchanged), and why says the reason, as a note
 * for the user; a run goes on without it. */
bool geodec_usage_fits(const char *path, int32_t n_layer, int32_t n_expert, const char *fingerprint, geodec_usage *out,
                       geodec_err *why);

#endif
