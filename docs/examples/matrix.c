/* matrix FILE: points of another program (.npy, or a table of text), and what was left out of them. */
#include <geodec/matrix.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_matrix m;
    char line[1024];
    if (argc != 2) return 2;
    const char *dot = strrchr(argv[1], '.');
    const geodec_matrix_options o = {.drop_missing = true};
    if (geodec_matrix_read(argv[1], dot && !strcmp(dot, ".npy") ? "npy" : "text", &o, &m, &err) != GEODEC_OK) {
        fprintf(stderr, "matrix: %s\n", geodec_err_line(&err, line, sizeof line));
        return geodec_status_exit(err.status);
    }
    printf("%lld of %lld rows, %lld columns; %lld rows left out for missing values\n", (long long)m.rows,
           (long long)m.given, (long long)m.cols, (long long)m.missing);
    if (m.note[0]) printf("%s\n", m.note);
    for (int64_t i = 0; i < m.rows; i++)
        for (int64_t j = 0; j < m.cols; j++) printf("%g%c", m.x[i * m.cols + j], j + 1 < m.cols ? ' ' : '\n');
    geodec_matrix_clear(&m);
    return 0;
}
