/* drafter MODEL.gguf: the drafters that the library has, and one of our own. It proposes a fixed phrase: a drafter may
 * be wrong, which costs time but never changes the text. */
#include <geodec/decode.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct phrase {
    geodec_drafter base; /* first */
    int32_t token[16];
    int64_t n;
} phrase;

/* The phrase again, from its beginning. */
static geodec_status propose(geodec_drafter *d, const geodec_draft_request *request, geodec_draft *out, int32_t *n,
                             geodec_err *err)
{
    const phrase *p = (const phrase *)d;
    (void)err;
    *n = 0;
    while (*n < request->gamma && *n < p->n) {
        out[*n] = (geodec_draft){.token = p->token[*n], .parent = *n - 1, .confidence = 0.5};
        (*n)++;
    }
    return GEODEC_OK;
}

static void destroy(geodec_drafter *d) { (void)d; /* it is on the stack */ }

int main(int argc, char **argv)
{
    static const char *const source[] = {"phrase"};
    const geodec_drafter_ops ops = {
        .name = "phrase", .n_sources = 1, .source_name = source, .propose = propose, .destroy = destroy};
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    geodec_decoded plain = {0}, drafted = {0};
    phrase p = {.base.ops = &ops};
    char line[1024];
    int status = 1;
    int32_t id[32];
    int64_t n = 0;
    if (argc != 2) return 2;
    for (int i = 0; geodec_registry_at(i); i++) printf("%s%s", i ? " " : "drafters: ", geodec_registry_at(i)->name);
    putchar('\n');
    if (geodec_model_open(argv[1], &m, &err) != GEODEC_OK) goto done;
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    if (geodec_tokenizer_encode(t, "Once upon", 9, true, id, &n, &err) != GEODEC_OK) goto done;
    if (geodec_tokenizer_encode(t, " a time", 7, false, p.token, &p.n, &err) != GEODEC_OK) goto done;
    if (geodec_session_create(m, &(geodec_session_options){.n_ctx = 128}, &s, &err) != GEODEC_OK) goto done;
    const geodec_target target = geodec_target_session(s, 64);
    geodec_decode_options o = geodec_decode_options_default();
    o.max_tokens = 32;
    if (geodec_decode(&target, id, n, NULL, &o, &plain, &err) != GEODEC_OK) goto done;
    if (geodec_decode(&target, id, n, &p.base, &o, &drafted, &err) != GEODEC_OK) goto done;
    const int equal =
        plain.n == drafted.n && !memcmp(plain.token, drafted.token, (size_t)plain.n * sizeof *plain.token);
    printf("%lld drafts, %lld accepted; the texts %s\n", (long long)drafted.counters.total.proposed,
           (long long)drafted.counters.total.accepted, equal ? "are equal" : "differ");
    status = !equal;
done:
    if (status) fprintf(stderr, "drafter: %s\n", geodec_err_line(&err, line, sizeof line));
    geodec_decode_free(&plain);
    geodec_decode_free(&drafted);
    geodec_session_destroy(s);
    geodec_model_close(m);
    return status;
}
