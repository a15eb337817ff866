/* Codes of keys: any bytes decode or are refused, with the same result each time; an accepted header of H63 blocks is
 * written back byte for byte. The first byte chooses the code, the second the dimension. */
#include "base/mem.h"
#include "base/rng.h"
#include "fuzz/fuzz.h"
#include "lab/integer/codes/block_h63.h"
#include "lab/integer/codes/codes.h"

#include <string.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 15, KINDS = 64, SAMPLE = 64, DIMS = 3 };
static const int64_t dims[DIMS] = {16, 96, 128};

static geodec_codes *code_of(int kind, int d)
{
    static geodec_codes *made[KINDS][DIMS];
    static float x[SAMPLE * 128];
    geodec_err err = {0};
    if (!made[kind][d]) {
        const geodec_codes_sample s = {.n = SAMPLE, .x = x};
        for (int i = 0; i < SAMPLE * 128; i++)
            x[i] = (float)geodec_rng_uniform_at(1, 2, (uint64_t)i) * (float)(1 + i % 7);
        fuzz_must(geodec_codes_create(geodec_codes_at(kind), dims[d], &s, &made[kind][d], &err) == GEODEC_OK,
                  "no code");
    }
    return made[kind][d];
}

static void decode(int kind, int d, const uint8_t *data, size_t size)
{
    static float a[GEODEC_CODES_ROWS_MAX * 128], b[GEODEC_CODES_ROWS_MAX * 128];
    geodec_err err = {0};
    const geodec_codes_kind *k = geodec_codes_at(kind);
    const size_t bytes = (size_t)geodec_codes_bytes(k, dims[d]);
    uint8_t *exact = geodec_mem_new((int64_t)bytes, 1); /* missing bytes are zeros */
    if (!exact) return;
    memcpy(exact, data, size < bytes ? size : bytes);
    const geodec_status st = geodec_codes_decode(code_of(kind, d), exact, a, &err);
    fuzz_must(st == geodec_codes_decode(code_of(kind, d), exact, b, &err), "another status");
    if (st == GEODEC_OK) {
        const size_t n = (size_t)(dims[d] * geodec_codes_rows(k)) * sizeof *a;
        fuzz_must(memcmp(a, b, n) == 0, "other values");
        fuzz_use(a, n);
    }
    geodec_mem_free(exact);
}

static void header(const uint8_t *data, size_t size)
{
    geodec_err err = {0};
    geodec_block_h63 h = {0};
    uint8_t *exact = malloc(size ? size : 1); /* its end at the end of an allocation */
    if (!exact) return;
    memcpy(exact, data, size);
    if (geodec_block_h63_header_read(exact, (int64_t)size, &h, &err) == GEODEC_OK) {
        uint8_t *back = geodec_mem_new((int64_t)size, 1);
        fuzz_must((size_t)geodec_block_h63_header_bytes(&h) == size, "a header of another size");
        if (back) geodec_block_h63_header_write(&h, back);
        fuzz_must(!back || memcmp(back, exact, size) == 0, "another header");
        geodec_mem_free(back);
    }
    geodec_block_h63_clear(&h);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int kinds = 0;
    if (size < 2 || size > MAX_INPUT) return 0;
    while (geodec_codes_at(kinds)) kinds++;
    const int which = data[0] % (kinds + 1);
    if (which == kinds)
        header(data + 2, size - 2);
    else
        decode(which, data[1] % DIMS, data + 2, size - 2);
    return 0;
}
