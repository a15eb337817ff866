#include "base/mem.h"
#include "chain/import_states_internal.h"
#include "io/file.h"
#include "io/json.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { INDEX_BYTES = 64 << 20, NUMBER = 12 };

static const char index_ending[] = ".index.json";

/* Numbers in names are compared by value: 2.safetensors comes before 10.safetensors. */
static int by_number(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    while (*x && *y) {
        const size_t m = strspn(x, "0123456789"), n = strspn(y, "0123456789");
        if (m && n) {
            const unsigned long long p = strtoull(x, NULL, 10), q = strtoull(y, NULL, 10);
            if (p != q) return p < q ? -1 : 1;
            if (m != n) return m < n ? -1 : 1;
            x += m;
            y += n;
        } else {
            if (*x != *y) return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
            x++;
            y++;
        }
    }
    return (*x != 0) - (*y != 0);
}

static geodec_status read_folder(geodec_import_states *s, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    struct stat sb;
    DIR *d = NULL;
    int room = 16;
    GEODEC_NEW(s->path, room);
    if (stat(path, &sb) != 0)
        GEODEC_THROW(errno == ENOENT ? GEODEC_NOTFOUND : GEODEC_IO, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(sb.st_mode)) {
        GEODEC_TRY(geodec_mem_print(&s->path[0], err, "%s", path));
        s->n_files = 1;
        goto done;
    }
    d = opendir(path);
    if (!d) GEODEC_THROW(GEODEC_IO, "%s: %s", path, strerror(errno));
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (!geodec_import_states_is_name(e->d_name)) continue;
        if (s->n_files == GEODEC_IMPORT_STATES_FILES_MAX)
            GEODEC_THROW(GEODEC_LIMIT, "%s: more than %d shards", path, GEODEC_IMPORT_STATES_FILES_MAX);
        if (s->n_files == room) {
            char **more = NULL;
            GEODEC_NEW(more, room * 2);
            memcpy(more, s->path, (size_t)s->n_files * sizeof *more);
            geodec_mem_free(s->path);
            s->path = more;
            room *= 2;
        }
        GEODEC_TRY(geodec_mem_print(&s->path[s->n_files], err, "%s/%s", path, e->d_name));
        s->n_files++;
    }
    if (s->n_files == 0) GEODEC_THROW(GEODEC_NOTFOUND, "%s: a folder without .safetensors files", path);
    qsort(s->path, (size_t)s->n_files, sizeof *s->path, by_number);
done:
    if (d) (void)closedir(d);
    return st;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- NNNNN-of-MMMMM --------------------------------------------------------------------------------------------- */

typedef struct numbered {
    int stem, width; /* characters before the number; its digits */
    int64_t number, of;
    bool unfinished;
} numbered;

/* Reads STEM-NNNNN-of-MMMMM.safetensors, or -of-unfinished. */
static bool parse_numbered(const char *name, numbered *out)
{
    const char *of = strstr(name, "-of-");
    for (const char *later = of; later; later = strstr(later + 1, "-of-")) of = later;
    if (!of) return false;
    const char *digits = of;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9') digits--;
    const char *total = of + 4;
    const size_t n = strspn(total, "0123456789");
    *out = (numbered){.stem = (int)(digits - name), .width = (int)(of - digits)};
    if (out->width < 1 || out->width > NUMBER || n > NUMBER) return false;
    out->number = strtoll(digits, NULL, 10);
    out->unfinished = strncmp(total, "unfinished", 10) == 0;
    if (n > 0) out->of = strtoll(total, NULL, 10);
    return out->unfinished || (n > 0 && strcmp(total + n, ".safetensors") == 0);
}

