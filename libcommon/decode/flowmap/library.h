/* A library that grows while a model decodes: records of tokens that the flow map did not predict.
 *
 * A record is a node in the same charts as the map's nodes: a token x_p, its key (the features before it), a label (the
 * model's argmax after it), the token that followed, and its successor by that token: another record, or a node of the
 * map. A record is made for each miss, where the first choice of map and library differs from the model's argmax, and
 * for the rows that continue it (flowmap/track.h selects them from the texts alone). Records form a ring of fixed size:
 * the newest replaces the oldest. The same texts in the same order make the same records.
 *
 * File. A head (mark, version, bound, fingerprints of model, tokenizer and map, a digest), then the ring: slot i holds
 * a record whose serial number is i modulo the ring's size, and a digest of its own. Records are written in place as
 * they are made and are never moved. A killed process therefore loses no record that was already made, and a partly
 * written slot (power failure) loses one record. A full disk loses no stored record: the library continues in memory,
 * with a warning. Only one process at a time may have the file open. Integers are little-endian:
 *
 *     head    0 "geodecFG" | 8 u32 version 1 | 12 u32 dims | 16 u64 records of the ring | 24 u64 bound in bytes
 *            32 u32 vocabulary | 36 u32 0 | 40, 104, 168 fingerprints of model, tokenizer, map (64 hex digits each)
 *           232 zeros | 248 u64 first 8 bytes of the SHA-256 of bytes 0..247
 *     slot    0 u64 1 + serial | 8 i32 token | 12 i32 label | 16 i32 text | 20 i32 0 | 24 i64 next
 *            32 u8 context[8] | 40 i8 key[dims] | u64 first 8 bytes of the SHA-256 of the head's digest and the bytes
 *               before; padded to a multiple of 8 */
#ifndef GEODEC_FLOWMAP_LIBRARY_H
#define GEODEC_FLOWMAP_LIBRARY_H

#include "base/hooks.h"
#include "flowmap/map.h"

#include <stdint.h>

enum {
    GEODEC_GROWN_CONTEXT = 8, /* tokens before a record's own that are compared */
    GEODEC_GROWN_SCAN = 512,  /* number of a token's newest records that a search examines */
};
#define GEODEC_GROWN_BYTES (INT64_C(4) << 20)          /* default bound */
#define GEODEC_GROWN_BYTES_MAX (INT64_C(1) << 32)      /* largest bound */
#define GEODEC_GROWN_NOWHERE INT64_C(-1)               /* next: not known */
#define GEODEC_GROWN_NODE(node) (-2 - (int64_t)(node)) /* next: a node of the map; its own inverse */

typedef struct geodec_flowmap_library_record {
    int32_t token;
    int32_t label; /* the model's most probable next token */
    int32_t text;  /* the token that followed, -1 = none */
    int64_t next;  /* >= 0: serial of a record */
    /* geodec_flowmap_library_mark of the tokens before, nearest first; 0 = no such token */
    uint8_t context[GEODEC_GROWN_CONTEXT];
    int8_t key[GEODEC_FLOW_DIMS_MAX]; /* [dims] -64..63 */
} geodec_flowmap_library_record;

typedef struct geodec_flowmap_library geodec_flowmap_library;

typedef struct geodec_flowmap_library_hit {
    int32_t distance; /* squared, in key units */
    int64_t serial;
} geodec_flowmap_library_hit;

typedef struct geodec_flowmap_library_report {
    int64_t records, room; /* live records, and records of a full ring */
    int64_t added;         /* records added since it was opened */
    int64_t dropped;       /* slots of the file that were damaged */
    int64_t bytes;         /* memory held */
    bool writing;          /* false: no file, or writing has failed */
} geodec_flowmap_library_report;

/* An empty library in memory. bound: upper limit of the bytes of memory, and of the file. GEODEC_RANGE: a bound below
 * 64 KiB and 16 bytes a token, or above GEODEC_GROWN_BYTES_MAX. The map is borrowed. */
geodec_status geodec_flowmap_library_create(const geodec_flowmap *map, int64_t bound, geodec_flowmap_library **out,
                                            geodec_err *err) GEODEC_MUST_USE;
/* The library in a file, which is created if it is absent or empty. map_sha256: digest of the map's artifact. bound 0 =
 * the file's own, or GEODEC_GROWN_BYTES. hooks (borrowed, may be NULL) receive warnings about skipped damaged records
 * and about a file that can no longer be written. GEODEC_CHECKSUM: the library belongs to another model, tokenizer or
 * map; GEODEC_FORMAT: not a library, or a damaged head; GEODEC_VERSION; GEODEC_INVAL: the bound differs from the
 * file's; GEODEC_EXISTS: another process has it open. */
geodec_status geodec_flowmap_library_open(const geodec_flowmap *map, const char *map_sha256, const char *path,
                                          int64_t bound, const geodec_hooks *hooks, geodec_flowmap_library **out,
                                          geodec_err *err) GEODEC_MUST_USE;
/* Flushes the file to disk and closes it; a failure is a warning. NULL ok. */
void geodec_flowmap_library_close(geodec_flowmap_library *g);
geodec_flowmap_library_report geodec_flowmap_library_summary(const geodec_flowmap_library *g);

/* Serials count up from 0; live records have serials in [end - room, end), not necessarily all of them. */
int64_t geodec_flowmap_library_end(const geodec_flowmap_library *g);
/* NULL if the record no longer exists. Valid until the next add. */
const geodec_flowmap_library_record *geodec_flowmap_library_get(const geodec_flowmap_library *g, int64_t serial);
/* Serial of the new record: geodec_flowmap_library_end before the call. GEODEC_NOMEM; GEODEC_RANGE: a token outside the
 * vocabulary. A failed write is a warning. */
geodec_status geodec_flowmap_library_add(geodec_flowmap_library *g, const geodec_flowmap_library_record *r,
                                         geodec_err *err) GEODEC_MUST_USE;
/* The k nearest records of a token with a serial below `before`, nearest first, the newest first on ties; returns their
 * number. */
int32_t geodec_flowmap_library_nearest(const geodec_flowmap_library *g, int32_t token, const int8_t *key,
                                       int64_t before, int32_t k, geodec_flowmap_library_hit *hit);
/* A hash of a token, 1..255. */
uint8_t geodec_flowmap_library_mark(int32_t token);

#endif
