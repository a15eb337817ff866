/* Digests taken over from another process (io/digests.h). Each test has a process of its own. */
#include "io/digests.h"
#include "io/file.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[256];

static void put(const char *text)
{
    FILE *f = fopen(path, "w");
    cr_assert(f);
    (void)fputs(text, f);
    cr_assert_eq(fclose(f), 0);
}

static void expect_digest(const char *want)
{
    char hex[GEODEC_SHA256_HEX];
    cr_assert_eq(geodec_file_sha256(path, hex, NULL), GEODEC_OK);
    cr_expect_str_eq(hex, want);
}

/* FIPS 180-2, example of one block. */
static const char of_abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static geodec_digest list[GEODEC_DIGESTS_MAX];

/* A list whose digest is a mark, so that a digest that is taken over differs from one that is computed. */
static void trust_mark(const char *mark)
{
    (void)snprintf(path, sizeof path, "%s", test_tmp("in"));
    put("abc");
    geodec_digests_note();
    expect_digest(of_abc);
    expect_digest(of_abc); /* while digests are noted they are computed */
    cr_assert_eq(geodec_digests_noted(list), 2);
    cr_expect_str_eq(list[0].sha256, of_abc);
    cr_expect_eq(list[0].size, 3);
    (void)snprintf(list[0].sha256, sizeof list[0].sha256, "%s", mark);
    geodec_digests_trust(1, list);
}

Test(digests, are_taken_over_for_the_same_version_of_the_same_file)
{
    trust_mark("taken");
    expect_digest("taken");
    geodec_digests_trust(0, NULL);
    expect_digest(of_abc);
}

Test(digests, another_size_time_or_path_is_computed)
{
    trust_mark("taken");
    struct timespec times[2] = {{.tv_sec = list[0].seconds, .tv_nsec = list[0].nanoseconds},
                                {.tv_sec = list[0].seconds, .tv_nsec = list[0].nanoseconds}};
    put("abcd");
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    expect_digest("88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589");
    put("abc");
    times[1].tv_nsec = (times[1].tv_nsec + 1) % 1000000000;
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    expect_digest(of_abc);
    times[1].tv_nsec = list[0].nanoseconds;
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    expect_digest("taken");
    char other[256];
    (void)snprintf(other, sizeof other, "%s", test_tmp("other"));
    cr_assert_eq(rename(path, other), 0);
    (void)snprintf(path, sizeof path, "%s", other);
    expect_digest(of_abc);
}

Test(digests, of_the_file_and_of_its_parts_differ)
{
    char hex[GEODEC_SHA256_HEX];
    trust_mark("taken");
    const int fd = open(path, O_RDONLY);
    cr_assert_geq(fd, 0);
    cr_expect(geodec_digests_find(path, GEODEC_DIGEST_FILE, fd, hex));
    cr_expect_not(geodec_digests_find(path, GEODEC_DIGEST_BODY, fd, hex));
    cr_expect_not(geodec_digests_find(path, GEODEC_DIGEST_TENSORS, fd, hex));
    (void)close(fd);
}

Test(digests, noting_is_off_at_the_start_and_has_a_limit)
{
    (void)snprintf(path, sizeof path, "%s", test_tmp("in"));
    put("abc");
    expect_digest(of_abc);
    cr_expect_eq(geodec_digests_noted(list), 0);
    geodec_digests_note();
    for (int i = 0; i < GEODEC_DIGESTS_MAX + 2; i++) expect_digest(of_abc);
    cr_expect_eq(geodec_digests_noted(list), GEODEC_DIGESTS_MAX);
    geodec_digests_trust(GEODEC_DIGESTS_MAX + 2, list);
    expect_digest(of_abc);
}
