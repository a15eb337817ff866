/* Internal: chooses the type of each tensor. */
#ifndef GEODEC_GGUF_QUANTIZE_INTERNAL_H
#define GEODEC_GGUF_QUANTIZE_INTERNAL_H

#include "gguf/quantize.h"

typedef struct geodec__recipe {
    const char *name;
    int type;
    uint32_t file_type; /* llama.cpp's number, for general.file_type */
} geodec__recipe;

/* NULL when there is none of that name. */
const geodec__recipe *geodec__quantize_recipe_named(const char *name);
/* type[i] for every tensor of g; r NULL: by the overrides alone. */
geodec_status geodec__quantize_recipe_types(const geodec_gguf *g, const geodec__recipe *r,
                                            const geodec_quantize_options *o, int *type,
                                            geodec_err *err) GEODEC_MUST_USE;

#endif
