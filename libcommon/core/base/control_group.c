#include "base/control_group.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = GEODEC_CONTROL_GROUP_PATH, LINE = 4096 };

static FILE *open_in(const char *folder, const char *file)
{
    char path[PATH + 64];
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    return fopen(path, "re");
}

int64_t geodec_control_group_number(const char *folder, const char *file)
{
    char text[64], *end;
    FILE *f = open_in(folder, file);
    if (!f) return -1;
    const size_t n = fread(text, 1, sizeof text - 1, f);
    (void)fclose(f);
    text[n] = 0;
    const long long v = strtoll(text, &end, 10);
    return end == text || v < 0 ? -1 : v;
}

int64_t geodec_control_group_line(const char *folder, const char *file, const char *key)
{
    char line[256];
    int64_t found = -1;
    const size_t n = strlen(key);
    FILE *f = open_in(folder, file);
    while (f && found < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, key, n) == 0 && line[n] == ' ') found = strtoll(line + n + 1, NULL, 10);
    if (f) (void)fclose(f);
    return found;
}

/* Whether a list joined by commas has the word. */
static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || !at[n])) return true;
    return false;
}

/* The group's path, from a line of /proc/self/cgroup: "4:memory:/group" (version 1), "0::/group" (version 2). */
static bool find_group(const char *root, const char *controller, int version, char group[PATH])
{
    char line[LINE];
    bool found = false;
    FILE *f = open_in(root, "proc/self/cgroup");
    while (f && !found && fgets(line, sizeof line, f)) {
        char *const names = strchr(line, ':'), *const path = names ? strchr(names + 1, ':') : NULL;
        if (!path) continue;
        line[strcspn(line, "\n")] = 0;
        *names = *path = 0;
        const bool second = strcmp(line, "0") == 0 && !names[1];
        found = version == 2 ? second : !second && has_word(names + 1, controller);
        if (found) (void)snprintf(group, PATH, "%s", path + 1);
    }
    if (f) (void)fclose(f);
    return found;
}

/* Where the hierarchy is mounted, and which of its folders: lines of /proc/self/mountinfo,
 *     36 35 98:0 ROOT MOUNT OPTIONS .. - TYPE SOURCE SUPEROPTIONS */
static bool find_mount(const char *root, const char *controller, int version, char mount[PATH], char top[PATH])
{
    char line[LINE];
    bool found = false;
    FILE *f = open_in(root, "proc/self/mountinfo");
    while (f && !found && fgets(line, sizeof line, f)) {
        char *word[6] = {0}, *save = NULL, *const rest = strstr(line, " - ");
        if (!rest) continue;
        *rest = 0;
        char type[32] = "", super[LINE] = "";
        (void)sscanf(rest + 3, "%31s %*s %4095s", type, super);
        for (int i = 0; i < 6; i++) word[i] = strtok_r(i ? NULL : line, " ", &save);
        if (!word[4]) continue;
        found =
            version == 2 ? strcmp(type, "cgroup2") == 0 : strcmp(type, "cgroup") == 0 && has_word(super, controller);
        if (!found) continue;
        (void)snprintf(top, PATH, "%s", word[3]);
        (void)snprintf(mount, PATH, "%s", word[4]);
    }
    if (f) (void)fclose(f);
    return found;
}

void geodec_control_group_find(const char *root, const char *controller, int version, geodec_control_group *out)
{
    char group[PATH], mount[PATH], top[PATH] = "/";
    out->version = version;
    out->n = 0;
    if (!find_group(root, controller, version, group)) return;
    if (!find_mount(root, controller, version, mount, top)) {
        if (version == 2)
            (void)snprintf(mount, sizeof mount, "/sys/fs/cgroup");
        else
            (void)snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controller);
    }
    /* the part of the hierarchy that is mounted is the root here */
    const size_t n = strlen(top);
    if (n > 1 && strncmp(group, top, n) == 0 && (group[n] == '/' || !group[n]))
        memmove(group, group + n, strlen(group + n) + 1);
    if (strcmp(group, "/") == 0) group[0] = 0;
    while (out->n < GEODEC_CONTROL_GROUP_DEPTH) {
        const int length = snprintf(out->folder[out->n], PATH, "%s%s%s", root, mount, group);
        if (length > 0 && length < PATH) out->n++;
        char *const slash = strrchr(group, '/');
        if (!slash) break;
        *slash = 0;
    }
}
