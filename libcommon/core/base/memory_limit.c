#include "base/memory_limit.h"

#include "base/control_group.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_ROOM = 1024, LINE = 1024 };

/* Larger values are the kernel's way of saying "no limit". */
static const int64_t NO_LIMIT = INT64_C(1) << 60;

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
    if (v > 0 && v < NO_LIMIT && (*limit == 0 || v < *limit)) *limit = v;
}

/* What a group has and cannot give back: of its page cache, the inactive part and half of the active one can be taken,
 * as the kernel estimates MemAvailable. */
static int64_t in_use(const geodec_control_group *g, int i)
{
    const bool second = g->version == 2;
    const char *const folder = g->folder[i];
    const int64_t use = geodec_control_group_number(folder, second ? "memory.current" : "memory.usage_in_bytes");
    const int64_t inactive =
        geodec_control_group_line(folder, "memory.stat", second ? "inactive_file" : "total_inactive_file");
    const int64_t active =
        geodec_control_group_line(folder, "memory.stat", second ? "active_file" : "total_active_file");
    const int64_t slab = second ? geodec_control_group_line(folder, "memory.stat", "slab_reclaimable") : 0;
    const int64_t free = (inactive > 0 ? inactive : 0) + (active > 0 ? active / 2 : 0) + (slab > 0 ? slab / 2 : 0);
    return use > free ? use - free : 0;
}

static void read_groups(const geodec_control_group *g, geodec_memory_limit *out)
{
    const bool second = g->version == 2;
    for (int i = 0; i < g->n; i++) {
        const char *const folder = g->folder[i];
        int64_t limit = 0;
        lower(&limit, geodec_control_group_number(folder, second ? "memory.max" : "memory.limit_in_bytes"));
        if (!second) /* of groups above the mounted one too */
            lower(&limit, geodec_control_group_line(folder, "memory.stat", "hierarchical_memory_limit"));
        lower(&out->soft, geodec_control_group_number(folder, second ? "memory.high" : "memory.soft_limit_in_bytes"));
        lower(&out->group, limit);
        if (limit == 0) continue;
        const int64_t use = in_use(g, i), room = limit > use ? limit - use : 0;
        if (out->group_room >= 0 && room >= out->group_room) continue;
        out->group_room = room;
        out->tight_limit = limit;
        out->tight_use = use;
    }
}

geodec_memory_limit geodec_memory_limit_of(const char *root)
{
    char path[PATH_ROOM];
    geodec_control_group g;
    (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
    geodec_memory_limit out = {.available = read_line(path, "MemAvailable:"), .group_room = -1};
    for (int version = 1; version <= 2; version++) {
        geodec_control_group_find(root, "memory", version, &g);
        read_groups(&g, &out);
    }
    return out;
}

int64_t geodec_memory_limit_room(const geodec_memory_limit *l)
{
    if (l->available <= 0) return l->group_room;
    return l->group_room >= 0 && l->group_room < l->available ? l->group_room : l->available;
}

int64_t geodec_memory_limit_whole(void)
{
    static atomic_llong whole; /* 0: not asked yet; the kernel's answer takes a dozen files */
    if (atomic_load(&whole) == 0) {
        const int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
        const int64_t group = geodec_memory_limit_of("").group;
        atomic_store(&whole, group > 0 && group < machine ? group : machine);
    }
    return atomic_load(&whole);
}

int64_t geodec_memory_limit_resident(void) { return read_line("/proc/self/status", "VmRSS:"); }
int64_t geodec_memory_limit_anonymous(void) { return read_line("/proc/self/status", "RssAnon:"); }
int64_t geodec_memory_limit_peak(void) { return read_line("/proc/self/status", "VmHWM:"); }

bool geodec_memory_limit_address_space(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}
