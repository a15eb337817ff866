/* Time of an export compared with its passes: geodec_forward_prefill over the same windows, and exports of the last
 * and of all layers in both formats, interleaved, as TSV on stdout.
 *
 *     bench-export MODEL TEXT [TOKENS [WINDOW [ROUNDS]]]
 *
 * One thread. Each value is the least of several rounds in processor time of the thread (a busy machine affects all
 * equally), with its ratio to prefill. The last column is elapsed time, which includes the disk. */
#include "base/clock.h"
#include "base/mem.h"
#include "chain/activations.h"
#include "export/export.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAYERS_MAX = 1024 };

typedef struct setting {
    const char *name;
    bool h5, all, half;
    int32_t top_m;
} setting;

static const setting settings[] = {
    {"safetensors last f32", false, false, false, 0},
    {"safetensors all f32", false, true, false, 0},
    {"safetensors last f16", false, false, true, 0},
    {"safetensors all f16", false, true, true, 0},
    {"h5 last f32", true, false, false, 0},
    {"h5 all f32", true, true, false, 0},
    {"h5 last f16", true, false, true, 0},
    {"h5 all f16", true, true, true, 0},
    {"h5 last f32 top 8", true, false, false, 8},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static void check(geodec_status st, const geodec_err *err)
{
    char line[512];
    if (st == GEODEC_OK) return;
    (void)fprintf(stderr, "bench-export: %s\n", geodec_err_line(err, line, sizeof line));
    exit(1);
}

typedef struct timing {
    double cpu, elapsed;
} timing;

static timing now(void) { return (timing){geodec_clock_thread_seconds(), geodec_clock_seconds()}; }

static void keep(timing *best, timing begin)
{
    const timing t = now();
    if (t.cpu - begin.cpu < best->cpu) best->cpu = t.cpu - begin.cpu;
    if (t.elapsed - begin.elapsed < best->elapsed) best->elapsed = t.elapsed - begin.elapsed;
}

/* The windows that an export reads, through geodec_forward_prefill: a lower bound for every export. */
static int64_t prefill(geodec_session *s, geodec_export_source *source, int32_t bos, int32_t window, int64_t limit)
{
    geodec_err err = {0};
    const int32_t *token;
    int64_t n, done = 0;
    int32_t *cut = geodec_mem_new(window, sizeof *cut);
    while (done < limit) {
        check(source->next(source->ctx, &token, &n, &err), &err);
        if (n < 0) break;
        for (int64_t at = 0; at < n && done < limit;) {
            int32_t k = 0;
            if (at > 0 && bos >= 0) cut[k++] = bos;
            while (k < window && at < n && done + k < limit) cut[k++] = token[at++];
            geodec_session_truncate(s, 0);
            check(geodec_forward_prefill(s, cut, k, NULL, &err), &err);
            done += k;
        }
    }
    geodec_mem_free(cut);
    return done;
}

static void export(const geodec_model *m, const setting *k, geodec_export_source *source, int32_t window, int64_t limit,
                   const char *path)
{
    geodec_err err = {0};
    int32_t layer[LAYERS_MAX], n_layer = geodec_model_configuration(m)->n_layer;
    geodec_export_options o = {
        .layer = layer, .window = window, .max_tokens = limit, .top_m = k->top_m, .half = k->half};
    const geodec_provenance p = {.tool = "bench-export", .command_line = ""};
    for (int32_t l = k->all ? 0 : n_layer; l <= n_layer && o.n_layers < LAYERS_MAX; l++) layer[o.n_layers++] = l;
    if (k->h5) {
        geodec_artifact *a = NULL;
        check(geodec_artifact_create(&geodec_activations_kind, path, &p, &a, &err), &err);
        check(geodec_export_run(m, &o, source, a, NULL, NULL, NULL, &err), &err);
        check(geodec_artifact_commit(a, &err), &err);
        (void)unlink(path);
    } else {
        const geodec_export_sharding g = {.folder = path, .tokens = 1 << 18, .provenance = &p};
        check(geodec_export_shards(m, &o, source, &g, NULL, NULL, NULL, &err), &err);
    }
}

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_file_map map;
    geodec_session *s = NULL;
    char path[] = "/tmp/bench-export-XXXXXX", file[64];
    timing best[SETTINGS + 1];
    if (argc < 3 || !mkdtemp(path)) {
        (void)fprintf(stderr, "bench-export MODEL TEXT [TOKENS [WINDOW [ROUNDS]]]\n");
        return 2;
    }
    const int64_t limit = argc > 3 ? atoll(argv[3]) : 10000;
    const int32_t window = argc > 4 ? atoi(argv[4]) : 256, rounds = argc > 5 ? atoi(argv[5]) : 5;
    check(geodec_model_open(argv[1], &m, &err), &err);
    check(geodec_file_map_open(argv[2], &map, &err), &err);
    (void)geodec_model_fingerprint(m); /* made once, not timed */
    const geodec_documents_options how = {.tokenizer = geodec_model_tokenizer(m)};
    geodec_documents documents = {0};
    check(geodec_documents_read(argv[2], (const char *)map.data, map.size, &how, &documents, &err), &err);
    const geodec_session_options so = {.n_ctx = window};
    check(geodec_session_create(m, &so, &s, &err), &err);
    (void)snprintf(file, sizeof file, "%s/a", path);
    for (int i = 0; i <= SETTINGS; i++) best[i] = (timing){1e300, 1e300};
    int64_t tokens = 0;
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i <= SETTINGS; i++) {
            geodec_export_source source;
            check(geodec_export_source_text(&documents, geodec_model_tokenizer(m), &source, &err), &err);
            const timing begin = now();
            if (i == 0)
                tokens = prefill(s, &source, geodec_tokenizer_start(geodec_model_tokenizer(m)), window, limit);
            else
                export(m, &settings[i - 1], &source, window, limit, file);
            keep(&best[i], begin);
            geodec_export_source_close(&source);
            check(geodec_export_shards_remove(file, &err), &err);
        }
    (void)rmdir(path);
    printf("what\ttokens\tcpu_tokens_per_s\tof_prefill\telapsed_tokens_per_s\tof_prefill_elapsed\n");
    for (int i = 0; i <= SETTINGS; i++)
        printf("%s\t%lld\t%.0f\t%.3f\t%.0f\t%.3f\n", i ? settings[i - 1].name : "prefill", (long long)tokens,
               (double)tokens / best[i].cpu, best[0].cpu / best[i].cpu, (double)tokens / best[i].elapsed,
               best[0].elapsed / best[i].elapsed);
    geodec_session_destroy(s);
    geodec_documents_free(&documents);
    geodec_file_map_close(&map);
    geodec_model_close(m);
    return 0;
}
