/* Settings of the arithmetic: products, cache, instruction set. */
#ifndef GEODEC_MODEL_KERNELS_SETTINGS_H
#define GEODEC_MODEL_KERNELS_SETTINGS_H

#include "base/err.h"
#include "geodec/session.h"

#include <stdbool.h>

/* x sigmoid(x); x (1 + tanh(sqrt(2/pi)(x + 0.044715 x^3))) / 2; max(x, 0); its square; xIELU with constants of a layer
 * (Huang and Schlag 2025); and of gate g and up u min(g, 7) sigmoid(1.702 min(g, 7)) (clamp(u, -7, 7) + 1) (gpt-oss) */
typedef enum geodec_activation {
    GEODEC_SILU,
    GEODEC_GELU_TANH,
    GEODEC_RELU,
    GEODEC_RELU2,
    GEODEC_XIELU,
    GEODEC_SWIGLU_CLAMPED
} geodec_activation;

/* Names of the types of a cache, separated by '|'. */
#define GEODEC__KV_CHOICE(NAME, name) "|" #name
#define GEODEC_KV_CHOICES (&(GEODEC_KV_TYPES(GEODEC__KV_CHOICE))[1])

bool geodec_kernels_isa_available(geodec_isa isa);
const char *geodec_kernels_isa_name(geodec_isa isa);

#endif
