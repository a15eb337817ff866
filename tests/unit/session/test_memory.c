/* A model opened from bytes in memory is the model of the file, and its bytes stay the caller's. */
#include "base/mem.h"
#include "io/file.h"
#include "session/model.h"
#include "session/synthetic.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void logits_of(const geodec_model *m, float *logits)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    const geodec_session_options o = {.n_ctx = 16, .arithmetic = GEODEC_FAST};
    const int32_t token[3] = {5, 290, 17};
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    test_ok(geodec_forward_prefill(s, token, 3, logits, &err), &err);
    geodec_session_destroy(s);
}

Test(model, opened_from_memory)
{
    /* matrices of several pages, so that letting go of whole pages would show */
    const synthetic like = {.n_layer = 1,
                            .d_model = 128,
                            .n_head = 4,
                            .n_kv_head = 2,
                            .d_ff = 256,
                            .n_vocab = 300,
                            .n_ctx = 16,
                            .type = GEODEC_GGML_Q8_0,
                            .seed = 3};
    const char *path = test_tmp("memory.gguf");
    geodec_err err = {0};
    test_ok(synthetic_write(path, &like, &err), &err);
    geodec_file_map map;
    test_ok(geodec_file_map_open(path, &map, &err), &err);
    uint8_t *bytes = aligned_alloc(1 << 16, (map.size + 0xffff) / 0x10000 * 0x10000);
    cr_assert(bytes);
    memcpy(bytes, map.data, map.size);

    geodec_model *from_file = NULL, *from_memory = NULL;
    geodec_gguf *g = NULL;
    test_ok(geodec_model_open(path, &from_file, &err), &err);
    test_ok(geodec_gguf_open_memory(bytes, map.size, "bytes", &g, &err), &err);
    test_ok(geodec_model_from_gguf(g, &from_memory, &err), &err);
    float a[300], b[300];
    logits_of(from_file, a);
    logits_of(from_memory, b);
    cr_assert_eq(memcmp(a, b, sizeof a), 0);
    cr_assert_eq(memcmp(bytes, map.data, map.size), 0);
    cr_assert_str_eq(geodec_model_fingerprint(from_file), geodec_model_fingerprint(from_memory));
    geodec_model_close(from_memory);
    geodec_model_close(from_file);
    geodec_file_map_close(&map);
    free(bytes);
}
