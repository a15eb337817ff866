/* make_variants MODEL.gguf FOLDER: writes FOLDER/<name>.gguf, the model with one change each. Most of them must read as
 * the model itself: numbers of other types, keys and tensors that nothing needs, another order, a file in parts. The
 * keys are parsed here and written as bytes, because the library writes only what it finds usual. */
#include "gguf/gguf.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64, KEYS = 256, TENSORS = 4096 };
static const size_t width[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
typedef struct buffer {
    unsigned char *data;
    size_t n, room;
} buffer;
typedef struct key {
    char name[128];
    uint32_t kind;
    buffer value; /* after the kind; of an array with its kind and count */
} key;
typedef struct tensor {
    char name[64];
    uint32_t n_dims, type;
    uint64_t dim[4];
    buffer data;
} tensor;
typedef struct model {
    int n_keys, n_tensors;
    key key[KEYS];
    tensor tensor[TENSORS];
} model;
static model base, m;
static const char *folder;

static void die(const char *what)
{
    (void)fprintf(stderr, "make_variants: %s\n", what);
    exit(1);
}

static void put(buffer *b, const void *data, size_t n)
{
    if (b->n + n > b->room) {
        b->room = 2 * (b->n + n);
        b->data = realloc(b->data, b->room);
        if (!b->data) die("no memory");
    }
    if (n) memcpy(b->data + b->n, data, n);
    b->n += n;
}
static void put32(buffer *b, uint32_t v) { put(b, &v, sizeof v); }
static void put64(buffer *b, uint64_t v) { put(b, &v, sizeof v); }
static void put_string(buffer *b, const char *s, size_t n)
{
    put64(b, n);
    put(b, s, n);
}
static uint64_t get64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static uint32_t get32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static size_t value_size(uint32_t kind, const unsigned char *p)
{
    if (kind == STRING) return 8 + get64(p);
    if (kind != ARRAY) return width[kind];
    size_t n = 12;
    for (uint64_t i = 0, count = get64(p + 4); i < count; i++) n += value_size(get32(p), p + n);
    return n;
}

static void read_model(const char *path)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    if (geodec_gguf_open(path, &g, &err) != GEODEC_OK) die("the model cannot be read");
    FILE *f = fopen(path, "rb");
    unsigned char *all = malloc((size_t)geodec_gguf_file_bytes(g));
    if (!f || !all || fread(all, (size_t)geodec_gguf_file_bytes(g), 1, f) != 1) die("the model cannot be read");
    (void)fclose(f);
    const unsigned char *p = all + 24;
    base.n_keys = (int)get64(all + 16);
    if (base.n_keys > KEYS - 8) die("too many keys");
    for (int i = 0; i < base.n_keys; i++) {
        key *k = &base.key[i];
        (void)snprintf(k->name, sizeof k->name, "%.*s", (int)get64(p), (const char *)p + 8);
        p += 8 + get64(p);
        k->kind = get32(p);
        const size_t n = value_size(k->kind, p + 4);
        put(&k->value, p + 4, n);
        p += 4 + n;
    }
    base.n_tensors = (int)geodec_gguf_n_tensors(g);
    if (base.n_tensors > TENSORS - 8) die("too many tensors");
    for (int i = 0; i < base.n_tensors; i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        tensor *to = &base.tensor[i];
        (void)snprintf(to->name, sizeof to->name, "%s", t->name);
        to->n_dims = (uint32_t)t->n_dims;
        to->type = (uint32_t)t->type;
        for (int d = 0; d < 4; d++) to->dim[d] = (uint64_t)t->dim[d];
        put(&to->data, t->data, t->bytes);
    }
    free(all);
    geodec_gguf_close(g);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Tensors first .. end - 1. */
static void write_part(const char *name, uint32_t version, size_t alignment, bool keys, int part, int parts, int first,
                       int end)
{
    static const char *const split[] = {"split.no", "split.count", "split.tensors.count"};
    const uint16_t no = (uint16_t)part, count = (uint16_t)parts;
    buffer b = {0};
    char path[4096];
    uint64_t offset = 0;
    put(&b, "GGUF", 4);
    put32(&b, version);
    put64(&b, (uint64_t)(end - first));
    put64(&b, (uint64_t)((keys ? m.n_keys : 0) + (parts ? 3 : 0)));
    for (int i = 0; keys && i < m.n_keys; i++) {
        put_string(&b, m.key[i].name, strlen(m.key[i].name));
        put32(&b, m.key[i].kind);
        put(&b, m.key[i].value.data, m.key[i].value.n);
    }
    for (int k = 0; parts && k < 3; k++) {
        put_string(&b, split[k], strlen(split[k]));
        put32(&b, k == 2 ? I32 : U16);
        if (k == 2)
            put32(&b, (uint32_t)m.n_tensors);
        else
            put(&b, k == 0 ? &no : &count, sizeof no);
    }
    for (int i = first; i < end; i++) {
        const tensor *t = &m.tensor[i];
        put_string(&b, t->name, strlen(t->name));
        put32(&b, t->n_dims);
        put(&b, t->dim, t->n_dims * sizeof *t->dim);
        put32(&b, t->type);
        put64(&b, offset);
        offset += (t->data.n + alignment - 1) / alignment * alignment;
    }
    for (int i = first; i < end; i++) {
        while (b.n % alignment) put(&b, "", 1);
        put(&b, m.tensor[i].data.data, m.tensor[i].data.n);
    }
    (void)snprintf(path, sizeof path, "%s/%s.gguf", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(b.data, b.n, 1, f) != 1 || fclose(f) != 0) die("cannot write");
    free(b.data);
}

/* Writes the changed model, and begins again with the unchanged one. Buffers are shared and never changed in place. */
static void write_as(const char *name)
{
    write_part(name, 3, 32, true, 0, 0, 0, m.n_tensors);
    m = base;
}

static void write_split(const char *name, int parts, const int *end)
{
    for (int i = 0, first = 0; i < parts; first = end[i++]) {
        char part[200];
        (void)snprintf(part, sizeof part, "%s-%05d-of-%05d", name, i + 1, parts);
        write_part(part, 3, 32, i == 0, i, parts, first, end[i]);
    }
    m = base;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static key *find(const char *end)
{
    const size_t n = strlen(end);
    for (int i = 0; i < m.n_keys; i++) {
        const size_t have = strlen(m.key[i].name);
        if (have >= n && strcmp(m.key[i].name + have - n, end) == 0) return &m.key[i];
    }
    die(end);
    return NULL;
}

static tensor *find_tensor(const char *name)
{
    for (int i = 0; i < m.n_tensors; i++)
        if (strcmp(m.tensor[i].name, name) == 0) return &m.tensor[i];
    die(name);
    return NULL;
}

static double number(uint32_t kind, const unsigned char *p)
{
    float f;
    double d;
    if (kind == F32) return (double)(memcpy(&f, p, sizeof f), f);
    if (kind == F64) return memcpy(&d, p, sizeof d), d;
    uint64_t v = 0;
    memcpy(&v, p, width[kind]);
    return kind == I32 ? (double)(int32_t)v : (double)v;
}

static void put_number(buffer *b, uint32_t kind, double v)
{
    const float f = (float)v;
    const int64_t i = (int64_t)v;
    put(b, kind == F32 ? (const void *)&f : kind == F64 ? (const void *)&v : (const void *)&i, width[kind]);
}

static void retype(key *k, uint32_t kind)
{
    const bool array = k->kind == ARRAY;
    const uint32_t from = array ? get32(k->value.data) : k->kind;
    const uint64_t n = array ? get64(k->value.data + 4) : 1;
    const unsigned char *p = k->value.data + (array ? 12 : 0);
    buffer b = {0};
    if (array) put32(&b, kind), put64(&b, n);
    for (uint64_t i = 0; i < n; i++) put_number(&b, kind, number(from, p + i * width[from]));
    if (!array) k->kind = kind;
    k->value = b;
}

/* Every scalar of one type, and the elements of every array of it. */
static void retype_all(uint32_t from, uint32_t to)
{
    for (int i = 0; i < m.n_keys; i++)
        if (m.key[i].kind == from || (m.key[i].kind == ARRAY && get32(m.key[i].value.data) == from))
            retype(&m.key[i], to);
}

static key *add_key(const char *name, uint32_t kind)
{
    key *k = &m.key[m.n_keys++];
    *k = (key){.kind = kind};
    (void)snprintf(k->name, sizeof k->name, "%s", name);
    return k;
}

static void add_tensor(const char *name, uint32_t n_dims, uint64_t first, uint32_t type, size_t bytes)
{
    static const unsigned char zeros[4096];
    tensor *t = &m.tensor[m.n_tensors++];
    *t = (tensor){.n_dims = n_dims, .type = type, .dim = {first, 1, 1, 1}};
    (void)snprintf(t->name, sizeof t->name, "%s", name);
    put(&t->data, zeros, bytes);
}

static void spread(const char *end, uint32_t n)
{
    key *k = find(end);
    buffer b = {0};
    put32(&b, k->kind), put64(&b, n);
    for (uint32_t i = 0; i < n; i++) put(&b, k->value.data, k->value.n);
    k->kind = ARRAY;
    k->value = b;
}

/* The list of tokens with `more` of padding, or fewer; token `changed` becomes `piece`, -1 none. */
static void retoken(int more, int changed, const char *piece)
{
    key *tokens = find("ggml.tokens"), *scores = find("ggml.scores"), *types = find("ggml.token_type");
    const int n = (int)get64(tokens->value.data + 4);
    const unsigned char *p = tokens->value.data + 12;
    buffer text = {0}, score = {0}, type = {0};
    put32(&text, STRING), put64(&text, (uint64_t)(n + more));
    put32(&score, F32), put64(&score, (uint64_t)(n + more));
    put32(&type, I32), put64(&type, (uint64_t)(n + more));
    for (int i = 0; i < n + more; i++) {
        char pad[32];
        const int length = snprintf(pad, sizeof pad, "[PAD%d]", i);
        if (i == changed)
            put_string(&text, piece, strlen(piece));
        else if (i < n)
            put(&text, p, 8 + get64(p));
        else
            put_string(&text, pad, (size_t)length);
        if (i < n) p += 8 + get64(p);
        put_number(&score, F32, i < n ? number(F32, scores->value.data + 12 + 4 * (size_t)i) : -1e4);
        put32(&type, i < n ? get32(types->value.data + 12 + 4 * (size_t)i) : 5);
    }
    tokens->value = text, scores->value = score, types->value = type;
    tensor *t = find_tensor("token_embd.weight");
    const size_t row = t->data.n / t->dim[1];
    buffer b = {0};
    for (int i = 0; i < n + more; i++) put(&b, t->data.data + row * (size_t)(i < n ? i : 0), row);
    t->data = b;
    t->dim[1] = (uint64_t)(n + more);
    for (int i = 0; i < m.n_keys; i++)
        if (strstr(m.key[i].name, ".vocab_size")) m.key[i--] = m.key[--m.n_keys];
}

static void same_models(void)
{
    m = base;
    write_as("same");
    static const struct {
        const char *name;
        uint32_t from, to;
    } types[] = {{"u32-i64", U32, I64}, {"u32-u16", U32, U16}, {"u32-f64", U32, F64}, {"u32-f32", U32, F32},
                 {"f32-f64", F32, F64}, {"i32-u8", I32, U8},   {"i32-f64", I32, F64}, {"bool-u32", BOOL, U32}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        retype_all(types[i].from, types[i].to);
        write_as(types[i].name);
    }
    retype(find("ggml.scores"), I32), write_as("scores-i32");
    retype(find("ggml.scores"), F64), write_as("scores-f64");
    retype(find("ggml.scores"), I16), write_as("scores-i16");
    key *k = add_key("tokenizer.ggml.add_bos_token", U8);
    put(&k->value, "\1", 1), write_as("add-bos-u8");
    k = add_key("general.alignment", I64);
    put64(&k->value, 64);
    write_part("alignment-i64", 3, 64, true, 0, 0, 0, m.n_tensors);
    m = base;
    const uint32_t layers = (uint32_t)number(find("block_count")->kind, find("block_count")->value.data);
    spread("attention.head_count", layers), spread("head_count_kv", layers), spread("feed_forward_length", layers);
    write_as("heads-array");
    k = add_key("odd.nested", ARRAY);
    put32(&k->value, ARRAY), put64(&k->value, 2);
    for (uint32_t i = 0; i < 2; i++) put32(&k->value, U8), put64(&k->value, 3), put(&k->value, "abc", 3);
    k = add_key("odd.empty", ARRAY);
    put32(&k->value, STRING), put64(&k->value, 0);
    k = add_key("odd.text", STRING);
    put64(&k->value, 1 << 20);
    for (int i = 0; i < 1 << 17; i++) put(&k->value, "\0\xff long", 8);
    write_as("odd-keys");
    write_part("version-2", 2, 32, true, 0, 0, 0, m.n_tensors);
    add_tensor("blk.0.attn_q.bias", 1, 0, 0, 0);
    add_tensor("__nothing__", 2, 0, 8, 0);
    add_tensor("__scalar__", 0, 1, 0, 4);
    add_tensor("note.codes", 1, 256, 16, 66);
    add_tensor("note.counts", 1, 5, 26, 20);
    write_as("unread");
    for (int i = 0; i < m.n_tensors; i++) m.tensor[i] = base.tensor[m.n_tensors - 1 - i];
    write_as("reversed");
    write_split("two", 2, (const int[]){m.n_tensors / 2, m.n_tensors});
    write_split("bare", 3, (const int[]){0, 7, m.n_tensors}); /* the first part has keys alone */
    write_split("empty", 2, (const int[]){m.n_tensors, m.n_tensors});
    write_part("joined", 3, 32, true, 0, 4, 0, m.n_tensors); /* parts put together by one who kept the keys */
}

static void other_models(void)
{
    m = base;
    retoken(8, -1, ""), write_as("padded");
    retoken(-8, -1, ""), write_as("shorter");
    retoken(0, 300, "@@"), write_as("piece");
    key *k = find("ggml.eos_token_id");
    k->value = (buffer){0};
    put_number(&k->value, k->kind, 5), write_as("eos");
    k = find("ggml.token_type");
    buffer b = {0};
    put(&b, k->value.data, k->value.n);
    memcpy(b.data + 12 + 4 * 400, (const uint32_t[]){5}, 4);
    k->value = b;
    write_as("type");
    buffer undefined = {0};
    put(&undefined, k->value.data, k->value.n);
    for (size_t i = 12; i < undefined.n; i += 4)
        if (get32(undefined.data + i) == 1) memset(undefined.data + i, 0, 4);
    find("ggml.token_type")->value = undefined;
    write_as("type-0");
    static const struct {
        const char *name, *key;
        uint32_t kind;
        double v;
    } wrong[] = {{"fraction", "block_count", F64, 2.5},
                 {"negative", "embedding_length", I32, -64},
                 {"overflow", "context_length", F64, 1e30}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        k = find(wrong[i].key);
        k->kind = wrong[i].kind;
        k->value = (buffer){0};
        put_number(&k->value, k->kind, wrong[i].v), write_as(wrong[i].name);
    }
    spread("attention.head_count", 3);
    k = find("attention.head_count");
    k->value.data[12]++;
    write_as("heads-differ");
    retype(find("ggml.scores"), F64);
    k = find("ggml.scores");
    put_number(&(buffer){k->value.data + 12, 0, 8}, F64, 1e300), write_as("score-overflow");
}

int main(int argc, char **argv)
{
    if (argc != 3) die("usage: make_variants MODEL.gguf FOLDER");
    folder = argv[2];
    read_model(argv[1]);
    same_models();
    other_models();
    return 0;
}
