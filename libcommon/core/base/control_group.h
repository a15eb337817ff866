/* The control groups of this process: the folders of a controller, from its own group to the root of what is mounted,
 * for both versions of the interface. Linux. */
#ifndef GEODEC_BASE_CONTROL_GROUP_H
#define GEODEC_BASE_CONTROL_GROUP_H

#include "geodec/err.h"

#include <stdint.h>

enum { GEODEC_CONTROL_GROUP_PATH = 2048, GEODEC_CONTROL_GROUP_DEPTH = 32 };

typedef struct geodec_control_group {
    int version; /* 1 or 2 */
    int n;
    char folder[GEODEC_CONTROL_GROUP_DEPTH][GEODEC_CONTROL_GROUP_PATH]; /* [n] its own group first */
} geodec_control_group;

/* The groups of `controller` (memory, cpu) in the interface of that version; n is 0 if there are none. root: "" for
 * this machine; tests give a folder that contains proc and sys. Folders need not exist: in a container the path of the
 * group may be that of the host, and only the last folder, the mounted one, is there. */
void geodec_control_group_find(const char *root, const char *controller, int version, geodec_control_group *out);
/* The first number in a file of a folder; -1: no such file, or no number ("max"). */
int64_t geodec_control_group_number(const char *folder, const char *file);
/* The number after `key` and a blank at the start of a line of a file (memory.stat); -1: none. */
int64_t geodec_control_group_line(const char *folder, const char *file, const char *key);

#endif
