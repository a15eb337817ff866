/* Stores of transformed keys: as they are, and with sums that fit. What is accepted gives scores, and is written back
 * byte for byte. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "lab/integer/scores/keys.h"

#include <stdlib.h>
#include <string.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 15, DATA_CRC = 56, HEADER_CRC = 124 };

static void put_crc(uint8_t *at, uint32_t crc)
{
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(crc >> 8 * i);
}

static void use(const geodec_keys *k)
{
    geodec_err err = {0};
    geodec_scores *s = NULL;
    geodec_scores_query *w = NULL;
    const int64_t n = (int64_t)k->layers * k->heads * k->positions, range = geodec_scores_range(k->by, k->dim);
    fuzz_must(k->positions == k->room && k->dim <= GEODEC_SCORES_MOST, "a number out of range");
    fuzz_use(k->exponent, (size_t)n * sizeof *k->exponent);
    int32_t *q = geodec_mem_new(k->dim, sizeof *q);
    if (q && geodec_scores_create(k->by, k->dim, GEODEC_ISA_AUTO, &s, &err) == GEODEC_OK &&
        geodec_scores_query_create(s, &w, &err) == GEODEC_OK) {
        for (int32_t i = 0; i < k->dim; i++) q[i] = i % 2 ? 32767 : -32768;
        geodec_scores_load(s, w, q);
        for (int64_t i = 0; i < n; i++) {
            int64_t c;
            geodec_scores_sums(s, w, geodec_keys_block(k, 0, i), 1, &c);
            fuzz_must(c >= -range && c <= range, "a score out of range");
            fuzz_sink ^= (unsigned char)c;
        }
    }
    geodec_scores_query_destroy(w);
    geodec_scores_destroy(s);
    geodec_mem_free(q);
}

/* The file must be the same, unless its least exponent is not 0 (a writer takes it into the step). */
static void write_back(const geodec_keys *k, const char *path, const uint8_t *data, size_t size)
{
    geodec_err err = {0};
    const int64_t n = (int64_t)k->layers * k->heads * k->positions;
    int32_t step = INT32_MAX, written = 0;
    for (int64_t i = 0; i < n; i++) step = k->exponent[i] < step ? k->exponent[i] : step;
    for (int i = 0; i < 4; i++) written |= (int32_t)((uint32_t)data[36 + i] << 8 * i);
    if (geodec_keys_save(k, path, &err) != GEODEC_OK) return;
    FILE *f = fopen(path, "rb");
    uint8_t *back = f ? malloc(size + 1) : NULL;
    const size_t got = back ? fread(back, 1, size + 1, f) : size;
    fuzz_must(got == size, "another size");
    if (back && written == step) fuzz_must(memcmp(back, data, size) == 0, "other bytes");
    free(back);
    if (f) (void)fclose(f);
}

static void run(const uint8_t *data, size_t size)
{
    char path[64];
    geodec_err err = {0};
    geodec_keys *k = NULL;
    if (!fuzz_file(data, size, path)) return;
    if (geodec_keys_load(path, &k, &err) == GEODEC_OK) {
        use(k);
        write_back(k, path, data, size);
    } else {
        fuzz_must(!k, "an output of a failure");
    }
    geodec_keys_destroy(k);
    (void)unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > MAX_INPUT) return 0;
    run(data, size);
    if (size < GEODEC_KEYS_HEADER) return 0;
    uint8_t *copy = malloc(size);
    if (!copy) return 0;
    memcpy(copy, data, size);
    put_crc(copy + DATA_CRC, geodec_crc32c(0, copy + GEODEC_KEYS_HEADER, (int64_t)size - GEODEC_KEYS_HEADER));
    put_crc(copy + HEADER_CRC, geodec_crc32c(0, copy, HEADER_CRC));
    run(copy, size);
    free(copy);
    return 0;
}
