/* The table of kinds: every table is valid, names are unique and found, and a file is opened by its own kind. */
#include "kinds/kinds.h"

#include "geodec/artifact.h"
#include "io/h5.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

Test(kinds, tables_are_valid_and_names_are_found)
{
    geodec_err err = {0};
    int n = 0;
    for (; geodec_kinds_at(n); n++) {
        const geodec_kind *k = geodec_kinds_at(n);
        cr_assert_eq(geodec_kind_check(k, &err), GEODEC_OK, "%s", k->name);
        cr_assert_eq(geodec_kinds_find(k->name), k, "%s", k->name);
    }
    cr_assert_gt(n, 20);
    cr_assert_null(geodec_kinds_at(-1));
    cr_assert_null(geodec_kinds_find("no-such-kind"));
    cr_assert_str_eq(geodec_kinds_find("cloud")->tool, "geodec-cloud");
}

Test(kinds, a_file_is_opened_by_its_own_kind)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    char folder[64] = "/tmp/geodec-kinds-XXXXXX", path[96];
    geodec_io_init();
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/n.h5", folder);
    cr_assert_eq(geodec_kinds_open(path, &a, &err), GEODEC_NOTFOUND);
    const geodec_kind *kind = geodec_kinds_find("neighbours");
    const geodec_provenance p = {.tool = "test", .command_line = "test"};
    cr_assert_eq(geodec_artifact_create(kind, path, &p, &a, &err), GEODEC_OK);
    geodec_artifact_close(a); /* aborted: no file */
    cr_assert_neq(access(path, F_OK), 0);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    (void)fputs("not an artifact", f);
    (void)fclose(f);
    cr_assert_eq(geodec_kinds_open(path, &a, &err), GEODEC_FORMAT);
    (void)unlink(path);
    (void)rmdir(folder);
}
