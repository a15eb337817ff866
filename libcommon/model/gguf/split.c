/* Split files: a model in several GGUF files NAME-00001-of-0000N.gguf. The first has the keys; each has tensors. */
#include "base/mem.h"
#include "gguf/gguf_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PARTS = 99999, TAIL = 64, PAGE = 4096 };
static const char key_no[] = "split.no", key_count[] = "split.count", key_tensors[] = "split.tensors.count";

static geodec_status number_of(const geodec_gguf *g, const char *key, int64_t otherwise, int64_t *v, geodec_err *err)
{
    *v = otherwise;
    if (geodec_gguf_has(g, key)) GEODEC_PASS(geodec_gguf_get_i64(g, key, v, err));
    return GEODEC_OK;
}

static void free_key(geodec__gguf_key *k) { GEODEC_FREE(k->name, k->text, k->at); }

/* A joined model is whole: a copy of its keys must not say that it is a part. */
static void drop_keys(geodec_gguf *g)
{
    const char *const keys[] = {key_no, key_count, key_tensors};
    int64_t n = 0;
    for (int64_t i = 0; i < g->n_keys; i++) {
        bool drop = false;
        for (int k = 0; k < 3; k++) drop = drop || strcmp(g->key[i].name, keys[k]) == 0;
        if (drop)
            free_key(&g->key[i]);
        else
            g->key[n++] = g->key[i];
    }
    g->n_keys = n;
    geodec__gguf_sort_keys(g);
}

/* The end of the name of part i, from 0. */
static void tail_of(char tail[TAIL], int64_t i, int64_t count)
{
    (void)snprintf(tail, TAIL, "-%05lld-of-%05lld.gguf", (long long)i + 1, (long long)count);
}

/* The path without that end, NULL when it has another. The caller frees it. */
static char *cut_tail(const char *path, const char *tail)
{
    const size_t n = path ? strlen(path) : 0, m = strlen(tail);
    char *stem = n > m && strcmp(path + n - m, tail) == 0 ? geodec_mem_strdup(path) : NULL;
    if (stem) stem[n - m] = 0;
    return stem;
}

/* The names of the parts without their end: beside the path, or, where no second part is there, beside the file that a
 * link leads to. NULL: neither is a name of part `no`. The caller frees it. */
static char *stem_of(const char *path, int64_t no, int64_t count)
{
    char tail[TAIL], next[TAIL], *beside = NULL;
    tail_of(tail, no, count);
    tail_of(next, no > 0 ? 0 : 1, count);
    char *stem = cut_tail(path, tail), *other = NULL;
    if (stem && geodec_mem_print(&beside, NULL, "%s%s", stem, next) == GEODEC_OK && access(beside, F_OK) == 0)
        goto done;
    char *real = realpath(path, NULL);
    other = cut_tail(real, tail);
    free(real);
    if (other) {
        geodec_mem_free(stem);
        stem = other;
    }
done:
    geodec_mem_free(beside);
    return stem;
}

static bool same_value(const geodec__gguf_key *a, const geodec__gguf_key *b)
{
    if (a->kind != b->kind || a->kind == GGUF_ARRAY || a->count != b->count) return a->kind == b->kind;
    const size_t n = a->kind == GGUF_STRING ? (size_t)a->count : geodec__gguf_width(a->kind);
    return memcmp(a->value, b->value, n) == 0;
}

/* Checks that a file is part i of the model g, as far as its keys tell. */
static geodec_status check_part(const geodec_gguf *g, const geodec_gguf *part, int64_t i, int64_t count, int64_t total,
                                geodec_err *err)
{
    int64_t no, its_count, its_total;
    if (!geodec_gguf_has(part, key_no) || !geodec_gguf_has(part, key_count))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: is not part %lld of the split model %s: key '%s' is missing", part->path,
                    (long long)i + 1, g->path, geodec_gguf_has(part, key_no) ? key_count : key_no);
    GEODEC_PASS(number_of(part, key_no, -1, &no, err));
    GEODEC_PASS(number_of(part, key_count, -1, &its_count, err));
    GEODEC_PASS(number_of(part, key_tensors, total, &its_total, err));
    if (no != i || its_count != count)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: is part %lld of %lld, not part %lld of %lld of the split model %s", part->path,
                    (long long)no + 1, (long long)its_count, (long long)i + 1, (long long)count, g->path);
    if (its_total != total)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: is a part of another model than %s: key '%s' is %lld, not %lld", part->path,
                    g->path, key_tensors, (long long)its_total, (long long)total);
    for (int64_t k = 0; k < part->n_keys; k++) {
        const geodec__gguf_key *its = &part->key[k], *ours = geodec__gguf_lookup(g, its->name);
        if (ours && strncmp(its->name, "split.", 6) != 0 && strcmp(its->name, "general.alignment") != 0 &&
            !same_value(ours, its))
            GEODEC_FAIL(GEODEC_FORMAT, "%s: is a part of another model than %s: key '%.100s' differs", part->path,
                        g->path, its->name);
    }
    return GEODEC_OK;
}

