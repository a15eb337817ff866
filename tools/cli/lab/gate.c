#include "cli/lab/gate.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

geodec_status cli_gate_open(const char *root, const char *file, geodec_gate *out, geodec_err *err)
{
    char path[PATH_MAX];
    if (file[0] == '/' || strcmp(file, GEODEC_GATE_OFF) == 0) return geodec_gate_open(file, out, err);
    if (snprintf(path, sizeof path, "%s/%s", root, file) >= (int)sizeof path)
        GEODEC_FAIL(GEODEC_LIMIT, "the name of the table of power is too long");
    return geodec_gate_open(path, out, err);
}
