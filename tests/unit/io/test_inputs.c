/* Inputs that change while they are read (io/inputs.h). Each test has a process of its own, so that watching affects no
 * other. */
#include "io/atomic.h"
#include "io/file.h"
#include "io/inputs.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

static char in[256], out[256], other[256];

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    cr_assert(f);
    (void)fputs(text, f);
    cr_assert_eq(fclose(f), 0);
}

static void begin(void)
{
    (void)snprintf(in, sizeof in, "%s", test_tmp("in"));
    (void)snprintf(out, sizeof out, "%s", test_tmp("out"));
    (void)snprintf(other, sizeof other, "%s", test_tmp("other"));
    put(in, "one");
    put(other, "three");
    (void)usleep(20000); /* more than the resolution of the times of files */
}

static geodec_status copy(geodec_err *err)
{
    geodec_atomic *f = NULL;
    cr_assert_eq(geodec_atomic_open(out, &f, err), GEODEC_OK);
    cr_assert_eq(geodec_atomic_write(f, "x", 1, err), GEODEC_OK);
    return geodec_atomic_commit(f, err);
}

static void read_in(geodec_status want)
{
    geodec_file_map map = {0};
    geodec_err err = {0};
    cr_expect_eq(geodec_file_map_open(in, &map, &err), want, "%s", geodec_err_line(&err, out, sizeof out));
    geodec_file_map_close(&map);
}

Test(inputs, a_file_written_in_place_is_found_and_no_output_is_made)
{
    geodec_err err = {0};
    begin();
    geodec_inputs_watch();
    read_in(GEODEC_OK);
    cr_expect_eq(geodec_inputs_check(&err), GEODEC_OK);
    put(in, "two");
    cr_expect_eq(copy(&err), GEODEC_IO);
    cr_expect_neq(access(out, F_OK), 0);
    cr_expect_eq(geodec_inputs_check(NULL), GEODEC_IO);
}

Test(inputs, a_replaced_file_is_refused_only_when_it_is_read_again)
{
    geodec_err err = {0};
    begin();
    geodec_inputs_watch();
    read_in(GEODEC_OK);
    cr_assert_eq(rename(other, in), 0);
    cr_expect_eq(geodec_inputs_check(&err), GEODEC_OK);
    cr_expect_eq(copy(&err), GEODEC_OK);
    read_in(GEODEC_IO);
}

Test(inputs, an_own_output_may_replace_an_input)
{
    geodec_err err = {0};
    begin();
    geodec_inputs_watch();
    read_in(GEODEC_OK);
    (void)snprintf(out, sizeof out, "%s", in);
    cr_expect_eq(copy(&err), GEODEC_OK);
    read_in(GEODEC_OK);
    cr_expect_eq(geodec_inputs_check(&err), GEODEC_OK);
}

Test(inputs, nothing_is_noted_without_watching)
{
    begin();
    read_in(GEODEC_OK);
    put(in, "another");
    read_in(GEODEC_OK);
    cr_expect_eq(geodec_inputs_check(NULL), GEODEC_OK);
}
