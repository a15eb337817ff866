/* Saved sessions: edits of a good file of a recurrent model, each an offset of three bytes and a value; the sums are
 * made right after that, unless the first byte is odd. What is accepted goes on for a token. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "session/families.h"
#include "session/session_state.h"

#include <math.h>
#include <string.h>

volatile unsigned char fuzz_sink;
enum { MAX_FILE = 1 << 18, HEAD = 256, TEXT = 70, LENGTH = 69 };

static uint8_t good[MAX_FILE], file[MAX_FILE];
static size_t good_size;
static geodec_session *session;

/* The model and the session live as long as the process. */
static bool make_good(void)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    char path[64];
    int32_t text[TEXT];
    if (good_size) return true;
    for (int i = 0; i < TEXT; i++) text[i] = i * 3;
    if (!fuzz_file(good, 0, path)) return false;
    for (size_t i = 0; i < N_FAMILIES && !m; i++)
        if (strcmp(families[i].name, "perspective") == 0 && (synthetic_write(path, &families[i].s, &err) != GEODEC_OK ||
                                                             geodec_model_open(path, &m, &err) != GEODEC_OK))
            return false;
    const geodec_session_options o = {.n_ctx = 100, .max_batch = TEXT};
    if (geodec_session_create(m, &o, &session, &err) != GEODEC_OK ||
        geodec_forward_prefill(session, text, LENGTH, NULL, &err) != GEODEC_OK ||
        geodec_session_save(session, path, &(geodec_session_text){text, TEXT, 3}, &err) != GEODEC_OK)
        return false;
    FILE *f = fopen(path, "rb");
    good_size = f ? fread(good, 1, MAX_FILE, f) : 0;
    if (f) (void)fclose(f);
    (void)unlink(path);
    return good_size > HEAD;
}

static void put_sum(uint8_t *at, const uint8_t *from, size_t n)
{
    const uint32_t sum = geodec_crc32c(0, from, (int64_t)n);
    for (int k = 0; k < 4; k++) at[k] = (uint8_t)(sum >> (8 * k));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    geodec_err err = {0};
    geodec_session_text text = {0};
    static float logits[300];
    if (size < 1 || size > 1024 || !make_good()) return 0;
    memcpy(file, good, good_size);
    for (size_t i = 1; i + 4 <= size; i += 4) {
        const size_t at = ((size_t)data[i] | (size_t)data[i + 1] << 8 | (size_t)data[i + 2] << 16) % good_size;
        file[at] = data[i + 3];
    }
    if (data[0] % 2 == 0) {
        put_sum(file + 248, file + HEAD, good_size - HEAD);
        put_sum(file + 252, file, 252);
    }
    const int32_t before = geodec_session_length(session);
    if (!fuzz_file(file, good_size, path)) return 0;
    if (geodec_session_load(session, path, &text, &err) == GEODEC_OK) {
        const int32_t n_vocab = geodec_model_configuration(geodec_session_model(session))->n_vocab, token = 5;
        fuzz_must(geodec_session_length(session) <= text.n && text.n_given <= text.n, "lengths that contradict");
        for (int64_t i = 0; i < text.n; i++)
            fuzz_must(text.token[i] >= 0 && text.token[i] < n_vocab, "a token out of range");
        fuzz_must(geodec_forward(session, &(geodec_batch){.n = 1, .token = &token}, logits, NULL, &err) == GEODEC_OK ||
                      geodec_session_length(session) == geodec_session_n_ctx(session),
                  "a session that cannot go on");
        fuzz_use(logits, sizeof logits);
    } else {
        fuzz_must(!text.token && geodec_session_length(session) == before, "a session after a failure");
    }
    geodec_mem_free(text.token);
    (void)unlink(path);
    return 0;
}
