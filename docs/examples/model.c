/* model MODEL.gguf: opens a model and prints what it is. */
#include <geodec/model.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    char line[1024];
    if (argc != 2) return 2;
    if (geodec_model_open(argv[1], &m, &err) != GEODEC_OK) {
        fprintf(stderr, "model: %s\n", geodec_err_line(&err, line, sizeof line));
        return geodec_status_exit(err.status);
    }
    const geodec_model_size s = geodec_model_size_of(m);
    printf("%s: %d layers of width %d, %d tokens, a context of %d\n", geodec_model_name(m), s.n_layer, s.d_model,
           s.n_vocab, s.n_ctx);
    printf("fingerprint %.12s..\n", geodec_model_fingerprint(m));
    geodec_model_close(m);
    return 0;
}
