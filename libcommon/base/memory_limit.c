#include "base/memory_limit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { PATH_ROOM = 1024, LINE = 1024 };

/* Larger values are the kernel's way of saying "no limit". */
static const int64_t NO_LIMIT = INT64_C(1) << 60;

/* The number in a file; 0: none ("max"), or no such file. */
static int64_t read_number(const char *path)
{
    char text[64];
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    const size_t n = fread(text, 1, sizeof text - 1, f);
    (void)fclose(f);
    text[n] = 0;
    const long long v = strtoll(text, NULL, 10);
    return v > 0 && v < NO_LIMIT ? v : 0;
}

/* A "Key:  123 kB" line of a file of proc, in bytes; 0: none. */
static int64_t read_line(const char *path, const char *key)
{
    char line[LINE];
    int64_t found = 0;
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0) found = strtoll(line + strlen(key), NULL, 10) * 1024;
    if (f) (void)fclose(f);
    return found;
}

static void lower(int64_t *limit, int64_t v)
{
    if (v > 0 && (*limit == 0 || v < *limit)) *limit = v;
}

/* The smallest limit of a group and those above it; `group` is cut from its end. */
static int64_t smallest(const char *root, const char *mount, char *group, const char *file)
{
    int64_t least = 0;
    for (;;) {
        char path[PATH_ROOM * 2];
        (void)snprintf(path, sizeof path, "%s%s%s/%s", root, mount, group, file);
        lower(&least, read_number(path));
        char *const slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

/* Lines of /proc/self/cgroup: "4:memory:/group" (version 1), "0::/group" (version 2). */
static void read_groups(const char *root, geodec_memory_limit *out)
{
    char path[PATH_ROOM], line[LINE], above[LINE];
    (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        char *const controllers = strchr(line, ':'), *const group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        line[strcspn(line, "\n")] = 0;
        *controllers = *group = 0;
        const bool second = strcmp(line, "0") == 0 && !controllers[1];
        if (!second && !strstr(controllers + 1, "memory")) continue;
        const char *const mount = second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        (void)snprintf(above, sizeof above, "%s", group + 1);
        lower(&out->group, smallest(root, mount, above, second ? "memory.max" : "memory.limit_in_bytes"));
        lower(&out->soft, smallest(root, mount, group + 1, second ? "memory.high" : "memory.soft_limit_in_bytes"));
    }
    if (f) (void)fclose(f);
}

geodec_memory_limit geodec_memory_limit_of(const char *root)
{
    char path[PATH_ROOM];
    (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
    geodec_memory_limit out = {.available = read_line(path, "MemAvailable:")};
    read_groups(root, &out);
    return out;
}

int64_t geodec_memory_limit_resident(void) { return read_line("/proc/self/status", "VmRSS:"); }
int64_t geodec_memory_limit_anonymous(void) { return read_line("/proc/self/status", "RssAnon:"); }
int64_t geodec_memory_limit_peak(void) { return read_line("/proc/self/status", "VmHWM:"); }

bool geodec_memory_limit_address_space(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}
