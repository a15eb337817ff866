/* The two ways to compute a CRC-32C; private to the base folder and its tests. */
#ifndef GEODEC_BASE_CRC32C_INTERNAL_H
#define GEODEC_BASE_CRC32C_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

/* The reference. */
uint32_t geodec__crc32c_table(uint32_t crc, const void *data, int64_t bytes);
/* With the instruction of SSE4.2, on three streams at a time. Only where geodec__crc32c_has_instruction. */
uint32_t geodec__crc32c_instruction(uint32_t crc, const void *data, int64_t bytes);
bool geodec__crc32c_has_instruction(void);

#endif
