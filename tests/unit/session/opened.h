/* Random models and sessions, opened: what fails ends the test. */
#ifndef GEODEC_TESTS_OPENED_H
#define GEODEC_TESTS_OPENED_H

#include "base/rng.h"
#include "session/families.h"
#include "session/model.h"
#include "session/shape.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static inline const synthetic *family_named(const char *name)
{
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (strcmp(families[i].name, name) == 0) return &families[i].s;
    cr_assert_fail("no family %s", name);
    return NULL;
}

/* The model, written to a file of its own and opened. */
static inline geodec_model *opened_model(const synthetic *s)
{
    static int files;
    geodec_err err = {0};
    geodec_model *m = NULL;
    char name[32];
    (void)snprintf(name, sizeof name, "opened-%d.gguf", files++);
    const char *path = test_tmp(name);
    test_ok(synthetic_write(path, s, &err), &err);
    test_ok(geodec_model_open(path, &m, &err), &err);
    return m;
}

static inline geodec_model *opened_family(const char *name) { return opened_model(family_named(name)); }

static inline geodec_session *opened_session(const geodec_model *m, geodec_session_options o)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    return s;
}

/* Tokens at random. */
static inline void drawn_text(const geodec_model *m, uint64_t seed, int32_t *id, int32_t n)
{
    geodec_rng rng = geodec_rng_stream(seed, 1);
    for (int32_t i = 0; i < n; i++)
        id[i] = (int32_t)geodec_rng_below(&rng, (uint64_t)geodec_model_configuration(m)->n_vocab);
}

/* A file with 16 experts in each of 3 layers, of random weights of this type. */
static inline const char *small_olmoe(const char *type)
{
    geodec_shape shape = *geodec_shape_named("olmoe-1b-7b");
    shape.n_layer = 3;
    shape.values = "V=600 C=512 d=256 f=256 H=4 K=4 h=64 r=64 E=16 used=4 base=1e4 eps=1e-5";
    geodec_err err = {0};
    const char *path = test_tmp("small-olmoe-random.gguf");
    test_ok(geodec_shape_write(path, &shape, type, 7, NULL, NULL, &err), &err);
    return path;
}

#endif
