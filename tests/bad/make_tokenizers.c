/* make_tokenizers FOLDER: writes FOLDER/bpe.gguf, a byte-level vocabulary with merges and a chat template and no
 * tensors, and one file for each kind of damage. */
#include "gguf/gguf.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 262 };
typedef struct spec {
    const char *model, *pre, *skip, *template_text;
    const char *merge[3];
    bool merges_are_numbers, no_merge, twin;
    uint32_t bos;
} spec;
static const spec good = {.model = "gpt2",
                          .pre = "llama-bpe",
                          .template_text = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
                                           "message['content'] + '<|im_end|>'}}{% endfor %}"
                                           "{% if add_generation_prompt %}{{'<|im_start|>assistant\\n'}}{% endif %}",
                          .merge = {"h e", "l l", "he ll"},
                          .bos = 259};
static const char *folder;

static void ok(geodec_status st, const geodec_err *err)
{
    char line[512];
    if (st == GEODEC_OK) return;
    (void)fprintf(stderr, "make_tokenizers: %s\n", geodec_err_line(err, line, sizeof line));
    exit(1);
}

static void pieces(const spec *s, char text[N][16], const char **at, size_t *len, int32_t *type)
{
    static const char *const more[] = {"he", "ll", "hell", "<s>", "<|im_start|>", "<|im_end|>"};
    for (int b = 0, other = 0; b < 256; b++) {
        const bool shown = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b != 0xad);
        const int c = shown ? b : 0x100 + other++;
        if (c < 0x80)
            (void)snprintf(text[b], 16, "%c", c);
        else
            (void)snprintf(text[b], 16, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 63));
    }
    for (int i = 256; i < N; i++) (void)snprintf(text[i], 16, "%s", more[i - 256]);
    if (s->twin) (void)snprintf(text[257], 16, "he");
    for (int i = 0; i < N; i++) {
        at[i] = text[i];
        len[i] = strlen(text[i]);
        type[i] = i < 259 ? 1 : 3;
    }
}

static void write_file(const char *name, const spec *s)
{
    static char text[N][16];
    const char *at[N];
    size_t len[N], merge_len[3];
    int32_t type[N];
    char path[4096];
    geodec_err err = {0};
    geodec_gguf_writer *w = NULL;
    const char *skip = s->skip ? s->skip : "";
    pieces(s, text, at, len, type);
    for (int i = 0; i < 3; i++) merge_len[i] = strlen(s->merge[i]);
    (void)snprintf(path, sizeof path, "%s/%s.gguf", folder, name);
    ok(geodec_gguf_writer_create(path, &w, &err), &err);
    ok(geodec_gguf_put_str(w, "tokenizer.ggml.model", s->model, &err), &err);
    ok(geodec_gguf_put_str(w, "tokenizer.ggml.pre", s->pre, &err), &err);
    ok(geodec_gguf_put_str(w, "tokenizer.chat_template", s->template_text, &err), &err);
    if (strcmp(skip, "tokens") != 0) ok(geodec_gguf_put_str_array(w, "tokenizer.ggml.tokens", at, len, N, &err), &err);
    ok(geodec_gguf_put_i32_array(w, "tokenizer.ggml.token_type", type, N, &err), &err);
    if (s->merges_are_numbers)
        ok(geodec_gguf_put_i32_array(w, "tokenizer.ggml.merges", type, 3, &err), &err);
    else if (strcmp(skip, "merges") != 0)
        ok(geodec_gguf_put_str_array(w, "tokenizer.ggml.merges", s->merge, merge_len, s->no_merge ? 0 : 3, &err), &err);
    ok(geodec_gguf_put_u32(w, "tokenizer.ggml.bos_token_id", s->bos, &err), &err);
    ok(geodec_gguf_put_u32(w, "tokenizer.ggml.eos_token_id", 261, &err), &err);
    ok(geodec_gguf_writer_commit(w, &err), &err);
}

#define FILE_WITH(name, ...)                                                                                           \
    do {                                                                                                               \
        spec s = good;                                                                                                 \
        __VA_ARGS__;                                                                                                   \
        write_file((name), &s);                                                                                        \
    } while (0)

int main(int argc, char **argv)
{
    static char longest[5001];
    if (argc != 2) return 2;
    folder = argv[1];
    write_file("bpe", &good);
    FILE_WITH("unknown-pre", s.pre = "no-such");
    FILE_WITH("unigram", s.model = "t5");
    FILE_WITH("no-merges", s.skip = "merges");
    FILE_WITH("empty-merges", s.no_merge = true);
    FILE_WITH("gemma-no-merges", s.model = "gemma4"; s.skip = "merges");
    FILE_WITH("plamo-no-scores", s.model = "plamo2");
    FILE_WITH("wordpiece", s.model = "bert");
    FILE_WITH("trie", s.model = "rwkv");
    FILE_WITH("no-tokens", s.skip = "tokens");
    FILE_WITH("number-merges", s.merges_are_numbers = true);
    FILE_WITH("bare-merge", s.merge[1] = "ll");
    FILE_WITH("empty-merge", s.merge[2] = "");
    memset(longest, 'a', sizeof longest - 1);
    longest[1] = ' ';
    FILE_WITH("long-merge", s.merge[0] = longest);
    FILE_WITH("twin-piece", s.twin = true);
    FILE_WITH("bos-outside", s.bos = N);
    FILE_WITH("unknown-template", s.template_text = "{% include messages %}");
    return 0;
}
