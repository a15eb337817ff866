/* An opened GGUF; what fails ends the test. */
#ifndef GEODEC_TESTS_GGUF_OPENED_H
#define GEODEC_TESTS_GGUF_OPENED_H

#include "gguf/gguf.h"
#include "support/support.h"

static inline geodec_gguf *opened_gguf(const char *path)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    test_ok(geodec_gguf_open(path, &g, &err), &err);
    return g;
}

#endif
