#include "io/digests.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

static geodec_digest noted[GEODEC_DIGESTS_MAX], trusted[GEODEC_DIGESTS_MAX];
static int n_noted, n_trusted;
static bool noting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The entry of an open file without its digest; false if the file has no size and time. */
static bool entry_of(const char *path, geodec_digest_part part, int fd, geodec_digest *out)
{
    struct stat now;
    geodec_sha256 h;
    if (fstat(fd, &now) != 0) return false;
    memset(out, 0, sizeof *out);
    geodec_sha256_init(&h);
    geodec_sha256_update(&h, path, strlen(path));
    geodec_sha256_hex(&h, out->path);
    out->part = part;
    out->size = (int64_t)now.st_size;
    out->seconds = (int64_t)now.st_mtim.tv_sec;
    out->nanoseconds = (int64_t)now.st_mtim.tv_nsec;
    return true;
}

static bool same_version(const geodec_digest *a, const geodec_digest *b)
{
    return a->part == b->part && a->size == b->size && a->seconds == b->seconds && a->nanoseconds == b->nanoseconds &&
           memcmp(a->path, b->path, sizeof a->path) == 0;
}

void geodec_digests_note(void)
{
    (void)pthread_mutex_lock(&lock);
    noting = true;
    n_noted = 0;
    (void)pthread_mutex_unlock(&lock);
}

int geodec_digests_noted(geodec_digest out[GEODEC_DIGESTS_MAX])
{
    (void)pthread_mutex_lock(&lock);
    noting = false;
    const int n = n_noted;
    memcpy(out, noted, (size_t)n * sizeof *out);
    (void)pthread_mutex_unlock(&lock);
    return n;
}

void geodec_digests_trust(int n, const geodec_digest *list)
{
    (void)pthread_mutex_lock(&lock);
    n_trusted = n < 0 ? 0 : n < GEODEC_DIGESTS_MAX ? n : GEODEC_DIGESTS_MAX;
    if (n_trusted) memcpy(trusted, list, (size_t)n_trusted * sizeof *list);
    for (int i = 0; i < n_trusted; i++) trusted[i].sha256[GEODEC_SHA256_HEX - 1] = '\0';
    (void)pthread_mutex_unlock(&lock);
}

bool geodec_digests_find(const char *path, geodec_digest_part part, int fd, char hex[GEODEC_SHA256_HEX])
{
    geodec_digest want;
    bool found = false;
    (void)pthread_mutex_lock(&lock);
    if (n_trusted > 0 && entry_of(path, part, fd, &want))
        for (int i = 0; i < n_trusted && !found; i++) {
            found = same_version(&trusted[i], &want);
            if (found) memcpy(hex, trusted[i].sha256, GEODEC_SHA256_HEX);
        }
    (void)pthread_mutex_unlock(&lock);
    return found;
}

void geodec_digests_add(const char *path, geodec_digest_part part, int fd, const char hex[GEODEC_SHA256_HEX])
{
    (void)pthread_mutex_lock(&lock);
    if (noting && n_noted < GEODEC_DIGESTS_MAX && entry_of(path, part, fd, &noted[n_noted]))
        memcpy(noted[n_noted++].sha256, hex, GEODEC_SHA256_HEX);
    (void)pthread_mutex_unlock(&lock);
}
