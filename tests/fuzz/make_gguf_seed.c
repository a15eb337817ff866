/* make_gguf_seed FOLDER MODEL.gguf...: inputs of fuzz_gguf: "HEAD", then the keys and the names of each model's tensors
 * without their values. The vocabulary becomes one of few letters, and of arrays with a number for each of many layers
 * those of the model's own layers stay, so that an input has few thousand bytes. */
#include "base/mem.h"
#include "gguf/gguf.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 16, LONG_ARRAY = 64, LONGEST_ARRAY = 4096 };

static void must(geodec_status st, const geodec_err *err)
{
    char line[1024];
    if (st == GEODEC_OK) return;
    fprintf(stderr, "make_gguf_seed: %s\n", geodec_err_line(err, line, sizeof line));
    exit(1);
}

static void put_vocabulary(geodec_gguf_writer *w, geodec_err *err)
{
    static char letter[LETTERS][3];
    static const char *const merge = "a b";
    const char *token[LETTERS];
    size_t length[LETTERS];
    for (int i = 0; i < LETTERS; i++) {
        letter[i][0] = (char)('a' + i);
        if (i == LETTERS - 1) memcpy(letter[i], "ab", 2);
        token[i] = letter[i];
        length[i] = strlen(letter[i]);
    }
    must(geodec_gguf_put_str(w, "tokenizer.ggml.model", "gpt2", err), err);
    must(geodec_gguf_put_str_array(w, "tokenizer.ggml.tokens", token, length, LETTERS, err), err);
    must(geodec_gguf_put_str_array(w, "tokenizer.ggml.merges", &merge, (const size_t[]){3}, 1, err), err);
}

/* Most arrays of the peer's builder have 512 numbers, whatever the model has layers. */
static void put_key(geodec_gguf_writer *w, const geodec_gguf *g, const char *key, geodec_err *err)
{
    int64_t n = 0;
    const size_t length = strlen(key);
    static float x[LONGEST_ARRAY];
    geodec_err none = {0};
    if (strncmp(key, "tokenizer.", 10) == 0) return;
    if (length > 11 && strcmp(key + length - 11, ".vocab_size") == 0) return;
    const bool array = geodec_gguf_array_length(g, key, &n, &none) == GEODEC_OK;
    geodec_err_clear(&none);
    if (!array || n <= LONG_ARRAY) {
        must(geodec_gguf_put_copy(w, g, key, err), err);
        return;
    }
    if (n > LONGEST_ARRAY) return;
    must(geodec_gguf_array_f32(g, key, x, n, err), err);
    must(geodec_gguf_put_f32_array(w, key, x, LONG_ARRAY / 4, err), err);
}

static void put_tensors(geodec_gguf_writer *w, const geodec_gguf *g, int64_t vocab, geodec_err *err)
{
    static const uint8_t nothing[1 << 16];
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        int64_t dim[4];
        for (int k = 0; k < 4; k++) dim[k] = t->dim[k] == vocab ? LETTERS : t->dim[k];
        must(geodec_gguf_plan_tensor(w, t->name, t->type, t->n_dims, dim, err), err);
    }
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        int64_t n = 1;
        for (int k = 0; k < 4; k++) n *= t->dim[k] == vocab ? LETTERS : t->dim[k];
        for (size_t left = geodec_ggml_bytes(geodec_ggml_traits_of(t->type), n); left > 0;) {
            const size_t part = left < sizeof nothing ? left : sizeof nothing;
            must(geodec_gguf_stream(w, nothing, part, err), err);
            left -= part;
        }
    }
}

static void make(const char *folder, const char *model)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    geodec_gguf_writer *w = NULL;
    char path[4096], *data = NULL;
    size_t n = 0;
    int64_t vocab = 0;
    const char *slash = strrchr(model, '/');
    (void)snprintf(path, sizeof path, "%s/head-%s", folder, slash ? slash + 1 : model);
    must(geodec_gguf_open(model, &g, &err), &err);
    must(geodec_gguf_array_length(g, "tokenizer.ggml.tokens", &vocab, &err), &err);
    must(geodec_gguf_writer_create(path, &w, &err), &err);
    for (int64_t i = 0; i < geodec_gguf_n_keys(g); i++) put_key(w, g, geodec_gguf_key_at(g, i), &err);
    put_vocabulary(w, &err);
    put_tensors(w, g, vocab, &err);
    must(geodec_gguf_writer_commit(w, &err), &err);
    geodec_gguf_close(g);
    /* cut before the values */
    must(geodec_gguf_open(path, &g, &err), &err);
    size_t head = (size_t)geodec_gguf_file_bytes(g);
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const int64_t at = geodec_gguf_offset(g, geodec_gguf_tensor_at(g, i)->data);
        head = at >= 0 && (size_t)at < head ? (size_t)at : head;
    }
    geodec_gguf_close(g);
    must(geodec_file_read(path, 1 << 24, &data, &n, &err), &err);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite("HEAD", 1, 4, f) != 4 || fwrite(data, 1, head, f) != head || fclose(f) != 0) exit(1);
    geodec_mem_free(data);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: make_gguf_seed FOLDER MODEL.gguf...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++) make(argv[1], argv[i]);
    return 0;
}
