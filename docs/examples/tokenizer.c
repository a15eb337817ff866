/* tokenizer MODEL.gguf TEXT: the tokens of a text, and the text of these tokens as it streams. */
#include <geodec/model.h>
#include <geodec/tokenizer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    char line[1024];
    int status = 1;
    if (argc != 3) return 2;
    const char *text = argv[2];
    int32_t *id = calloc(strlen(text) + 2, sizeof *id);
    char *piece = NULL;
    int64_t n = 0;
    if (!id || geodec_model_open(argv[1], &m, &err) != GEODEC_OK) goto done;
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    if (geodec_tokenizer_encode(t, text, strlen(text), true, id, &n, &err) != GEODEC_OK) goto done;
    for (int64_t i = 0; i < n; i++) printf("%d%c", id[i], i + 1 < n ? ' ' : '\n');
    /* One token at a time, never half a character. */
    geodec_detok stream;
    geodec_decode_init(&stream, t);
    piece = malloc(geodec_decode_room(t));
    if (!piece) goto done;
    for (int64_t i = 0; i < n; i++) (void)fwrite(piece, 1, geodec_decode_feed(&stream, id[i], piece), stdout);
    (void)fwrite(piece, 1, geodec_decode_flush(&stream, piece), stdout);
    putchar('\n');
    status = 0;
done:
    if (status) fprintf(stderr, "tokenizer: %s\n", geodec_err_line(&err, line, sizeof line));
    geodec_model_close(m);
    free(id);
    free(piece);
    return status;
}