static geodec_status open_parts(geodec_gguf *g, const char *stem, int64_t count, int64_t total, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL, tail[TAIL];
    int64_t start = (int64_t)(g->map.size + PAGE - 1) / PAGE * PAGE + PAGE;
    GEODEC_NEW(g->more, count - 1);
    for (int64_t i = 1; i < count; i++) {
        geodec_mem_free(path);
        path = NULL;
        tail_of(tail, i, count);
        GEODEC_TRY(geodec_mem_print(&path, err, "%s%s", stem, tail));
        geodec_gguf *part = NULL;
        GEODEC_TRY_MSG(geodec__gguf_open_one(path, &part, err), "%s: part %lld of %lld", g->path, (long long)i + 1,
                       (long long)count);
        g->more[g->n_more++] = part;
        part->start = start;
        start += (int64_t)(part->map.size + PAGE - 1) / PAGE * PAGE + PAGE;
        GEODEC_TRY(check_part(g, part, i, count, total, err));
    }
done:
    geodec_mem_free(path);
    return st;
}

/* All tensors into g, whose names then belong to it. */
static geodec_status join_tensors(geodec_gguf *g, int64_t total, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t n = g->n_tensors;
    geodec_gguf_tensor *all = NULL, **order = NULL;
    for (int32_t i = 0; i < g->n_more; i++) n += g->more[i]->n_tensors;
    if (total >= 0 && n != total)
        GEODEC_THROW(GEODEC_FORMAT, "%s: its %d parts have %lld tensors, but key '%s' is %lld", g->path, g->n_more + 1,
                     (long long)n, key_tensors, (long long)total);
    if (n > GGUF_MAX_TENSORS) GEODEC_THROW(GEODEC_LIMIT, "%s: %lld tensors", g->path, (long long)n);
    GEODEC_NEW_EACH(n, all, order);
    int64_t at = g->n_tensors;
    if (at > 0) memcpy(all, g->tensor, (size_t)at * sizeof *all);
    for (int32_t i = 0; i < g->n_more; i++) {
        geodec_gguf *part = g->more[i];
        if (part->n_tensors > 0) memcpy(all + at, part->tensor, (size_t)part->n_tensors * sizeof *all);
        at += part->n_tensors;
        part->n_tensors = 0;
    }
    GEODEC_FREE(g->tensor, g->tensor_order);
    g->tensor = all;
    g->tensor_order = order;
    g->n_tensors = n;
    all = NULL;
    order = NULL;
    for (int64_t i = 0; i < n; i++) g->tensor_order[i] = &g->tensor[i];
    GEODEC_TRY(geodec__gguf_sort_tensors(g, err));
done:
    GEODEC_FREE(all, order);
    return st;
}

geodec_status geodec__gguf_join(geodec_gguf *g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t no, count, total;
    char tail[TAIL], *stem = NULL;
    GEODEC_TRY(number_of(g, key_count, 1, &count, err));
    GEODEC_TRY(number_of(g, key_no, 0, &no, err));
    GEODEC_TRY(number_of(g, key_tensors, -1, &total, err));
    if (count <= 1 || (no == 0 && total == g->n_tensors)) { /* one file, or the parts were joined and the keys kept */
        drop_keys(g);
        goto done;
    }
    if (count > MAX_PARTS || no < 0 || no >= count)
        GEODEC_THROW(GEODEC_FORMAT, "%s: keys '%s' and '%s': part %lld of %lld", g->path, key_no, key_count,
                     (long long)no + 1, (long long)count);
    tail_of(tail, no, count);
    stem = stem_of(g->path, no, count);
    if (no > 0) {
        char first[TAIL];
        tail_of(first, 0, count);
        GEODEC_THROW(GEODEC_FORMAT, "%s: is part %lld of %lld of a split model; give the first part, %s%s", g->path,
                     (long long)no + 1, (long long)count, stem ? stem : "*", first);
    }
    if (!stem)
        GEODEC_THROW(
            GEODEC_FORMAT,
            "%s: is part 1 of %lld of a split model, but its name does not end in %s, so the other parts cannot "
            "be found",
            g->path, (long long)count, tail);
    GEODEC_TRY(open_parts(g, stem, count, total, err));
    GEODEC_TRY(join_tensors(g, total, err));
    drop_keys(g);
done:
    geodec_mem_free(stem);
    return st;
}

const geodec_gguf *geodec__gguf_part_of(const geodec_gguf *g, const void *data)
{
    const uintptr_t at = (uintptr_t)data;
    for (int32_t i = -1; i < g->n_more; i++) {
        const geodec_gguf *part = i < 0 ? g : g->more[i];
        const uintptr_t base = (uintptr_t)part->map.data;
        if (at >= base && at - base < part->map.size) return part;
    }
    return NULL;
}

const char *geodec_gguf_part_at(const geodec_gguf *g, int32_t i, int64_t *start, int64_t *bytes)
{
    if (i < 0 || i > g->n_more) return NULL;
    const geodec_gguf *part = i == 0 ? g : g->more[i - 1];
    *start = part->start;
    *bytes = (int64_t)part->map.size;
    return part->path;
}

const char *geodec_gguf_path_of(const geodec_gguf *g, const void *data)
{
    const geodec_gguf *part = geodec__gguf_part_of(g, data);
    return part ? part->path : g->path;
}
