/* Transcripts: whatever the file holds, sums stay in it and in their range. */
#include "attest/transcript.h"
#include "fuzz/fuzz.h"

#include <unistd.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 16, ROWS = 3, MOST = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    geodec_err err = {0};
    geodec_transcript *t = NULL;
    if (size > MAX_INPUT || !fuzz_file(data, size, path)) return 0;
    if (geodec_transcript_open(path, ROWS, &t, &err) == GEODEC_OK) {
        fuzz_sink ^= geodec_transcript_binding(t)[GEODEC_TRANSCRIPT_BINDING - 1];
        while (!geodec_transcript_ended(t) && geodec_transcript_pass(t, 1 + (int32_t)(size % ROWS), &err) == GEODEC_OK)
            for (int32_t row = 0; row <= (int32_t)(size % ROWS); row++) {
                geodec_transcript_sums s;
                for (int64_t n = 1; geodec_transcript_next(t, row, n, &s); n = n % MOST + 1) {
                    int64_t acc[MOST];
                    if (s.bits == 0) continue;
                    geodec_transcript_unpack(&s, n, acc);
                    for (int64_t i = 0; i < n; i++)
                        fuzz_must(acc[i] >= -((int64_t)1 << 58) && acc[i] < (int64_t)1 << 58, "a sum out of range");
                }
                fuzz_must(geodec_transcript_left(t, row) >= 0, "more products than there are");
            }
        fuzz_must(geodec_transcript_size(t) == (int64_t)size, "the size of the file");
    } else {
        fuzz_must(!t, "an output of a failure");
    }
    geodec_transcript_close(t);
    (void)unlink(path);
    return 0;
}
