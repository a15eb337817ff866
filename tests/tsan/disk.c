/* The reader of blobs under the thread sanitizer: random reads through both engines, some taken back, some with a
 * throttle, and closing while reads are queued. Every read must bring the right bytes. The exit status is 1 on wrong
 * bytes; the sanitizer has its own status. It does not see what the kernel writes, but all that the threads exchange.
 */
#include "streaming/disk.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FILE_BYTES = 2 << 20, SLOTS = 16, ROOM = 5 * GEODEC_BLOB_PAGE };

static bool right(const geodec_disk_read *r)
{
    const int64_t page = GEODEC_BLOB_PAGE, from = r->piece[0].offset;
    for (int64_t i = 0; i < r->piece[0].bytes; i++)
        if (r->to[from % page + i] != (uint8_t)((from + i) * 7 >> 8)) return false;
    return true;
}

static int check(const char *path, const geodec_disk_options *o, int steps)
{
    geodec_disk *d = NULL;
    geodec_disk_read r[SLOTS];
    geodec_disk_done done[SLOTS];
    bool busy[SLOTS] = {false};
    int bad = 0;
    uint8_t *slots = geodec_mem_map(SLOTS * ROOM);
    if (!slots || geodec_disk_open(path, o, &d, NULL) != GEODEC_OK) return 1;
    geodec_rng g = geodec_rng_stream((uint64_t)steps, geodec_rng_id("tsan-disk", (uint64_t)o->engine));
    for (int step = 0; step < steps; step++) {
        const int s = (int)geodec_rng_below(&g, SLOTS), what = (int)geodec_rng_below(&g, 10);
        if (what < 5 && !busy[s]) {
            const int64_t bytes = 1 + (int64_t)geodec_rng_below(&g, 16000);
            r[s] = (geodec_disk_read){.slot = s, .demand = what < 2, .to = slots + s * ROOM};
            r[s].piece[0] = (geodec_blob_piece){(int64_t)geodec_rng_below(&g, FILE_BYTES - 16000), bytes};
            busy[s] = geodec_disk_submit(d, &r[s]);
        } else if (what < 5) {
            if (geodec_disk_cancel(d, s)) busy[s] = false;
        } else if (what == 8) {
            geodec_disk_hurry(d, s);
        } else if (what == 9) {
            geodec_disk_drop(d, s);
        } else {
            const int n = geodec_disk_take(d, done, 1 + s, what == 7);
            for (int k = 0; k < n; k++) {
                bad +=
                    done[k].status != GEODEC_INTERRUPTED && (done[k].status != GEODEC_OK || !right(&r[done[k].slot]));
                busy[done[k].slot] = false;
            }
        }
    }
    geodec_disk_close(d);
    geodec_mem_unmap(slots, SLOTS * ROOM);
    if (bad) fprintf(stderr, "%d wrong reads\n", bad);
    return bad != 0;
}

int main(void)
{
    char path[] = "/tmp/geodec-disk-XXXXXX";
    const int fd = mkstemp(path);
    uint8_t *all = geodec_mem_new(FILE_BYTES, 1);
    if (fd < 0 || !all) return 1;
    for (int64_t i = 0; i < FILE_BYTES; i++) all[i] = (uint8_t)(i * 7 >> 8);
    int status = write(fd, all, FILE_BYTES) != FILE_BYTES;
    geodec_mem_free(all);
    for (int engine = GEODEC_DISK_URING; engine <= GEODEC_DISK_THREADS && !status; engine++)
        for (int k = 0; k < 4; k++) {
            const geodec_disk_options o = {.engine = (geodec_disk_engine)engine,
                                           .io = (geodec_disk_io)(k % 2),
                                           .n_slots = SLOTS,
                                           .throttle = k < 2 ? 0 : 100000000};
            status |= check(path, &o, k < 2 ? 20000 : 3000);
        }
    (void)close(fd);
    (void)unlink(path);
    return status;
}
