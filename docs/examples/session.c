/* session MODEL.gguf TEXT: the most probable next token, and that its logits do not depend on the batch. */
#include <geodec/session.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    char line[1024];
    int status = 1;
    if (argc != 3) return 2;
    const size_t bytes = strlen(argv[2]);
    int32_t *id = calloc(bytes + 2, sizeof *id);
    float *logits = NULL, *again = NULL;
    int64_t n = 0;
    if (!id || geodec_model_open(argv[1], &m, &err) != GEODEC_OK) goto done;
    const int32_t n_vocab = geodec_model_size_of(m).n_vocab;
    const geodec_session_options o = {.n_ctx = (int32_t)bytes + 16};
    logits = calloc((size_t)n_vocab, sizeof *logits);
    again = calloc((size_t)n_vocab, sizeof *again);
    if (!logits || !again) goto done;
    if (geodec_tokenizer_encode(geodec_model_tokenizer(m), argv[2], bytes, true, id, &n, &err) != GEODEC_OK) goto done;
    if (geodec_session_create(m, &o, &s, &err) != GEODEC_OK) goto done;
    /* The whole text in as few passes as possible .. */
    if (geodec_forward_prefill(s, id, n, logits, &err) != GEODEC_OK) goto done;
    /* .. and token by token: the same bits. */
    geodec_session_truncate(s, 0);
    for (int64_t i = 0; i < n; i++) {
        const geodec_batch b = {.n = 1, .token = id + i};
        if (geodec_forward(s, &b, again, NULL, &err) != GEODEC_OK) goto done;
    }
    const int32_t next = geodec_argmax(logits, n_vocab);
    size_t length;
    const char *piece = geodec_tokenizer_piece(geodec_model_tokenizer(m), next, &length);
    printf("next token: %d \"%.*s\"\n", next, (int)length, piece);
    printf("bits %s, %lld passes in all\n",
           memcmp(logits, again, (size_t)n_vocab * sizeof *logits) ? "differ" : "equal",
           (long long)geodec_session_counters(s).passes);
    status = 0;
done:
    if (status) fprintf(stderr, "session: %s\n", geodec_err_line(&err, line, sizeof line));
    geodec_session_destroy(s);
    geodec_model_close(m);
    free(id);
    free(logits);
    free(again);
    return status;
}