/* All files of one set, each number once; files are in order of their numbers. */
static geodec_status check_numbers(const geodec_import_states *s, const char *path, geodec_err *err)
{
    numbered first = {0}, at;
    int64_t count = 0, least = 0;
    const char *one = NULL;
    for (int i = 0; i < s->n_files; i++) {
        const char *name = file_name(s->path[i]);
        if (!parse_numbered(name, &at)) continue;
        if (at.unfinished)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: %s is of an export that was interrupted; run it again to finish it", path,
                        name);
        if (!one) {
            one = name;
            first = at;
            least = at.number;
        }
        if (at.stem != first.stem || strncmp(name, one, (size_t)at.stem) != 0 || at.of != first.of)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: %s and %s are of different sets", path, one, name);
        least = at.number < least ? at.number : least;
        count++;
    }
    if (!one) return GEODEC_OK;
    for (int i = 0; i < s->n_files; i++)
        if (!parse_numbered(file_name(s->path[i]), &at))
            GEODEC_FAIL(GEODEC_FORMAT, "%s: %s is not one of the %lld files of the set of %s", path,
                        file_name(s->path[i]), (long long)first.of, one);
    const int64_t base = least == 0 ? 0 : 1;
    int64_t next = base;
    for (int i = 0; i < s->n_files; i++, next++) {
        (void)parse_numbered(file_name(s->path[i]), &at);
        if (at.number == next && next - base < first.of) continue;
        if (at.number < next || at.number - base >= first.of)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: %s is one file too many of a set of %lld", path, file_name(s->path[i]),
                        (long long)first.of);
        break;
    }
    if (next - base < first.of)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: %.*s%0*lld-of-%0*lld.safetensors is missing (%lld of %lld files are there)",
                    path, first.stem, one, first.width, (long long)next, first.width, (long long)first.of,
                    (long long)count, (long long)first.of);
    return GEODEC_OK;
}

/* ---- the index -------------------------------------------------------------------------------------------------- */

static int find_path(const geodec_import_states *s, const char *name)
{
    for (int i = 0; i < s->n_files; i++)
        if (strcmp(file_name(s->path[i]), name) == 0) return i;
    return -1;
}

/* weight_map: tensor -> file. Every file of it is there with that tensor, and no other files are. */
static geodec_status check_map(const geodec_import_states *s, const char *path, const geodec_json *root,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_safetensors *f = NULL;
    const char *tensor;
    json_t *file, *map = json_object_get(root, "weight_map");
    char *named = NULL;
    int open = -1;
    GEODEC_NEW(named, s->n_files);
    if (!json_is_object(map)) GEODEC_THROW(GEODEC_FORMAT, "%s: the index has no weight_map", path);
    for (int i = -1; i < s->n_files; i++) { /* first the names, then the tensors of each file */
        if (i >= 0 && !named[i])
            GEODEC_THROW(GEODEC_FORMAT, "%s: the index does not name %s", path, file_name(s->path[i]));
        if (i >= 0) GEODEC_TRY(geodec_safetensors_open(s->path[i], &f, err));
        json_object_foreach(map, tensor, file)
        {
            const char *name = json_string_value(file);
            if (!name) GEODEC_THROW(GEODEC_FORMAT, "%s: the index names no file for tensor %s", path, tensor);
            open = find_path(s, name);
            if (open < 0) GEODEC_THROW(GEODEC_FORMAT, "%s: %s, which the index names, is missing", path, name);
            named[open] = 1;
            if (open == i && geodec_safetensors_find(f, tensor) < 0 && strlen(tensor) < GEODEC__IMPORT_STATES_NAME)
                GEODEC_THROW(GEODEC_FORMAT, "%s: %s has no tensor %s, which the index names", path, name, tensor);
        }
        geodec_safetensors_close(f);
        f = NULL;
    }
done:
    geodec_safetensors_close(f);
    geodec_mem_free(named);
    return st;
}

static geodec_status check_index(const geodec_import_states *s, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *index = NULL, *text = NULL;
    geodec_json *root = NULL;
    size_t n = 0;
    DIR *d = opendir(path);
    if (!d) GEODEC_THROW(GEODEC_IO, "%s: %s", path, strerror(errno));
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        const size_t length = strlen(e->d_name), m = sizeof index_ending - 1;
        if (e->d_name[0] == '.' || length <= m || strcmp(e->d_name + length - m, index_ending) != 0 ||
            !strstr(e->d_name, "safetensors"))
            continue;
        if (index) GEODEC_THROW(GEODEC_FORMAT, "%s: two indices, %s and %s", path, file_name(index), e->d_name);
        GEODEC_TRY(geodec_mem_print(&index, err, "%s/%s", path, e->d_name));
    }
    if (!index) goto done;
    GEODEC_TRY(geodec_file_read(index, INDEX_BYTES, &text, &n, err));
    GEODEC_TRY(geodec_json_parse(text, n, index, &root, err));
    GEODEC_TRY(check_map(s, path, root, err));
done:
    if (d) (void)closedir(d);
    geodec_json_free(root);
    GEODEC_FREE(index, text);
    return st;
}

