/* export MODEL.gguf OUT.h5 TEXT...: the hidden states of a model after each token of some texts. */
#include <geodec/export.h>
#include <geodec/geodec.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct texts {
    const geodec_tokenizer *t;
    char **word;
    int32_t *id;
} texts;

static geodec_status next(void *ctx, const int32_t **token, int64_t *n, geodec_err *err)
{
    texts *s = ctx;
    *n = -1;
    if (!*s->word) return GEODEC_OK;
    *token = s->id;
    const char *text = *s->word++;
    return geodec_tokenizer_encode(s->t, text, strlen(text), true, s->id, n, err);
}

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_artifact *out = NULL;
    geodec_export_summary summary;
    char line[1024];
    int status = 1;
    if (argc < 4) return 2;
    size_t longest = 0;
    for (int i = 3; i < argc; i++)
        if (strlen(argv[i]) > longest) longest = strlen(argv[i]);
    texts s = {.word = argv + 3, .id = calloc(longest + 2, sizeof *s.id)};
    if (!s.id || geodec_model_open(argv[1], &m, &err) != GEODEC_OK) goto done;
    s.t = geodec_model_tokenizer(m);
    const int32_t last = geodec_model_size_of(m).n_layer;
    const geodec_export_options o = {.n_layers = 1, .layer = &last, .window = 256, .top_m = 4};
    const geodec_export_source source = {.ctx = &s, .next = next};
    geodec_provenance p = {
        .tool = "export", .command_line = "export", .model_fingerprint = geodec_model_fingerprint(m)};
    if (geodec_artifact_create(geodec_kinds_find("activations"), argv[2], &p, &out, &err) != GEODEC_OK) goto done;
    if (geodec_export_run(m, &o, &source, out, &summary, NULL, NULL, &err) != GEODEC_OK) goto done;
    const geodec_status st = geodec_artifact_commit(out, &err);
    out = NULL; /* committed, or gone */
    if (st != GEODEC_OK) goto done;
    printf("%lld states of %lld texts\n", (long long)summary.rows, (long long)summary.documents);
    status = 0;
done:
    if (status) fprintf(stderr, "export: %s\n", geodec_err_line(&err, line, sizeof line));
    geodec_artifact_close(out);
    geodec_model_close(m);
    free(s.id);
    return status;
}
