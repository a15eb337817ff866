/* The table of power of a tool that judges rows. */
#ifndef GEODEC_CLI_LAB_GATE_H
#define GEODEC_CLI_LAB_GATE_H

#include "lab/verdict/gate.h"

/* file: relative to root unless it begins with /, or "-" (no gate). Errors of geodec_gate_open. */
geodec_status cli_gate_open(const char *root, const char *file, geodec_gate *out, geodec_err *err) GEODEC_MUST_USE;

#endif
