/* Traces of streamed runs, with sums made right after each mutation: every call in range; a replay and a simulated run
 * of what was read keep the sums of the counters. */
#include "base/crc32c.h"
#include "fuzz/fuzz.h"
#include "streaming/simulate.h"

#include <string.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 16, MAX_KEYS = 4096, MAX_SLOTS = 4096 };

static void put_sum(uint8_t *bytes, size_t at)
{
    const uint32_t sum = geodec_crc32c(0, bytes, (int64_t)at);
    for (int k = 0; k < 4; k++) bytes[at + (size_t)k] = (uint8_t)(sum >> (8 * k));
}

static void repair(uint8_t *bytes, size_t n)
{
    if (n < 24) return;
    const size_t head = (size_t)bytes[12] | (size_t)bytes[13] << 8 | (size_t)bytes[14] << 16 | (size_t)bytes[15] << 24;
    if (head < n - 24) put_sum(bytes, 16 + head);
    put_sum(bytes, n - 4);
}

static void check_sums(const geodec_slots_counters *c)
{
    fuzz_must(c->needed == c->resident + c->in_time + c->late + c->missed, "a sum of counters");
    fuzz_must(c->demand_reads >= 0 && c->prefetch_reads >= 0 && c->wasted >= 0, "a negative counter");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t copy[MAX_INPUT];
    char path[64];
    geodec_err err = {0};
    geodec_trace t = {0};
    if (size > MAX_INPUT) return 0;
    memcpy(copy, data, size);
    repair(copy, size);
    if (!fuzz_file(copy, size, path)) return 0;
    if (geodec_trace_read(path, &t, &err) == GEODEC_OK) {
        geodec_slots_counters c;
        geodec_simulate_result r;
        if ((int64_t)t.slots.n_layer * t.slots.n_expert <= MAX_KEYS && t.slots.n_slots <= MAX_SLOTS) {
            if (geodec_simulate_replay(&t, &c, &err) == GEODEC_OK) check_sums(&c);
            geodec_simulate_options o = geodec_simulate_recorded(&t);
            if (geodec_simulate_run(&t, &o, &r, &err) == GEODEC_OK) check_sums(&r.slots);
            if (geodec_simulate_bound(&t, t.slots.n_slots, &r, &err) == GEODEC_OK) check_sums(&r.slots);
        }
    } else {
        fuzz_must(!t.data, "an output of a failure");
    }
    geodec_trace_clear(&t);
    (void)unlink(path);
    return 0;
}
