/* A memory of pairs (key, text) in sums of hypervectors.
 *
 * Entry i has a value, the XOR of vectors i % 1024 and i / 1024 of two codebooks of the seed, so that a table of 2,048
 * vectors is enough for a million entries and any two values are independent. Its bank adds up key XOR value in one
 * counter a bit. To look up a key, the signs of the counters of a bank are unbound with it:
 *
 *     probe = majority(bank) XOR key ~ value + noise of the other pairs of the bank
 *
 * and compared with the values of all entries of the bank. The first bits of a key name its bank. A noisy key may
 * differ there, so all banks whose number differs in at most `radius` bits are asked; a key of which each bit is
 * inverted with probability 0.1 has at most 2 of 11 bits inverted in 91.0 % of cases, and at most 3 in 98.1 %.
 *
 * z = similarity / 0.01 counts standard deviations of the similarity of an unrelated vector. A find is accepted above
 * z = 5. A pair of a bank of n has a mean similarity of about sqrt(2 / (pi n)), so about 250 pairs are the most
 * that are accepted more often than not.
 *
 * Keys are not stored: a bank of counters takes 20 kB, which is as much as 16 keys. */
#ifndef GEODEC_PERSPECTIVE_MEMORY_HDM_H
#define GEODEC_PERSPECTIVE_MEMORY_HDM_H

#include "lab/perspective/memory/encoder.h"

#include <stdbool.h>

enum {
    GEODEC_HDM_BANK_BITS = 11, /* default; 2,048 banks. 0 = one bank */
    GEODEC_HDM_BANK_BITS_MAX = 11,
    GEODEC_HDM_RADIUS = 2,
    GEODEC_HDM_ENTRIES_MAX = 1 << 20,
    GEODEC_HDM_TEXT_MAX = 4096,     /* bytes of an entry */
    GEODEC_HDM_TEXTS_MAX = 1 << 28, /* bytes of all */
    GEODEC_HDM_FINGERPRINT = 64     /* hex digits */
};
#define GEODEC_HDM_ACCEPT 5.0

/* What a key means. A memory may be used only with keys of the same model and encoder. */
typedef struct geodec_hdm_options {
    uint64_t seed;                /* of values, ties and P */
    int32_t bank_bits;            /* 0..11 */
    geodec_hv_projection project; /* the encoder of the keys: kind, width and mean [width] */
    int64_t width;                /* 0: the keys are of no encoder */
    const float *mean;            /* copied; NULL where width is 0 */
    const char *fingerprint;      /* of the model, at most 64 characters; NULL = none */
} geodec_hdm_options;

typedef struct geodec_hdm geodec_hdm;

/* GEODEC_RANGE (bank_bits), and the errors of geodec_hv_encoder_create. */
geodec_status geodec_hdm_create(const geodec_hdm_options *o, geodec_hdm **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_hdm_destroy(geodec_hdm *m); /* NULL ok */

/* Pointers live as long as the memory. */
geodec_hdm_options geodec_hdm_settings(const geodec_hdm *m);
int64_t geodec_hdm_entries(const geodec_hdm *m);
/* Bytes in memory: counters, signs, values, entries, texts. */
int64_t geodec_hdm_bytes(const geodec_hdm *m);
/* Text of an entry, *n bytes, without a zero at the end. The pointer lives until the next entry is added. */
const uint8_t *geodec_hdm_text(const geodec_hdm *m, int64_t entry, int64_t *n);
/* The bank of an entry, and the number of pairs of a bank. */
int32_t geodec_hdm_bank(const geodec_hdm *m, int64_t entry);
int64_t geodec_hdm_bank_pairs(const geodec_hdm *m, int32_t bank);
/* The bank that a key names. */
int32_t geodec_hdm_bank_of(const geodec_hdm *m, const geodec_hv *key);

/* Adds a pair; *entry (may be NULL): its number, counted from 0. text [n], n from 0 to 4,096. The padding of the key
 * must be 0. GEODEC_LIMIT (entries, bytes), GEODEC_NOMEM; the memory is then unchanged. */
geodec_status geodec_hdm_add(geodec_hdm *m, const geodec_hv *key, const void *text, int64_t n, int64_t *entry,
                             geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_hdm_hit {
    int64_t entry;  /* -1: the banks asked are empty */
    int32_t bank;   /* -1 */
    int32_t banks;  /* that have entries, of those asked */
    int64_t values; /* compared */
    double similarity, z;
    bool accepted; /* z > 5 */
} geodec_hdm_hit;
/* The most similar entry of the banks within the radius; of equal ones the one with the lowest number. isa changes
 * nothing but the time. Threads may look up at once while none adds. */
geodec_hdm_hit geodec_hdm_find(const geodec_hdm *m, const geodec_hv *key, int32_t radius, geodec_isa isa);

/* The file, version 1: little-endian, with a CRC-32C of each part, written under a temporary name. The same memory
 * gives the same bytes. */
geodec_status geodec_hdm_write(const char *path, const geodec_hdm *m, geodec_err *err) GEODEC_MUST_USE;
/* GEODEC_FORMAT, GEODEC_VERSION, GEODEC_CHECKSUM, GEODEC_LIMIT, GEODEC_NOMEM and the errors of io/file.h. */
geodec_status geodec_hdm_read(const char *path, geodec_hdm **out, geodec_err *err) GEODEC_MUST_USE;

#endif
