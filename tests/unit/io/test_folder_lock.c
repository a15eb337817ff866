/* One writer of a folder at a time. */
#include "io/folder_lock.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

Test(folder_lock, one_writer_until_it_ends)
{
    geodec_err err = {0};
    char text[GEODEC_ERR_TEXT];
    const char *folder = test_tmp("locked");
    int lock = -1, second = -1;
    cr_assert_eq(geodec_folder_lock(folder, &lock, &err), GEODEC_NOTFOUND);
    cr_assert_eq(lock, -1);
    cr_assert_eq(mkdir(folder, 0777), 0);
    test_ok(geodec_folder_lock(folder, &lock, &err), &err);
    cr_assert(lock >= 0);
    err = (geodec_err){0};
    cr_assert_eq(geodec_folder_lock(folder, &second, &err), GEODEC_EXISTS);
    cr_assert(second == -1 && strstr(geodec_err_line(&err, text, sizeof text), "another process is writing it"));
    geodec_folder_unlock(lock);
    test_ok(geodec_folder_lock(folder, &lock, &err), &err);
    geodec_folder_unlock(lock);

    /* a writer that is killed leaves no lock */
    int ready[2];
    char byte;
    cr_assert_eq(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        const geodec_status st = geodec_folder_lock(folder, &lock, NULL);
        if (write(ready[1], st == GEODEC_OK ? "y" : "n", 1) == 1) pause();
        _exit(1);
    }
    cr_assert(read(ready[0], &byte, 1) == 1 && byte == 'y');
    cr_assert_eq(geodec_folder_lock(folder, &second, NULL), GEODEC_EXISTS);
    cr_assert(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    test_ok(geodec_folder_lock(folder, &second, &err), &err);
    geodec_folder_unlock(second);
    geodec_folder_unlock(-1);

    const char *file = test_tmp("a-file");
    FILE *f = fopen(file, "w");
    cr_assert(f && fclose(f) == 0);
    cr_assert_eq(geodec_folder_lock(file, &lock, NULL), GEODEC_IO);
}
