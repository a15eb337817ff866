/* The published distances by hand, and a reader that checks its input. */
#include "base/mem.h"
#include "lab/published/density.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *file(const char *text, size_t length)
{
    const char *path = test_tmp("telemetry.tsv");
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(text, 1, length, f), length);
    (void)fclose(f);
    return path;
}

static geodec_status read_text(const char *text, geodec_telemetry *t)
{
    geodec_err err = {0};
    return geodec_density_telemetry_read(file(text, strlen(text)), t, &err);
}

Test(density, distances_percentiles_ratio_and_enrichment)
{
    geodec_telemetry t;
    geodec_density_published p;
    geodec_err err = {0};
    /* four states on a line; lines the harness leaves out */
    test_ok(
        read_text("# live\tlayer=-1\tdim=2\tevery=2\n0\tmodel\t5\t0\t0\n1\tmodel\t6\t3\t4\r\nx\tmodel\t6\t9\t9\nfew\n"
                  "2\tmodel\t7\t6\t8\n3\tmodel\t8\tword\t8\n3\tmodel\t8\t60\t80\n",
                  &t),
        &err);
    cr_assert(t.states == 4 && t.d == 2 && t.left_out == 3);
    test_ok(geodec_density_published_run(&t, false, 10, NULL, NULL, &p, &err), &err);
    /* consecutive 5, 5, 90; nearest 5, 5, 5, 90 */
    cr_assert_float_eq(p.consecutive.mean, 100.0 / 3, 1e-12);
    cr_assert_float_eq(p.consecutive.p50, 5, 1e-12);
    cr_assert_float_eq(p.nearest.p90, 5 + 0.7 * 85, 1e-12); /* position 2.7 of 5 5 5 90 */
    cr_assert_float_eq(p.ratio, 6.45, 1e-12);
    cr_assert_eq(p.enrichment, 42); /* ceil(41.6) */
    geodec_density_published_clear(&p);
    /* by cosine all but the origin point the same way; the origin is at 1 from all */
    test_ok(geodec_density_published_run(&t, true, 0, NULL, NULL, &p, &err), &err);
    cr_assert_float_eq(p.nearest.value[0], 1, 0);
    cr_assert_float_eq(p.nearest.value[1], 0, 1e-15);
    cr_assert(p.ratio == 0 && p.enrichment == 0);
    geodec_density_published_clear(&p);
    geodec_density_telemetry_clear(&t);
}

Test(density, hostile_telemetry)
{
    geodec_telemetry t;
    geodec_err err = {0};
    static const struct {
        const char *text;
        geodec_status want;
    } bad[] = {
        {"", GEODEC_SCARCE},
        {"0\tm\t1\t1\n", GEODEC_SCARCE},
        {"0\tm\t1\t1\t2\n1\tm\t1\t1\n", GEODEC_FORMAT},
        {"#\tdim=x\n", GEODEC_LIMIT},
        {"#\tdim=0\n", GEODEC_LIMIT},
        {"#\tdim=999999999999999999999\n", GEODEC_LIMIT},
        {"#\tdim=2\n#\tdim=3\n", GEODEC_FORMAT},
        {"#\tdim=2\n0\tm\t1\t1\n", GEODEC_FORMAT},
        {"0\tm\t1\tnan\n1\tm\t1\t1\n", GEODEC_NUMERIC},
        {"0\tm\t1\t1e999\n1\tm\t1\t1\n", GEODEC_NUMERIC},
        {"0\tm\t1\t0x10\n1\tm\t1\t\n", GEODEC_FORMAT}, /* rows, and none is a state */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const geodec_status st = read_text(bad[i].text, &t);
        cr_assert_eq(st, bad[i].want, "text %zu: %s", i, geodec_status_name(st));
    }
    cr_assert_eq(geodec_density_telemetry_read("/no/such/file", &t, &err), GEODEC_NOTFOUND);
    cr_assert_eq(geodec_density_telemetry_read("/tmp", &t, &err), GEODEC_FORMAT);
    /* a NUL and bytes that are no text end a line's cells, and nothing else */
    static const char odd[] = "0\tm\t1\t1\t2\n\xff\xfe\0\t\t\n1\tm\t1\t3\t4";
    test_ok(geodec_density_telemetry_read(file(odd, sizeof odd - 1), &t, &err), &err);
    cr_assert(t.states == 2 && t.left_out == 1 && t.state[3] == 4);
    geodec_density_telemetry_clear(&t);
    /* wide rows and long files grow the buffers; whichever allocation fails, the reader returns an error */
    char *wide = geodec_mem_new(3000 * 8 + 64, 1);
    size_t n = 0;
    for (int row = 0; row < 2; row++) {
        n += (size_t)sprintf(wide + n, "%d\tm\t1", row);
        for (int i = 0; i < 1500; i++) n += (size_t)sprintf(wide + n, "\t%d", i % 10);
        wide[n++] = '\n';
    }
    const char *path = file(wide, n);
    for (int64_t k = 1; k < 12; k++) {
        geodec_mem_fail_after(k);
        const geodec_status st = geodec_density_telemetry_read(path, &t, &err);
        geodec_mem_fail_after(0);
        cr_assert(st == GEODEC_NOMEM || st == GEODEC_OK);
        if (st == GEODEC_OK) {
            cr_assert(t.d == 1500 && t.state[1500 + 1499] == 9);
            geodec_density_telemetry_clear(&t);
        }
    }
    geodec_mem_free(wide);
}
