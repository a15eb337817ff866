/* Hyperdimensional memories: the input itself (first byte odd), or edits of a good file of two banks, each an offset of
 * three bytes and a value; the sums are made right after that, unless the second bit of the first byte is set. What is
 * accepted is looked up in, and written back byte for byte. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/rng.h"
#include "fuzz/fuzz.h"
#include "lab/perspective/memory/hdm.h"

#include <string.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 16, HEAD = 140, SUMS = 56, BANK = 4 + 2 * GEODEC_HV_BITS, ENTRY = 8 };

static uint8_t good[MAX_INPUT], file[MAX_INPUT];
static size_t good_size;

static size_t read_all(const char *path, uint8_t *to)
{
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(to, 1, MAX_INPUT, f) : 0;
    if (f) (void)fclose(f);
    return n;
}

static void make_good(void)
{
    static const float mean[] = {1, -2};
    const geodec_hdm_options o = {.seed = 5, .bank_bits = 1, .width = 2, .mean = mean, .fingerprint = "0123"};
    geodec_err err = {0};
    geodec_hdm *m = NULL;
    char path[64];
    if (good_size || !fuzz_file(good, 0, path)) return;
    if (geodec_hdm_create(&o, &m, &err) == GEODEC_OK) {
        bool ok = true;
        for (uint64_t i = 0; i < 6; i++) {
            geodec_hv key;
            geodec_hv_code(1, 1, i, &key);
            key.word[0] = (key.word[0] & ~UINT64_C(1)) | (i & 1u);
            ok &= geodec_hdm_add(m, &key, "some text", (int64_t)i, NULL, &err) == GEODEC_OK;
        }
        if (ok && geodec_hdm_write(path, m, &err) == GEODEC_OK) good_size = read_all(path, good);
    }
    geodec_hdm_destroy(m);
    (void)unlink(path);
}

static uint64_t number(const uint8_t *at, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)at[i] << (8 * i);
    return v;
}

static void put_sum(uint8_t *at, const uint8_t *from, size_t n)
{
    const uint32_t sum = geodec_crc32c(0, from, (int64_t)n);
    for (int k = 0; k < 4; k++) at[k] = (uint8_t)(sum >> (8 * k));
}

/* The sums of the parts that the head names, as far as they are there. */
static void repair(uint8_t *p, size_t n)
{
    if (n < HEAD) return;
    const uint64_t size[] = {4 * number(p + 32, 4), BANK * number(p + 36, 4), ENTRY * number(p + 40, 8),
                             number(p + 48, 8)};
    size_t at = HEAD;
    for (int k = 0; k < 4; k++) {
        const size_t there = n - at, take = size[k] < there ? (size_t)size[k] : there;
        put_sum(p + SUMS + 4 * k, p + at, take);
        at += take;
    }
    put_sum(p + HEAD - 4, p, HEAD - 4);
}

static size_t make_file(const uint8_t *data, size_t size)
{
    size_t n = size - 1;
    if (data[0] & 1) {
        memcpy(file, data + 1, n);
    } else {
        memcpy(file, good, good_size);
        n = good_size;
        for (size_t i = 1; i + 3 < size; i += 4) {
            const size_t at = (size_t)number(data + i, 3);
            if (at < good_size)
                file[at] = data[i + 3];
            else if (at - good_size < good_size)
                n = at - good_size; /* a shorter file */
        }
    }
    if (!(data[0] & 2)) repair(file, n);
    return n;
}

static void use(const geodec_hdm *m, const char *path, size_t n)
{
    static uint8_t back[MAX_INPUT];
    geodec_err err = {0};
    geodec_hv key;
    const int64_t entries = geodec_hdm_entries(m);
    fuzz_must(entries <= (int64_t)n, "more entries than bytes");
    for (int64_t i = 0; i < entries; i++) {
        int64_t length;
        const uint8_t *text = geodec_hdm_text(m, i, &length);
        fuzz_must(length >= 0 && length <= GEODEC_HDM_TEXT_MAX, "a text out of range");
        fuzz_use(text, (size_t)length);
        fuzz_must(geodec_hdm_bank_pairs(m, geodec_hdm_bank(m, i)) > 0, "an entry of an empty bank");
    }
    geodec_hv_code(1, 1, 3, &key);
    const geodec_hdm_hit h = geodec_hdm_find(m, &key, GEODEC_HDM_BANK_BITS_MAX, GEODEC_ISA_AUTO);
    fuzz_must(h.values == entries && h.entry < entries && (h.entry >= 0) == (entries > 0), "not all entries asked");
    fuzz_must(geodec_hdm_write(path, m, &err) == GEODEC_OK, "not written");
    fuzz_must(read_all(path, back) == n && memcmp(back, file, n) == 0, "other bytes");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    geodec_err err = {0};
    geodec_hdm *m = NULL;
    make_good();
    if (size < 1 || size > MAX_INPUT || !good_size) return 0;
    const size_t n = make_file(data, size);
    if (!fuzz_file(file, n, path)) return 0;
    if (geodec_hdm_read(path, &m, &err) == GEODEC_OK)
        use(m, path, n);
    else
        fuzz_must(!m, "an output of a failure");
    geodec_hdm_destroy(m);
    (void)unlink(path);
    return 0;
}
