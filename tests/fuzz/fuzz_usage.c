/* Usage tables, with the sum made right after each mutation: frequencies in [0, 1]. */
#include "base/crc32c.h"
#include "fuzz/fuzz.h"
#include "streaming/usage.h"

#include <string.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t copy[MAX_INPUT];
    char path[64];
    geodec_err err = {0};
    geodec_usage u = {0};
    if (size > MAX_INPUT) return 0;
    memcpy(copy, data, size);
    if (size > 4) {
        const uint32_t sum = geodec_crc32c(0, copy, (int64_t)size - 4);
        for (int k = 0; k < 4; k++) copy[size - 4 + (size_t)k] = (uint8_t)(sum >> (8 * k));
    }
    if (!fuzz_file(copy, size, path)) return 0;
    if (geodec_usage_read(path, &u, &err) == GEODEC_OK) {
        const int64_t keys = (int64_t)u.n_layer * u.n_expert;
        fuzz_must(keys > 0 && keys <= (int64_t)size, "more experts than bytes");
        for (int64_t i = 0; i < keys; i++)
            fuzz_must(u.frequency[i] >= 0 && u.frequency[i] <= 1 && u.hits[i] >= 0, "a number out of range");
    } else {
        fuzz_must(!u.frequency && !u.hits, "an output of a failure");
    }
    geodec_usage_clear(&u);
    (void)unlink(path);
    return 0;
}
