/* The --layers option: which boundaries of the residual stream. */
#ifndef GEODEC_TOOLS_CLI_LAYERS_H
#define GEODEC_TOOLS_CLI_LAYERS_H

#include "base/err.h"

#include <stdint.h>

enum { MAX_LAYERS = 1024 };

/* text: all, last, sink (2/3 of the depth) or numbers 0 .. n_layer, joined by commas. list [n] rises. */
geodec_status parse_layers(const char *text, int32_t n_layer, int32_t list[MAX_LAYERS], int32_t *n,
                           geodec_err *err) GEODEC_MUST_USE;

#endif
