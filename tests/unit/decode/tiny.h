/* A small llama-family model with random weights, written through the GGUF writer. */
#ifndef GEODEC_TESTS_TINY_H
#define GEODEC_TESTS_TINY_H

#include <stdint.h>

enum { TINY_VOCAB = 40, TINY_CTX = 64 };
/* Path of the file; asserts on failure. ids 0 unk, 1 BOS, 2 EOS; another seed, another model of the same shape and
 * tokenizer. */
const char *tiny_model(const char *name, uint64_t seed);

#endif
