/* Chat templates: detection in any text, and every format with messages of any bytes.
 *
 * Input: template, switches, then messages: role, length (a byte), bytes; the rest is used as a Jinja template. */
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "tokenizer/chat.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 16, MAX_MESSAGES = 16 };

/* Bytes, and the tokens the formats write; deepseek's are user-defined. */
static geodec_tokenizer *make(void)
{
    static const char *const marks[] = {"<unk>",
                                        "<s>",
                                        "</s>",
                                        "<|im_start|>",
                                        "<|im_end|>",
                                        "<|im_sep|>",
                                        "<|user|>",
                                        "<|assistant|>",
                                        "<|system|>",
                                        "<|end|>",
                                        "<|endoftext|>",
                                        "<|eot_id|>",
                                        "[INST]",
                                        "[/INST]",
                                        "<start_of_turn>",
                                        "<end_of_turn>",
                                        "<|EOT|>",
                                        "<|eot|>",
                                        "<|start_header_id|>",
                                        "<|end_header_id|>",
                                        "[SYSTEM_PROMPT]"};
    static const char *const user[] = {"<\xef\xbd\x9cUser\xef\xbd\x9c>", "  ", "\n\n", "hello"};
    enum { N_MARKS = sizeof marks / sizeof *marks, N_USER = sizeof user / sizeof *user, N = N_MARKS + N_USER + 256 };
    const char *text[N];
    char byte[256][8];
    size_t len[N];
    float score[N] = {0};
    int32_t type[N], n = 0;
    for (int i = 0; i < N_MARKS; i++) {
        text[n] = marks[i];
        type[n++] = i == 0 ? GEODEC_TOKEN_UNKNOWN : GEODEC_TOKEN_CONTROL;
    }
    for (int i = 0; i < N_USER; i++) {
        text[n] = user[i];
        type[n++] = GEODEC_TOKEN_USER;
    }
    for (int b = 0; b < 256; b++) {
        (void)snprintf(byte[b], sizeof byte[b], "<0x%02X>", (unsigned)b);
        text[n] = byte[b];
        type[n++] = GEODEC_TOKEN_BYTE;
    }
    for (int i = 0; i < n; i++) len[i] = strlen(text[i]);
    geodec_err err = {0};
    geodec_tokenizer *t = NULL;
    fuzz_must(geodec_tokenizer_create(n, text, len, score, type, 1, 2, 0, &t, &err) == GEODEC_OK, "no tokenizer");
    return t;
}

/* Control tokens and the user-defined first mark, which only the template may write. */
static int64_t marks_in(const geodec_tokenizer *t, const geodec_chat_template *k, const geodec_chat_message *m,
                        int64_t n, bool generation)
{
    geodec_err err = {0};
    int32_t *ids = NULL;
    int64_t count = 0, marks = 0;
    fuzz_must(geodec_chat_encode(k, t, m, n, generation, &ids, &count, &err) == GEODEC_OK, "no tokens");
    const bool deepseek3 = strcmp(geodec_chat_template_name(k), "deepseek3") == 0;
    for (int64_t i = 0; i < count; i++) {
        size_t length;
        const char *piece = geodec_tokenizer_piece(t, ids[i], &length);
        marks += geodec_tokenizer_is_control(t, ids[i]) ||
                 (deepseek3 && length > 5 && piece[0] == '<' && piece[1] == '\xef');
    }
    geodec_mem_free(ids);
    return marks;
}

static void check(const geodec_tokenizer *t, const geodec_chat_template *k, const geodec_chat_message *m, int64_t n,
                  bool generation)
{
    geodec_err err = {0};
    geodec_chat_text x = {0};
    geodec_chat_message same[MAX_MESSAGES];
    fuzz_must(geodec_chat_render(k, m, n, generation, &x, &err) == GEODEC_OK, "no text");
    fuzz_must(x.text[x.n] == '\0' && x.n_plain <= n, "a badly formed text");
    int64_t at = 0;
    for (int64_t i = 0; i < x.n_plain; i++) {
        fuzz_must(x.plain[i].begin >= at && x.plain[i].end > x.plain[i].begin && x.plain[i].end <= (int64_t)x.n,
                  "bad span");
        at = x.plain[i].end;
        bool found = false;
        for (int64_t j = 0; j < n && !found; j++)
            found = memmem(m[j].content, m[j].n, x.text + x.plain[i].begin, (size_t)(at - x.plain[i].begin)) != NULL;
        fuzz_must(found, "a plain span that no message says");
    }
    geodec_chat_text_free(&x);
    /* the same conversation with other words has the same marks; white space alone may be trimmed in both */
    for (int64_t i = 0; i < n; i++) same[i] = (geodec_chat_message){m[i].role, m[i].n ? "a" : "", m[i].n ? 1 : 0};
    fuzz_must(marks_in(t, k, m, n, generation) == marks_in(t, k, same, n, generation),
              "a message wrote a control token");
}

/* The rest of the input as a template: every byte that it takes from a message is marked. */
static void render(const char *text, size_t size, const geodec_chat_message *m, int n, bool generation)
{
    geodec_err err = {0};
    const geodec_chat_template *k = NULL;
    geodec_chat_text x = {0};
    if (geodec_chat_template_compile(text, size, "fuzz", "<s>", "</s>", &k, &err) != GEODEC_OK) return;
    if (geodec_chat_render(k, m, n, generation, &x, &err) == GEODEC_OK) {
        fuzz_must(x.text[x.n] == '\0', "a text without an end");
        fuzz_use(x.text, x.n);
    }
    geodec_chat_text_free(&x);
    geodec_chat_template_free(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static geodec_tokenizer *t;
    geodec_chat_message m[MAX_MESSAGES];
    int n = 0, names = 0;
    if (!t) t = make();
    if (size < 2 || size > MAX_INPUT) return 0;
    while (geodec_chat_template_name_at(names)) names++;
    const geodec_chat_template *k = NULL;
    geodec_err err = {0};
    fuzz_must(geodec_chat_template_find(geodec_chat_template_name_at(data[0] % names), &k, &err) == GEODEC_OK,
              "no template");
    const int want = data[1] >> 1 & 15;
    size_t at = 2;
    for (; n < want && at + 2 <= size; n++) {
        size_t length = data[at + 1];
        if (length > size - at - 2) length = size - at - 2;
        char *content = malloc(length + 1);
        if (!content) break;
        memcpy(content, data + at + 2, length);
        content[length] = '\0';
        m[n] = (geodec_chat_message){(geodec_chat_role)(data[at] % 3), content, length};
        at += 2 + length;
    }
    check(t, k, m, n, data[1] & 1);
    char *jinja = malloc(size - at + 1);
    if (jinja) {
        memcpy(jinja, data + at, size - at);
        jinja[size - at] = '\0';
        const geodec_chat_template *found = NULL;
        (void)!geodec_chat_template_find(jinja, &found, &err);
        render(jinja, size - at, m, n, data[1] & 1);
        geodec_chat_role role;
        (void)!geodec_chat_role_of(jinja, &role, &err);
        free(jinja);
    }
    for (int i = 0; i < n; i++) free((void *)(uintptr_t)m[i].content);
    return 0;
}
