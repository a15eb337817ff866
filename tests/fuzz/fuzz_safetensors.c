/* The safetensors reader: contiguous arrays that fill the file, or a refusal. */
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "io/safetensors.h"

#include <string.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 16 };

static int64_t use(const geodec_safetensors *s, int i, size_t size)
{
    geodec_err err = {0};
    const geodec_safetensor *t = geodec_safetensors_at(s, i);
    int64_t n = 1;
    fuzz_must(t->rank >= 1 && t->rank <= GEODEC_SAFETENSORS_RANK_MAX, "an absurd rank");
    fuzz_must(strlen(t->name) < sizeof t->name && geodec_safetensors_find(s, t->name) == i, "a name that is not found");
    for (int d = 0; d < t->rank; d++) fuzz_must(geodec_mem_mul(n, t->shape[d], &n) == 0, "an absurd shape");
    const int64_t bytes = n * (int64_t)geodec_type_size(t->type);
    fuzz_must(bytes >= 0 && bytes <= (int64_t)size, "more elements than bytes");
    uint8_t *all = geodec_mem_new(bytes, 1);
    if (!all) return bytes;
    fuzz_must(geodec_safetensors_read(s, i, 0, n, all, &err) == GEODEC_OK, "an array that cannot be read");
    fuzz_use(all, (size_t)bytes);
    fuzz_must(geodec_safetensors_read(s, i, 1, n, all, &err) != GEODEC_OK, "elements behind the last");
    fuzz_must(geodec_safetensors_read(s, i, INT64_MAX, 1, all, &err) != GEODEC_OK, "an element far behind the last");
    geodec_mem_free(all);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    geodec_err err = {0};
    geodec_safetensors *s = NULL;
    if (size > MAX_INPUT) return 0;
    if (!fuzz_file(data, size, path)) return 0;
    if (geodec_safetensors_open(path, &s, &err) == GEODEC_OK) {
        int64_t bytes = 0;
        for (int i = 0; i < geodec_safetensors_count(s); i++) bytes += use(s, i, size);
        fuzz_must(bytes < (int64_t)size, "more arrays than file");
        const char *text = geodec_safetensors_text(s, "format");
        if (text) fuzz_use(text, strlen(text));
        geodec_safetensors_close(s);
    } else {
        fuzz_must(!s, "an output of a failure");
    }
    (void)unlink(path);
    return 0;
}
