#include "base/mem.h"
#include "integer/engine/network_file.h"
#include "io/file.h"
#include "session/streamed_internal.h"
#include "session/ternary_internal.h"

#include <string.h>

/* The weights of a file in integers. Its configuration must be that of the keys. */
static geodec_status read_integers(geodec_model *m, const geodec_model_open_options *o, geodec_err *err)
{
    GEODEC_PASS(geodec_network_file_read(m->gguf, o->pool, o->digest, &m->network, err));
    const geodec_network_config *n = &m->network->config;
    geodec_model_config *c = &m->config;
    c->tied = n->tied;
    if (n->n_layer != c->n_layer || n->d_model != c->d_model || n->n_vocab != c->n_vocab ||
        n->n_expert != c->n_expert || n->n_expert_used != c->n_expert_used)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: the integers are of another model than the keys", geodec_gguf_path(m->gguf));
    return GEODEC_OK;
}

/* Takes over g, and the content of *store (NULL: a plain GGUF), on failure too. */
static geodec_status from_parts(geodec_gguf *g, geodec_store *store, geodec__trits *trits,
                                const geodec_model_open_options *o, geodec_model **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *path = geodec_gguf_path(g);
    geodec_model *m = geodec_mem_new(1, sizeof *m);
    if (!m) {
        geodec_gguf_close(g);
        GEODEC_THROW(GEODEC_NOMEM, "no memory for a model");
    }
    m->gguf = g;
    m->arena.limit = INT64_MAX; /* each piece is limited by the tensors of the file */
    GEODEC_NEW(m->lazy, 1);
    pthread_mutex_init(m->lazy, NULL);
    if (store) {
        GEODEC_NEW(m->store, 1);
        GEODEC_MOVE(*m->store, *store);
        memcpy(m->fingerprint, m->store->fingerprint, sizeof m->fingerprint);
    }
    if (trits) {
        GEODEC_NEW(m->trits, 1);
        GEODEC_MOVE(*m->trits, *trits);
    }
    const bool integers = geodec_network_file_is(g);
    GEODEC_TRY(geodec__config_read(g, &m->config, err));
    GEODEC_TRY(geodec_tokenizer_from_gguf(g, &m->tokenizer, err));
    const int32_t n_vocab = geodec_tokenizer_size(m->tokenizer);
    if (m->config.n_vocab && m->config.n_vocab != n_vocab)
        GEODEC_THROW(GEODEC_FORMAT, "%s: key '%s.vocab_size' is %d, but the tokenizer has %d tokens", path,
                     m->config.arch, m->config.n_vocab, n_vocab);
    m->config.n_vocab = n_vocab;
    if (integers)
        GEODEC_TRY(read_integers(m, o, err));
    else
        GEODEC_TRY(geodec__weights_bind(m, err));
    const char *slash = strrchr(path, '/');
    m->name = slash ? slash + 1 : path;
    if (geodec_gguf_has(g, "general.name")) GEODEC_TRY(geodec_gguf_get_str(g, "general.name", &m->name, err));
    *out = m;
    m = NULL;
done:
    if (store) geodec_store_clear(store);
    if (trits) geodec__ternary_store_clear(trits);
    geodec_model_close(m);
    return st;
}

geodec_status geodec_model_from_gguf(geodec_gguf *g, geodec_model **out, geodec_err *err)
{
    return from_parts(g, NULL, NULL, &(geodec_model_open_options){0}, out, err);
}

static geodec_status open_store(const char *path, geodec_model **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_store s = {0};
    geodec_gguf *g = NULL;
    GEODEC_TRY(geodec_store_read(path, &s, err));
    GEODEC_TRY(geodec_gguf_open_part(path, s.resident_offset, s.resident_bytes, &g, err));
    GEODEC_TRY(from_parts(g, &s, NULL, &(geodec_model_open_options){0}, out, err));
done:
    geodec_store_clear(&s);
    return st;
}

static geodec_status open_trits(const char *folder, const geodec_model_open_options *o, geodec_model **out,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_store s = {0};
    geodec__trits t = {0};
    geodec_gguf *g = NULL;
    char *path = NULL, *table = NULL;
    GEODEC_TRY(geodec__ternary_store_open(folder, &s, &t, &path, err));
    if (o->digest) {
        GEODEC_TRY(geodec_mem_print(&table, err, "%s/%s", folder, GEODEC_TRIT_TABLE_NAME));
        GEODEC_TRY(geodec_file_sha256(table, o->digest, err));
    }
    GEODEC_TRY(geodec_gguf_open(path, &g, err));
    if (geodec_gguf_file_bytes(g) != s.resident_bytes) {
        st = geodec_err_set(err, GEODEC_CHECKSUM, __func__, __LINE__, "%s: has %lld bytes, and the table %lld", path,
                            (long long)geodec_gguf_file_bytes(g), (long long)s.resident_bytes);
        geodec_gguf_close(g);
        goto done;
    }
    GEODEC_TRY(from_parts(g, &s, &t, &(geodec_model_open_options){0}, out, err));
done:
    geodec_store_clear(&s);
    geodec__ternary_store_clear(&t);
    GEODEC_FREE(path, table);
    return st;
}

