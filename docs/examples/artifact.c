/* artifact FILE.h5: what an artifact of any kind is made of. */
#include <geodec/artifact.h>
#include <geodec/geodec.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    const char *tool;
    char line[1024];
    if (argc != 2) return 2;
    if (geodec_kinds_open(argv[1], &a, &err) != GEODEC_OK ||
        geodec_artifact_get_str(a, "tool", &tool, &err) != GEODEC_OK) {
        fprintf(stderr, "artifact: %s\n", geodec_err_line(&err, line, sizeof line));
        return geodec_status_exit(err.status);
    }
    printf("made by %s, SHA-256 %.12s..\n", tool, geodec_artifact_sha256(a));
    int64_t extent;
    if (geodec_artifact_dim(a, "N", &extent, NULL) == GEODEC_OK) printf("N = %lld\n", (long long)extent);
    int64_t shape[6];
    int rank;
    double *values = NULL;
    if (geodec_artifact_has(a, "/eigenvalues") &&
        geodec_artifact_shape(a, "/eigenvalues", shape, &rank, &err) == GEODEC_OK &&
        geodec_artifact_read(a, "/eigenvalues", &values, &err) == GEODEC_OK)
        printf("%lld eigenvalues, the largest %.4g\n", (long long)shape[0], values[0]);
    geodec_mem_free(values);
    geodec_artifact_close(a);
    return 0;
}
