/* A tokenizer of a few letters for the trainer's tests. */
#ifndef GEODEC_TESTS_TRAIN_FIXTURE_H
#define GEODEC_TESTS_TRAIN_FIXTURE_H

#include "support/support.h"
#include "tokenizer/tokenizer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* <unk> <s> </s>, the mark, a..h, newline as a byte token, and all byte tokens. */
static inline geodec_tokenizer *fixture_tokenizer(void)
{
    enum { SPECIAL = 3, LETTERS = 9, N = SPECIAL + LETTERS + 256 };
    static char bytes[256][8];
    const char *text[N] = {"<unk>", "<s>", "</s>", "\xe2\x96\x81", "a", "b", "c", "d", "e", "f", "g", "h"};
    size_t len[N];
    float score[N] = {0};
    int32_t type[N];
    for (int i = 0; i < N; i++) {
        type[i] = i == 0 ? GEODEC_TOKEN_UNKNOWN : i < SPECIAL ? GEODEC_TOKEN_CONTROL : GEODEC_TOKEN_NORMAL;
        if (i >= SPECIAL + LETTERS) {
            const int b = i - SPECIAL - LETTERS;
            (void)snprintf(bytes[b], sizeof bytes[b], "<0x%02X>", (unsigned)b);
            text[i] = bytes[b];
            type[i] = GEODEC_TOKEN_BYTE;
        }
        len[i] = strlen(text[i]);
    }
    geodec_tokenizer *t = NULL;
    geodec_err err = {0};
    test_ok(geodec_tokenizer_create(N, text, len, score, type, 1, 2, 0, &t, &err), &err);
    return t;
}

#endif
