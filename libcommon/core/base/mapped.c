#include "base/mapped.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* A slot changes from FREE to BUSY, is filled, and is published as READY; only READY slots are read. A signal handler
 * may read a slot while another thread empties it, so a name is always zero-terminated. */
enum { FREE, BUSY, READY };

typedef struct slot {
    atomic_int state;
    _Atomic uintptr_t begin;
    _Atomic size_t size;
    char name[GEODEC_MAPPED_NAME]; /* the last byte is always zero */
} slot;

static slot mapped[GEODEC_MAPPED_MAX], partial[GEODEC_PARTIAL_MAX];

static int take(slot *table, int n, const void *data, size_t size, const char *name)
{
    const size_t length = strlen(name);
    if (length >= sizeof table->name) return -1;
    for (int i = 0; i < n; i++) {
        int expected = FREE;
        if (!atomic_compare_exchange_strong(&table[i].state, &expected, BUSY)) continue;
        memcpy(table[i].name, name, length + 1);
        atomic_store(&table[i].begin, (uintptr_t)data);
        atomic_store(&table[i].size, size);
        atomic_store(&table[i].state, READY);
        return i;
    }
    return -1;
}

static void give_back(slot *s)
{
    atomic_store(&s->begin, 0);
    atomic_store(&s->state, FREE);
}

void geodec_mapped_add(const void *data, size_t n, const char *name)
{
    if (data && n) (void)take(mapped, GEODEC_MAPPED_MAX, data, n, name);
}

void geodec_mapped_remove(const void *data)
{
    for (int i = 0; i < GEODEC_MAPPED_MAX; i++)
        if (atomic_load(&mapped[i].state) == READY && atomic_load(&mapped[i].begin) == (uintptr_t)data) {
            give_back(&mapped[i]);
            return;
        }
}

const char *geodec_mapped_find(const void *address, size_t *n)
{
    for (int i = 0; i < GEODEC_MAPPED_MAX; i++) {
        if (atomic_load(&mapped[i].state) != READY) continue;
        const uintptr_t begin = atomic_load(&mapped[i].begin), at = (uintptr_t)address;
        const size_t size = atomic_load(&mapped[i].size);
        if (at < begin || at - begin >= size) continue;
        *n = size;
        return mapped[i].name;
    }
    return NULL;
}

int geodec_mapped_partial_add(const char *path) { return take(partial, GEODEC_PARTIAL_MAX, NULL, 0, path); }

void geodec_mapped_partial_remove(int number)
{
    if (number >= 0 && number < GEODEC_PARTIAL_MAX) give_back(&partial[number]);
}

void geodec_mapped_partial_unlink(void)
{
    for (int i = 0; i < GEODEC_PARTIAL_MAX; i++)
        if (atomic_load(&partial[i].state) == READY) (void)unlink(partial[i].name);
}
