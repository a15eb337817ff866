/* Lists of layers in words: which boundaries of the residual stream. */
#ifndef GEODEC_MODEL_LAYER_LIST_H
#define GEODEC_MODEL_LAYER_LIST_H

#include "base/err.h"

#include <stdint.h>

enum { GEODEC_LAYERS_MAX = 1024 };

/* text: all, last, sink (2/3 of the depth) or numbers 0 .. n_layer, joined by commas. list [n] rises. GEODEC_INVAL,
 * which names the option --layers, for any other word. */
geodec_status geodec_layer_list_parse(const char *text, int32_t n_layer, int32_t list[GEODEC_LAYERS_MAX], int32_t *n,
                                      geodec_err *err) GEODEC_MUST_USE;

#endif
