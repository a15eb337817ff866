/* The memory that this process may use: the smallest limit of its control group and the groups above it (versions 1 and
 * 2), and the memory of the machine that is available now. Linux. */
#ifndef GEODEC_BASE_MEMORY_LIMIT_H
#define GEODEC_BASE_MEMORY_LIMIT_H

#include "geodec/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_memory_limit {
    int64_t group;     /* bytes, beyond which a process is killed; 0: no limit, or unknown */
    int64_t soft;      /* bytes, beyond which it is slowed down (memory.high) or its memory is taken first
                        * (memory.soft_limit_in_bytes): the way to announce a lower limit; 0: none */
    int64_t available; /* bytes of the machine that are free or can be freed; 0: unknown */
    /* The least of limit - use over this group and those above it, where use is what all processes of the group have
     * and the kernel cannot take back; -1: no limit. Then the limit and the use of the group where it is least. */
    int64_t group_room, tight_limit, tight_use;
} geodec_memory_limit;

/* root: "" for this machine; tests give a folder that contains proc and sys. */
geodec_memory_limit geodec_memory_limit_of(const char *root);
/* Bytes that this process may take on top of what it has: the lesser of available and group_room; -1: unknown. */
int64_t geodec_memory_limit_room(const geodec_memory_limit *l);
/* Bytes that this process could ever have, asked once: the memory of the machine or, where less, of its control groups;
 * above 0. */
int64_t geodec_memory_limit_whole(void);
/* Resident bytes of this process, now and at most so far; 0: unknown. */
int64_t geodec_memory_limit_resident(void);
/* Resident bytes of this process, now, that are not pages of files; 0: unknown. */
int64_t geodec_memory_limit_anonymous(void);
int64_t geodec_memory_limit_peak(void);
/* Whether the process has a limit of its address space (RLIMIT_AS). Only a system call: signal handlers may ask. */
bool geodec_memory_limit_address_space(void);

#endif
