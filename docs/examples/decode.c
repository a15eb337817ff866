/* decode MODEL.gguf TEXT: plain decoding, and the same text with drafts in fewer passes of the model. */
#include <geodec/decode.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    geodec_drafting *drafting = NULL;
    geodec_drafter *drafter = NULL;
    geodec_decoded plain = {0}, drafted = {0};
    const char *name = "ngram";
    char line[1024], *text = NULL;
    int status = 1;
    if (argc != 3) return 2;
    const size_t bytes = strlen(argv[2]);
    int32_t *id = calloc(bytes + 2, sizeof *id);
    int64_t n = 0;
    size_t length;
    if (!id || geodec_model_open(argv[1], &m, &err) != GEODEC_OK) goto done;
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    if (geodec_tokenizer_encode(t, argv[2], bytes, true, id, &n, &err) != GEODEC_OK) goto done;
    if (geodec_session_create(m, &(geodec_session_options){.n_ctx = (int32_t)n + 80}, &s, &err) != GEODEC_OK) goto done;
    const geodec_target target = geodec_target_session(s, 64);
    geodec_decode_options o = geodec_decode_options_default();
    o.max_tokens = 64;
    if (geodec_decode(&target, id, n, NULL, &o, &plain, &err) != GEODEC_OK) goto done;
    if (geodec_drafting_open(m, NULL, &name, 1, &drafting, &err) != GEODEC_OK) goto done;
    if (geodec_drafting_create(drafting, name, &drafter, &err) != GEODEC_OK) goto done;
    if (geodec_decode(&target, id, n, drafter, &o, &drafted, &err) != GEODEC_OK) goto done;
    if (geodec_tokenizer_decode(t, drafted.token, drafted.n, &text, &length, &err) != GEODEC_OK) goto done;
    printf("%.*s\n", (int)length, text);
    const int equal =
        plain.n == drafted.n && !memcmp(plain.token, drafted.token, (size_t)plain.n * sizeof *plain.token);
    printf("the texts %s; tokens per pass: %.2f plain, %.2f with %s\n", equal ? "are equal" : "differ",
           geodec_decode_tokens_per_pass(&plain.counters), geodec_decode_tokens_per_pass(&drafted.counters),
           geodec_drafter_name(drafter));
    status = !equal;
done:
    if (status) fprintf(stderr, "decode: %s\n", geodec_err_line(&err, line, sizeof line));
    geodec_decode_free(&plain);
    geodec_decode_free(&drafted);
    geodec_drafter_destroy(drafter);
    geodec_drafting_close(drafting);
    geodec_session_destroy(s);
    geodec_model_close(m);
    geodec_mem_free(text);
    free(id);
    return status;
}