geodec_status geodec_model_open(const char *path, geodec_model **out, geodec_err *err)
{
    return geodec_model_open_with(path, &(geodec_model_open_options){0}, out, err);
}

geodec_status geodec_model_open_with(const char *path, const geodec_model_open_options *o, geodec_model **out,
                                     geodec_err *err)
{
    if (geodec_trit_table_is(path)) return open_trits(path, o, out, err);
    if (geodec_store_is(path)) {
        if (o->digest) GEODEC_PASS(geodec_file_sha256(path, o->digest, err));
        return open_store(path, out, err);
    }
    geodec_gguf *g = NULL;
    GEODEC_PASS(geodec_gguf_open(path, &g, err));
    if (o->digest && !geodec_network_file_is(g)) geodec_gguf_file_digest(g, o->digest);
    return from_parts(g, NULL, NULL, o, out, err);
}

void geodec_model_close(geodec_model *m)
{
    if (!m) return;
    for (int kind = 0; kind < GEODEC__PREPARE_KINDS; kind++)
        for (int a = 0; a < GEODEC_ARITHMETICS; a++) geodec__prepare_free(m->prepared[kind][a]);
    geodec_tokenizer_destroy(m->tokenizer);
    geodec_gguf_close(m->gguf);
    if (m->store) geodec_store_clear(m->store);
    if (m->trits) geodec__ternary_store_clear(m->trits);
    GEODEC_FREE(m->unread, m->layer, m->factors, m->store, m->trits);
    geodec__lowkv_free(m->low);
    geodec_network_free(m->network);
    geodec__streamed_free(m->streamed);
    geodec__arena_free(&m->arena);
    if (m->lazy) pthread_mutex_destroy(m->lazy);
    GEODEC_FREE(m->lazy, m);
}

const geodec_model_config *geodec_model_configuration(const geodec_model *m) { return &m->config; }

geodec_model_size geodec_model_size_of(const geodec_model *m)
{
    const geodec_model_config *c = &m->config;
    return (geodec_model_size){c->n_layer, c->d_model, c->n_vocab, c->n_ctx, c->n_expert, c->n_expert_used};
}
const geodec_tokenizer *geodec_model_tokenizer(const geodec_model *m) { return m->tokenizer; }
const char *geodec_model_fingerprint(const geodec_model *m)
{
    pthread_mutex_lock(m->lazy);
    if (!m->fingerprint[0]) geodec_gguf_tensor_digest(m->gguf, ((geodec_model *)(uintptr_t)m)->fingerprint);
    pthread_mutex_unlock(m->lazy);
    return m->fingerprint;
}

const char *geodec_model_unread(const geodec_model *m, int64_t i)
{
    return i >= 0 && i < m->n_unread ? m->unread[i] : NULL;
}

const char *geodec_model_name(const geodec_model *m) { return m->name; }
const geodec_gguf *geodec_model_gguf(const geodec_model *m) { return m->gguf; }
const char *geodec_model_path(const geodec_model *m)
{
    return m->store ? m->store->blobs.path : geodec_gguf_path(m->gguf);
}

int64_t geodec_model_store_bytes(const geodec_model *m)
{
    int64_t sum = 0;
    for (int32_t i = 0; m->store && i < m->config.n_layer; i++) {
        const geodec__layer *l = &m->layer[i];
        if (!l->router.data) continue;
        sum += l->gate.rows * l->gate.row_bytes + l->up.rows * l->up.row_bytes + l->down.rows * l->down.row_bytes;
    }
    return sum * m->config.n_expert;
}

geodec_status geodec__model_resident(const geodec_model *m, geodec_err *err)
{
    if (!m->layer)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: has weights in integers; this needs the file from which it was made",
                    geodec_gguf_path(m->gguf));
    if (m->store)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: is a store of experts; this needs the GGUF file from which it was built",
                    geodec_gguf_path(m->gguf));
    return GEODEC_OK;
}

int32_t geodec_argmax(const float *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return (int32_t)best;
}

int32_t geodec_largest(const float *x, int32_t n, int32_t m, int32_t *id, float *value)
{
    int32_t have = 0;
    for (int32_t i = 0; i < n; i++) {
        if (have == m && !(x[i] > value[m - 1])) continue;
        int32_t at = have < m ? have++ : m - 1;
        for (; at > 0 && x[i] > value[at - 1]; at--) {
            value[at] = value[at - 1];
            id[at] = id[at - 1];
        }
        value[at] = x[i];
        id[at] = i;
    }
    return have;
}
