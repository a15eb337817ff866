#include "export/export_folder_internal.h"

#include "base/mem.h"
#include "export/export.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char index_name[] = "model.safetensors.index.json", unfinished[] = "unfinished";

void geodec__export_shard_name(int64_t number, int64_t of, char name[GEODEC__SHARD_NAME])
{
    if (of)
        (void)snprintf(name, GEODEC__SHARD_NAME, "model-%05lld-of-%05lld.safetensors", (long long)number,
                       (long long)of);
    else
        (void)snprintf(name, GEODEC__SHARD_NAME, "model-%05lld-of-%s.safetensors", (long long)number, unfinished);
}

/* Five digits; -1 if there are none. */
static int64_t five_digits(const char *text)
{
    int64_t v = 0;
    for (int i = 0; i < 5; i++) {
        if (text[i] < '0' || text[i] > '9') return -1;
        v = v * 10 + (text[i] - '0');
    }
    return v;
}

/* Number of a shard from its name, and the text after "of"; 0 for other files. */
static int64_t parse_name(const char *name, int64_t *of)
{
    char again[GEODEC__SHARD_NAME];
    if (strlen(name) < 15 || strncmp(name, "model-", 6) != 0 || strncmp(name + 11, "-of-", 4) != 0) return 0;
    const int64_t number = five_digits(name + 6);
    if (number < 1) return 0;
    *of = strncmp(name + 15, unfinished, sizeof unfinished - 1) == 0 ? 0 : five_digits(name + 15);
    if (*of < 0) return 0;
    geodec__export_shard_name(number, *of, again);
    return strcmp(name, again) == 0 ? number : 0;
}

static geodec_status note(geodec__folder *f, int64_t number, int64_t of, geodec_err *err)
{
    if (number > f->room) {
        const int64_t room = number + 1024;
        int64_t *more = geodec_mem_grow(f->of, f->of ? f->room + 1 : 0, room + 1, sizeof *more);
        if (!more) GEODEC_FAIL(GEODEC_NOMEM, "no memory for %lld shards", (long long)room);
        for (int64_t i = f->of ? f->room + 1 : 0; i <= room; i++) more[i] = -1;
        f->of = more;
        f->room = room;
    }
    if (f->of[number] >= 0) GEODEC_FAIL(GEODEC_FORMAT, "%s: shard %lld exists twice", f->path, (long long)number);
    f->of[number] = of;
    if (number > f->n) f->n = number;
    return GEODEC_OK;
}

geodec_status geodec__export_folder_added(geodec__folder *f, int64_t number, geodec_err *err)
{
    return note(f, number, 0, err);
}

static geodec_status list(geodec__folder *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    DIR *d = opendir(f->path);
    if (!d) GEODEC_THROW(errno == ENOENT ? GEODEC_NOTFOUND : GEODEC_IO, "%s: %s", f->path, strerror(errno));
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        int64_t of;
        const int64_t number = parse_name(e->d_name, &of);
        if (number > 0) GEODEC_TRY(note(f, number, of, err));
    }
done:
    if (d) (void)closedir(d);
    return st;
}

geodec_status geodec__export_folder_open(const char *path, geodec__folder *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *f = (geodec__folder){0};
    GEODEC_TRY(geodec_mem_print(&f->path, err, "%s", path));
    if (mkdir(path, 0777) != 0 && errno != EEXIST) GEODEC_THROW(GEODEC_IO, "%s: %s", path, strerror(errno));
    GEODEC_TRY(list(f, err));
done:
    if (st != GEODEC_OK) geodec__export_folder_close(f);
    return st;
}

void geodec__export_folder_close(geodec__folder *f)
{
    if (f->path) (void)rmdir(f->path); /* fails unless it is empty */
    GEODEC_FREE(f->path, f->of);
    *f = (geodec__folder){0};
}

bool geodec__export_folder_has(const geodec__folder *f, int64_t number) { return number <= f->n && f->of[number] >= 0; }

geodec_status geodec__export_folder_shard(const geodec__folder *f, int64_t number, char **path, geodec_err *err)
{
    char name[GEODEC__SHARD_NAME];
    geodec__export_shard_name(number, geodec__export_folder_has(f, number) ? f->of[number] : 0, name);
    return geodec_mem_print(path, err, "%s/%s", f->path, name);
}

geodec_status geodec__export_folder_drop(geodec__folder *f, int64_t number, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    GEODEC_TRY(geodec__export_folder_shard(f, number, &path, err));
    if (unlink(path) != 0 && errno != ENOENT) GEODEC_THROW(GEODEC_IO, "%s: %s", path, strerror(errno));
    f->of[number] = -1;
done:
    geodec_mem_free(path);
    return st;
}

geodec_status geodec__export_folder_finish(geodec__folder *f, int64_t count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *from = NULL, *to = NULL;
    for (int64_t i = 1; i <= count; i++) {
        char name[GEODEC__SHARD_NAME];
        if (f->of[i] == count) continue;
        geodec__export_shard_name(i, count, name);
        GEODEC_TRY(geodec__export_folder_shard(f, i, &from, err));
        GEODEC_TRY(geodec_mem_print(&to, err, "%s/%s", f->path, name));
        if (rename(from, to) != 0) GEODEC_THROW(GEODEC_IO, "%s: %s", to, strerror(errno));
        f->of[i] = count;
        GEODEC_FREE(from, to);
        from = to = NULL;
    }
done:
    GEODEC_FREE(from, to);
    return st;
}

geodec_status geodec_export_shards_remove(const char *folder, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__folder f = {0};
    char *index = NULL;
    struct stat sb;
    if (stat(folder, &sb) != 0 && errno == ENOENT) goto done;
    GEODEC_TRY(geodec__export_folder_open(folder, &f, err));
    GEODEC_TRY(geodec_mem_print(&index, err, "%s/%s", folder, index_name));
    if (unlink(index) != 0 && errno != ENOENT) GEODEC_THROW(GEODEC_IO, "%s: %s", index, strerror(errno));
    for (int64_t i = 1; i <= f.n; i++)
        if (geodec__export_folder_has(&f, i)) GEODEC_TRY(geodec__export_folder_drop(&f, i, err));
done:
    geodec__export_folder_close(&f);
    geodec_mem_free(index);
    return st;
}
