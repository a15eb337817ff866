#include "io/inputs.h"

#include "base/mem.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct input {
    char *path;
    int fd;
    struct stat was;
} inputs[GEODEC_INPUTS_WATCHED];
static int n_inputs;
static bool watching;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool same_version(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void geodec_inputs_watch(void)
{
    (void)pthread_mutex_lock(&lock);
    watching = true;
    (void)pthread_mutex_unlock(&lock);
}

static geodec_status note(const char *path, int fd, const struct stat *now, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int i = 0; i < n_inputs; i++) {
        if (strcmp(inputs[i].path, path) != 0) continue;
        if (!same_version(&inputs[i].was, now))
            GEODEC_THROW(GEODEC_IO, "%s: the file changed while it was read; run the command again", path);
        goto done;
    }
    if (n_inputs == GEODEC_INPUTS_WATCHED) goto done;
    const int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (own < 0) goto done; /* too many open files: not watched */
    char *copy = geodec_mem_strdup(path);
    if (!copy) {
        (void)close(own);
        GEODEC_THROW(GEODEC_NOMEM, "no memory for a file name");
    }
    inputs[n_inputs++] = (struct input){copy, own, *now};
done:
    return st;
}

geodec_status geodec_inputs_note(const char *path, int fd, geodec_err *err)
{
    struct stat now;
    (void)pthread_mutex_lock(&lock);
    const bool wanted = watching && fstat(fd, &now) == 0 && S_ISREG(now.st_mode);
    const geodec_status st = wanted ? note(path, fd, &now, err) : GEODEC_OK;
    (void)pthread_mutex_unlock(&lock);
    return st;
}

geodec_status geodec_inputs_check(geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    struct stat now;
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < n_inputs; i++)
        if (fstat(inputs[i].fd, &now) != 0 || !same_version(&inputs[i].was, &now))
            GEODEC_THROW(GEODEC_IO, "%s: the file changed while it was read; run the command again", inputs[i].path);
done:
    (void)pthread_mutex_unlock(&lock);
    return st;
}

void geodec_inputs_forget(const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0) return;
    (void)pthread_mutex_lock(&lock);
    for (int i = n_inputs - 1; i >= 0; i--) {
        if (inputs[i].was.st_dev != file.st_dev || inputs[i].was.st_ino != file.st_ino) continue;
        geodec_mem_free(inputs[i].path);
        (void)close(inputs[i].fd);
        inputs[i] = inputs[--n_inputs];
    }
    (void)pthread_mutex_unlock(&lock);
}
