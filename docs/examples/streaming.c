/* streaming MIXTURE.gguf: decodes with a part of the experts in memory, and with all of them: the same text. */
#include <geodec/decode.h>
#include <geodec/streaming.h>

#include <stdio.h>
#include <string.h>

/* Decodes 24 tokens after "Once". slots 0: all experts stay in memory. */
static geodec_status text(const char *path, int32_t slots, geodec_decoded *out, geodec_stream_counters *read,
                          geodec_err *err)
{
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    int32_t id[8];
    int64_t n = 0;
    const geodec_streaming streaming = {
        .slots = slots, .eviction = GEODEC_EVICTION_LRU, .lookahead = GEODEC_LOOKAHEAD_ROUTER1};
    geodec_status st = geodec_model_open(path, &m, err);
    if (st == GEODEC_OK && slots) st = geodec_streamed_begin(m, &streaming, err);
    if (st == GEODEC_OK) st = geodec_session_create(m, &(geodec_session_options){.n_ctx = 64}, &s, err);
    if (st == GEODEC_OK) st = geodec_tokenizer_encode(geodec_model_tokenizer(m), "Once", 4, true, id, &n, err);
    if (st == GEODEC_OK) {
        const geodec_target target = geodec_target_session(s, 64);
        geodec_decode_options o = geodec_decode_options_default();
        o.max_tokens = 24;
        st = geodec_decode(&target, id, n, NULL, &o, out, err);
    }
    if (st == GEODEC_OK && slots) {
        (void)geodec_streamed_counted(m, read);
        st = geodec_streamed_finish(m, err);
    }
    geodec_session_destroy(s);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_decoded all = {0}, part = {0};
    geodec_stream_counters read = {0};
    char line[1024];
    if (argc != 2) return 2;
    if (text(argv[1], 0, &all, &read, &err) != GEODEC_OK || text(argv[1], 16, &part, &read, &err) != GEODEC_OK) {
        fprintf(stderr, "streaming: %s\n", geodec_err_line(&err, line, sizeof line));
        return 1;
    }
    const int equal = all.n == part.n && !memcmp(all.token, part.token, (size_t)all.n * sizeof *all.token);
    printf("%lld experts needed, %lld read from disk; the texts %s\n", (long long)read.slots.needed,
           (long long)read.disk.reads, equal ? "are equal" : "differ");
    geodec_decode_free(&all);
    geodec_decode_free(&part);
    return !equal;
}
