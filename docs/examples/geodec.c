/* geodec FILE.h5: one header for all, and the kind of any artifact. */
#include <geodec/geodec.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    static const char *const kind[] = {"activations", "cloud", "metric", "geodesics", "propagators", "flowmap"};
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    char line[1024];
    if (argc != 2) return 2;
    if (geodec_kinds_open(argv[1], &a, &err) != GEODEC_OK) {
        fprintf(stderr, "geodec: %s\n", geodec_err_line(&err, line, sizeof line));
        return geodec_status_exit(err.status);
    }
    geodec_artifact_close(a);
    for (unsigned i = 0; i < sizeof kind / sizeof kind[0]; i++)
        if (geodec_artifact_open(geodec_kinds_find(kind[i]), argv[1], &a, NULL) == GEODEC_OK) {
            printf("%s: %s\n", argv[1], kind[i]);
            geodec_artifact_close(a);
            return 0;
        }
    printf("%s: another kind\n", argv[1]);
    return 0;
}
