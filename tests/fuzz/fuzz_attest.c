/* Records of runs. */
#include "attest/attest.h"
#include "fuzz/fuzz.h"

#include <unistd.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    geodec_err err = {0};
    geodec_attest a = {0};
    if (size > MAX_INPUT || !fuzz_file(data, size, path)) return 0;
    if (geodec_attest_read(path, &a, &err) == GEODEC_OK) {
        fuzz_must(a.n_prompt > 0 && a.n >= 0 && a.top_p > 0 && a.top_p <= 1 && a.temperature >= 0,
                  "a number out of range");
        for (int32_t i = 0; i <= a.n; i++) fuzz_sink ^= a.link[i][0];
    } else {
        fuzz_must(!a.prompt && !a.token && !a.link, "an output of a failure");
    }
    geodec_attest_clear(&a);
    (void)unlink(path);
    return 0;
}
