/* Settings of the arithmetic: products, cache, instruction set. */
#ifndef GEODEC_MODEL_KERNELS_SETTINGS_H
#define GEODEC_MODEL_KERNELS_SETTINGS_H

#include "base/err.h"
#include "geodec/session.h"

#include <stdbool.h>

/* Names of the types of a cache, separated by '|'. */
#define GEODEC__KV_CHOICE(NAME, name) "|" #name
#define GEODEC_KV_CHOICES (&(GEODEC_KV_TYPES(GEODEC__KV_CHOICE))[1])

bool geodec_kernels_isa_available(geodec_isa isa);
const char *geodec_kernels_isa_name(geodec_isa isa);

#endif
