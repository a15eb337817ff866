/* Limits of memory, from folders that look like those of the kernel. */
#include "base/memory_limit.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(const char *root, const char *path, const char *text)
{
    char name[1024];
    (void)snprintf(name, sizeof name, "%s/%s", root, path);
    for (char *p = name + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        (void)mkdir(name, 0777);
        *p = '/';
    }
    FILE *f = fopen(name, "w");
    cr_assert(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s", name);
}

static const char *fresh(const char *name)
{
    const char *root = test_tmp(name);
    cr_assert_eq(mkdir(root, 0777), 0);
    put(root, "proc/meminfo", "MemTotal:       99 kB\nMemFree:         7 kB\nMemAvailable:   42 kB\n");
    return root;
}

static void expect(const char *root, int64_t group, int64_t soft, int64_t available)
{
    const geodec_memory_limit l = geodec_memory_limit_of(root);
    cr_assert(l.group == group && l.soft == soft && l.available == available, "%lld %lld %lld, not %lld %lld %lld",
              (long long)l.group, (long long)l.soft, (long long)l.available, (long long)group, (long long)soft,
              (long long)available);
}

Test(memory_limit, groups_of_version_1)
{
    const char *root = fresh("v1");
    put(root, "proc/self/cgroup", "5:devices:/other\n4:memory:/outer/inner\n0::/\n");
    expect(root, 0, 0, 42 << 10);
    put(root, "sys/fs/cgroup/memory/outer/inner/memory.limit_in_bytes", "9223372036854771712\n");
    put(root, "sys/fs/cgroup/memory/outer/memory.limit_in_bytes", "5000000\n");
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "7000000\n");
    expect(root, 5000000, 0, 42 << 10);
    put(root, "sys/fs/cgroup/memory/outer/inner/memory.limit_in_bytes", "3000000\n");
    put(root, "sys/fs/cgroup/memory/outer/inner/memory.soft_limit_in_bytes", "9223372036854771712\n");
    expect(root, 3000000, 0, 42 << 10);
    put(root, "sys/fs/cgroup/memory/outer/inner/memory.soft_limit_in_bytes", "2000000\n");
    expect(root, 3000000, 2000000, 42 << 10);
}

/* In a container the path may be that of the host: the mounted folder is the container's own. */
Test(memory_limit, a_group_that_is_not_mounted)
{
    const char *root = fresh("container");
    put(root, "proc/self/cgroup", "4:memory:/docker/0123\n");
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "6000000\n");
    expect(root, 6000000, 0, 42 << 10);
}

Test(memory_limit, groups_of_version_2)
{
    const char *root = fresh("v2");
    put(root, "proc/self/cgroup", "0::/user.slice/one.scope\n");
    put(root, "sys/fs/cgroup/user.slice/one.scope/memory.max", "max\n");
    put(root, "sys/fs/cgroup/user.slice/one.scope/memory.high", "max\n");
    expect(root, 0, 0, 42 << 10);
    put(root, "sys/fs/cgroup/user.slice/memory.max", "8000000\n");
    expect(root, 8000000, 0, 42 << 10);
    put(root, "sys/fs/cgroup/user.slice/one.scope/memory.max", "4000000\n");
    put(root, "sys/fs/cgroup/user.slice/one.scope/memory.high", "3000000\n");
    expect(root, 4000000, 3000000, 42 << 10);
}

/* Unreadable or senseless files mean that nothing is known. */
Test(memory_limit, nothing_is_known)
{
    const char *root = test_tmp("nothing");
    expect(root, 0, 0, 0);
    cr_assert_eq(mkdir(root, 0777), 0);
    put(root, "proc/self/cgroup", "nonsense\n:\n4:memory\n4:memory:/a\n");
    put(root, "proc/meminfo", "MemAvailable: none\n");
    put(root, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "-1\n");
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "many\n");
    expect(root, 0, 0, 0);
}

Test(memory_limit, this_process)
{
    enum { BYTES = 64 << 20 };
    const int64_t before = geodec_memory_limit_resident(), anonymous = geodec_memory_limit_anonymous();
    cr_assert(before > 0 && anonymous > 0 && anonymous <= before && geodec_memory_limit_peak() >= before);
    char *p = malloc(BYTES);
    cr_assert_not_null(p);
    for (int i = 0; i < BYTES; i += 4096) ((volatile char *)p)[i] = 1;
    cr_assert_geq(geodec_memory_limit_resident(), before + BYTES - (1 << 20));
    cr_assert_geq(geodec_memory_limit_anonymous(), anonymous + BYTES - (1 << 20));
    free(p);
    cr_assert_geq(geodec_memory_limit_peak(), before + BYTES - (1 << 20));
}

static void expect_room(const char *root, int64_t group, int64_t limit, int64_t use, int64_t room)
{
    const geodec_memory_limit l = geodec_memory_limit_of(root);
    cr_assert(l.group_room == group && l.tight_limit == limit && l.tight_use == use, "%lld %lld %lld",
              (long long)l.group_room, (long long)l.tight_limit, (long long)l.tight_use);
    cr_assert_eq(geodec_memory_limit_room(&l), room);
}

/* Neighbours in the group, and in groups above it, have a part of the limit. Page cache can be taken back. */
Test(memory_limit, use_of_other_processes_version_1)
{
    const char *root = fresh("use1");
    put(root, "proc/self/cgroup", "4:memory:/outer/inner\n");
    expect_room(root, -1, 0, 0, 42 << 10);
    put(root, "sys/fs/cgroup/memory/outer/inner/memory.limit_in_bytes", "900000\n");
    expect_room(root, 900000, 900000, 0, 42 << 10);
    put(root, "sys/fs/cgroup/memory/outer/inner/memory.usage_in_bytes", "895000\n");
    expect_room(root, 5000, 900000, 895000, 5000);
    put(root, "sys/fs/cgroup/memory/outer/inner/memory.stat",
        "cache 1\ntotal_inactive_file 20000\ntotal_active_file 2000\nhierarchical_memory_limit 900000\n");
    expect_room(root, 26000, 900000, 874000, 26000);
    put(root, "sys/fs/cgroup/memory/outer/memory.limit_in_bytes", "5000000\n");
    put(root, "sys/fs/cgroup/memory/outer/memory.usage_in_bytes", "4999000\n");
    expect_room(root, 1000, 5000000, 4999000, 1000); /* the neighbour is in the group above */
    put(root, "sys/fs/cgroup/memory/outer/memory.usage_in_bytes", "6000000\n");
    expect_room(root, 0, 5000000, 6000000, 0);
}

Test(memory_limit, use_of_other_processes_version_2)
{
    const char *root = fresh("use2");
    put(root, "proc/self/cgroup", "0::/a/b\n");
    put(root, "proc/self/mountinfo", "30 25 0:26 /a /run/groups rw - cgroup2 cgroup2 rw,nsdelegate\n");
    put(root, "run/groups/b/memory.max", "max\n");
    put(root, "run/groups/memory.max", "40000\n");
    put(root, "run/groups/memory.current", "30000\n");
    put(root, "run/groups/memory.stat", "anon 9\ninactive_file 4000\nactive_file 0\nslab_reclaimable 2000\n");
    expect_room(root, 15000, 40000, 25000, 15000);
}

Test(memory_limit, the_whole_is_the_lesser_of_machine_and_groups)
{
    const int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    const int64_t group = geodec_memory_limit_of("").group;
    cr_assert_eq(geodec_memory_limit_whole(), group > 0 && group < machine ? group : machine);
    cr_assert_gt(geodec_memory_limit_whole(), 0);
}
