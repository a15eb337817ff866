/* CRC-32C (Castagnoli; RFC 3720), the checksum of iSCSI, ext4 and others. */
#ifndef GEODEC_BASE_CRC32C_H
#define GEODEC_BASE_CRC32C_H

#include "geodec/err.h"

#include <stdint.h>

/* The CRC of some bytes and of `bytes` more after them: crc is that of the first ones, 0 when there are none. Uses the
 * processor's instruction if it has one. */
uint32_t geodec_crc32c(uint32_t crc, const void *data, int64_t bytes);

#endif
