/* The table of a folder of ternary experts, experts.table: what belongs together. Little-endian.
 *
 *   0 "TRITTABL", 8 u32 version 1, 12 u32 bytes of the file, 16 u32 layers of the model, 20 u32 experts, 24 u32 layers
 *   with experts n, 28 u32 differences m, 32 u32 d, 36 u32 f, 40 u32 encoding, 44 u32 scales (0, 1: trit.h), 48 u64
 *   model id, 56 u64 bytes of resident.gguf, 64 u32 its CRC, 68 u32 type of the weights that were packed
 *   (geodec_ggml_type), 72 u32 tokens of the golden prompt, 76 u32[8] its ids, 108 u32 CRC of its logits in exact and
 *   112 in fast arithmetic, 116 fingerprint of the model (64 hexadecimal digits), zeros; from 256 u32 number of each
 *   layer with experts [n], u32 CRC of the header of each expert_EEE.trit, {u16 A, u16 B, u32 CRC of the header} of
 * each delta_AAA_BBB.trd [m], ascending; the CRC-32C of all before it. */
#ifndef GEODEC_PERSPECTIVE_TERNARY_TABLE_H
#define GEODEC_PERSPECTIVE_TERNARY_TABLE_H

#include "base/sha256.h"
#include "ternary/trd.h"

#define GEODEC_TRIT_TABLE_NAME "experts.table"
#define GEODEC_TRIT_RESIDENT_NAME "resident.gguf"

enum {
    GEODEC_TRIT_TABLE_VERSION = 1,
    GEODEC_TRIT_TABLE_GOLDEN = 8,
    GEODEC_TRIT_TABLE_EXPERTS = 4096,
    GEODEC_TRIT_TABLE_EDGES = 1 << 16
};

typedef struct geodec_trit_edge {
    int32_t a, b; /* a < b */
    uint32_t crc; /* of the header of its file */
} geodec_trit_edge;

typedef struct geodec_trit_table {
    geodec_trit_shape shape; /* layers: those with experts */
    int32_t n_layer, n_expert, n_edges;
    int32_t *layer;         /* [shape.layers] ascending, owned */
    uint32_t *crc;          /* [n_expert] of the headers, owned */
    geodec_trit_edge *edge; /* [n_edges] ascending, owned */
    int64_t resident_bytes;
    uint32_t resident_crc;
    int32_t type;
    int32_t n_golden; /* 0: none */
    int32_t golden[GEODEC_TRIT_TABLE_GOLDEN];
    uint32_t golden_crc[2];
    char fingerprint[GEODEC_SHA256_HEX];
} geodec_trit_table;

/* The model id of its files: the first 16 digits of the fingerprint. */
uint64_t geodec_trit_table_model(const char *fingerprint);
/* Path of a file of the folder, which the caller frees: the table, the resident part (expert and b -1), an expert (b
 * -1), a difference. GEODEC_NOMEM. */
geodec_status geodec_trit_table_path(const char *folder, int32_t expert, int32_t b, char **out,
                                     geodec_err *err) GEODEC_MUST_USE;
/* Whether the folder has a table of ternary experts; false also when it cannot be read. */
bool geodec_trit_table_is(const char *folder);
/* Reads and checks the table, with limits before allocation. GEODEC_NOTFOUND, GEODEC_IO, GEODEC_FORMAT,
 * GEODEC_VERSION, GEODEC_CHECKSUM, GEODEC_LIMIT name the file. The other files are not read. */
geodec_status geodec_trit_table_read(const char *folder, geodec_trit_table *out, geodec_err *err) GEODEC_MUST_USE;
/* The file appears whole or not at all. */
geodec_status geodec_trit_table_write(const char *folder, const geodec_trit_table *t, geodec_err *err) GEODEC_MUST_USE;
void geodec_trit_table_clear(geodec_trit_table *t); /* may be all zero */

/* Opens a file of the folder and checks that it is that of the table: number, model, shape, layers, CRC of the header.
 * A difference (i: of t->edge) also has the CRCs of its experts, which the caller opened. GEODEC_CHECKSUM names the
 * file and what differs; errors of opening. */
geodec_status geodec_trit_table_expert(const geodec_trit_table *t, const char *folder, int32_t expert, geodec_trit *out,
                                       geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_trit_table_edge(const geodec_trit_table *t, const char *folder, int32_t i, const geodec_trit *a,
                                     const geodec_trit *b, geodec_trd *out, geodec_err *err) GEODEC_MUST_USE;

#endif