/* Shards of one run have one fingerprint, where they have one. */
static geodec_status check_run(const geodec_import_states *s, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_safetensors *f = NULL;
    char first[80] = "";
    for (int i = 0; i < s->n_files; i++) {
        GEODEC_TRY(geodec_safetensors_open(s->path[i], &f, err));
        const char *text = geodec_safetensors_text(f, "fingerprint");
        if (!text) text = "";
        if (i == 0) (void)snprintf(first, sizeof first, "%s", text);
        if (strncmp(first, text, sizeof first - 1) != 0)
            GEODEC_THROW(GEODEC_FORMAT, "%s: %s and %s are of different runs", path, file_name(s->path[0]),
                         file_name(s->path[i]));
        geodec_safetensors_close(f);
        f = NULL;
    }
done:
    geodec_safetensors_close(f);
    return st;
}

geodec_status geodec__import_states_list(geodec_import_states *s, const char *path, geodec_err *err)
{
    struct stat sb;
    GEODEC_PASS(read_folder(s, path, err));
    if (stat(path, &sb) == 0 && !S_ISDIR(sb.st_mode)) return GEODEC_OK;
    GEODEC_PASS(check_numbers(s, path, err));
    GEODEC_PASS(check_index(s, path, err));
    GEODEC_PASS(check_run(s, path, err));
    return GEODEC_OK;
}

/* ---- layers spread over files ----------------------------------------------------------------------------------- */

/* Whether two files have the same tensors of states. */
static bool same_states(const geodec_safetensors *a, const geodec_safetensors *b, bool *disjoint)
{
    char x[GEODEC__IMPORT_STATES_NAME], y[GEODEC__IMPORT_STATES_NAME];
    int floats_a = 0, floats_b = 0, common = 0;
    for (int i = 0; i < geodec_safetensors_count(a); i++) {
        const geodec_safetensor *t = geodec_safetensors_at(a, i);
        if (t->refused[0] || !geodec__import_states_is_float(t->type) || t->rank < 2) continue;
        floats_a++;
        geodec__import_states_base(t->name, x);
        for (int k = 0; k < geodec_safetensors_count(b); k++) {
            geodec__import_states_base(geodec_safetensors_at(b, k)->name, y);
            if (strcmp(x, y) != 0) continue;
            common++;
            break;
        }
    }
    for (int k = 0; k < geodec_safetensors_count(b); k++) {
        const geodec_safetensor *t = geodec_safetensors_at(b, k);
        floats_b += !t->refused[0] && geodec__import_states_is_float(t->type) && t->rank >= 2;
    }
    *disjoint = common == 0;
    return common == floats_a && common == floats_b;
}

geodec_status geodec__import_states_group(geodec_import_states *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_safetensors *head[GEODEC__IMPORT_STATES_GROUPS] = {0}, *f = NULL;
    int *group = NULL, count[GEODEC__IMPORT_STATES_GROUPS] = {0}, taken[GEODEC__IMPORT_STATES_GROUPS] = {0}, groups = 0;
    char **ordered = NULL;
    GEODEC_NEW(group, s->n_files);
    for (int i = 0; i < s->n_files; i++) {
        int g = 0;
        bool disjoint = true, same = false;
        GEODEC_TRY(geodec_safetensors_open(s->path[i], &f, err));
        for (; g < groups; g++) {
            same = same_states(head[g], f, &disjoint);
            if (same || !disjoint) break;
        }
        if (!same && !disjoint)
            GEODEC_THROW(GEODEC_FORMAT, "%s: it has a part of the tensors of another file", s->path[i]);
        if (!same && groups == GEODEC__IMPORT_STATES_GROUPS)
            GEODEC_THROW(GEODEC_LIMIT, "the layers are spread over more than %d files", GEODEC__IMPORT_STATES_GROUPS);
        group[i] = g;
        count[g]++;
        if (!same) {
            head[groups++] = f;
            f = NULL;
        }
        geodec_safetensors_close(f);
        f = NULL;
    }
    for (int g = 1; g < groups; g++)
        if (count[g] != count[0])
            GEODEC_THROW(GEODEC_FORMAT, "the layers are spread over files, of which there are %d and %d", count[0],
                         count[g]);
    GEODEC_NEW(ordered, s->n_files);
    for (int i = 0; i < s->n_files; i++) ordered[taken[group[i]]++ * groups + group[i]] = s->path[i];
    memcpy(s->path, ordered, (size_t)s->n_files * sizeof *ordered);
    s->groups = groups;
done:
    geodec_safetensors_close(f);
    for (int g = 0; g < groups; g++) geodec_safetensors_close(head[g]);
    GEODEC_FREE(group, ordered);
    return st;
}
