/* christoffel METRIC.h5: the symbols at the first points of a metric, and their controls. */
#include "opened.h"

#include <geodec/christoffel.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    geodec_err err = {0};
    opened in = {0};
    geodec_christoffel c = {0};
    char line[1024];
    int status = 1;
    if (argc != 2) return 2;
    const geodec_christoffel_options o = geodec_christoffel_defaults();
    if (opened_metric(argv[1], &in, &err) != GEODEC_OK) goto done;
    const int64_t points = in.metric.points < 100 ? in.metric.points : 100;
    if (geodec_christoffel_compute(in.space.space, points, in.metric.point, &o, NULL, NULL, &c, &err) != GEODEC_OK)
        goto done;
    printf("%lld points: metric compatibility %.1e, gap to central differences %.1e\n", (long long)c.points,
           c.worst_residual, c.worst_gap);
    status = 0;
done:
    if (status) fprintf(stderr, "christoffel: %s\n", geodec_err_line(&err, line, sizeof line));
    geodec_christoffel_clear(&c);
    opened_close(&in);
    return status;
}
