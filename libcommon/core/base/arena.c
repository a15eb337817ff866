#include "base/arena_internal.h"

#include "base/mem.h"

struct geodec__arena_page {
    struct geodec__arena_page *next;
    int64_t used, room;
    char *data;
};

enum { PAGE = 1 << 16, ALIGN = 16 };

void *geodec__arena_new(geodec__arena *a, int64_t n, size_t size)
{
    int64_t bytes;
    if (n < 1) n = 1;
    if (geodec_mem_mul(n, (int64_t)size, &bytes) != 0 || bytes > a->limit - a->bytes - ALIGN) return NULL;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!a->page || bytes > a->page->room - a->page->used) {
        struct geodec__arena_page *page = geodec_mem_new(1, sizeof *page);
        if (!page) return NULL;
        page->room = bytes > PAGE ? bytes : PAGE;
        page->data = geodec_mem_new(page->room, 1);
        if (!page->data) {
            geodec_mem_free(page);
            return NULL;
        }
        page->next = a->page;
        a->page = page;
    }
    void *const p = a->page->data + a->page->used;
    a->page->used += bytes;
    a->bytes += bytes;
    return p;
}

void geodec__arena_free(geodec__arena *a)
{
    while (a->page) {
        struct geodec__arena_page *next = a->page->next;
        geodec_mem_free(a->page->data);
        geodec_mem_free(a->page);
        a->page = next;
    }
    a->bytes = 0;
}
