#include "io/h5.h"

#include "base/mem.h"
#include "base/memory_limit.h"
#include "io/file.h"
#include "io/h5_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

void geodec_io_init(void)
{
    /* Disables HDF5's clean-up at exit: every handle is closed by its owner, and the clean-up crashes after a flush
     * that failed on a full disk. The call fails once HDF5 runs, that is on later calls. */
    (void)H5dont_atexit();
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    (void)H5PLset_loading_state(0); /* a file may name a filter, but no plug-in is loaded for it */
}

static geodec_io_guard guard;

void geodec_io_set_guard(const geodec_io_guard *g) { guard = g ? *g : (geodec_io_guard){0}; }

static void (*when_unsafe)(const char *what);

void geodec_io_set_unsafe(void (*unsafe)(const char *what)) { when_unsafe = unsafe; }

void geodec__h5_enter(const char *path, bool few)
{
    if (guard.enter) guard.enter(path, few);
}

void geodec__h5_leave(void)
{
    if (guard.leave) guard.leave();
}

/* ---- errors ----------------------------------------------------------------------------------------------------- */

/* the first visited entry is the innermost. */
static herr_t take_first(unsigned n, const H5E_error2_t *e, void *out)
{
    const char **text = out;
    if (n == 0) *text = e->desc;
    return 0;
}

/* Whether a reason says nothing about the contents of the file. (A damaged file causes others, such as EINVAL.) */
static bool of_the_system(const char *reason)
{
    static const int errors[] = {EIO, EINTR, EMFILE, ENFILE, ENOMEM, ESTALE};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(reason, strerror(errors[i])) == 0) return true;
    return false;
}

bool geodec__h5_room(void)
{
    enum { ROOM = 8 << 20 }; /* a chunk before and after its filters, and caches */
    if (!geodec_memory_limit_address_space()) return true;
    void *room = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room != MAP_FAILED) return munmap(room, ROOM) == 0;
    (void)H5Eclear2(H5E_DEFAULT); /* the reasons of an earlier call */
    return false;
}

geodec_status geodec__h5_fail(geodec_err *err, geodec_status s, const char *func, int line, const char *fmt, ...)
{
    char text[GEODEC_ERR_TEXT], why[128] = "";
    const char *inner = NULL;
    geodec_status st;
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &inner);
    /* HDF5 adds time, address and file name to the system's reason; only the reason is kept. */
    static const char key[] = "error message = '";
    const char *system = inner ? strstr(inner, key) : NULL;
    if (system) {
        const char *reason = system + sizeof key - 1;
        (void)snprintf(why, sizeof why, ": %.*s", (int)strcspn(reason, "'"), reason);
        if ((s == GEODEC_FORMAT || s == GEODEC_CHECKSUM) && of_the_system(why + 2)) s = GEODEC_IO;
    }
    /* Without a limit of the address space only a damaged file asks for more memory than there is. With one, HDF5 may
     * have no memory for its reason either. Copies of property lists do not depend on the file. */
    if ((!inner || strstr(inner, "alloc") || strstr(inner, "property list")) && geodec_memory_limit_address_space())
        s = GEODEC_NOMEM;
    if (!system && inner && *inner) (void)snprintf(why, sizeof why, " (HDF5: %s)", inner);
    st = geodec_err_set(err, s, func, line, "%.*s%s", (int)(sizeof text - sizeof why), text, why);
    /* A reason of the system is an error of the disk, after which HDF5 is sound. */
    const bool unsafe = s == GEODEC_NOMEM || (!system && (s == GEODEC_IO || s == GEODEC_INTERNAL));
    if (unsafe && when_unsafe && geodec_memory_limit_address_space()) {
        char said[sizeof text + sizeof why];
        (void)snprintf(said, sizeof said, "%s%s", text, why);
        when_unsafe(said);
    }
    return st;
}

herr_t geodec__h5_close(hid_t id)
{
    if (id < 0) return 0;
    switch (H5Iget_type(id)) {
    case H5I_FILE:
        return H5Fclose(id);
    case H5I_GROUP:
        return H5Gclose(id);
    case H5I_DATASET:
        return H5Dclose(id);
    case H5I_DATASPACE:
        return H5Sclose(id);
    case H5I_DATATYPE:
        return H5Tclose(id);
    case H5I_ATTR:
        return H5Aclose(id);
    case H5I_GENPROP_LST:
        return H5Pclose(id);
    default:
        return -1;
    }
}

/* ---- types ------------------------------------------------------------------------------------------------------ */

hid_t geodec__h5_file_type(geodec_type t)
{
    switch (t) {
    case GEODEC_F64:
        return H5T_IEEE_F64LE;
    case GEODEC_F32:
        return H5T_IEEE_F32LE;
    case GEODEC_F16:
    case GEODEC_BF16:
    case GEODEC_U16:
        return H5T_STD_U16LE;
    case GEODEC_I64:
        return H5T_STD_I64LE;
    case GEODEC_I32:
        return H5T_STD_I32LE;
    case GEODEC_I16:
        return H5T_STD_I16LE;
    case GEODEC_I8:
        return H5T_STD_I8LE;
    case GEODEC_U64:
        return H5T_STD_U64LE;
    case GEODEC_U32:
        return H5T_STD_U32LE;
    case GEODEC_U8:
        return H5T_STD_U8LE;
    }
    return -1;
}

hid_t geodec__h5_memory_type(geodec_type t)
{
    switch (t) {
    case GEODEC_F64:
        return H5T_NATIVE_DOUBLE;
    case GEODEC_F32:
        return H5T_NATIVE_FLOAT;
    case GEODEC_F16:
    case GEODEC_BF16:
    case GEODEC_U16:
        return H5T_NATIVE_UINT16;
    case GEODEC_I64:
        return H5T_NATIVE_INT64;
    case GEODEC_I32:
        return H5T_NATIVE_INT32;
    case GEODEC_I16:
        return H5T_NATIVE_INT16;
    case GEODEC_I8:
        return H5T_NATIVE_INT8;
    case GEODEC_U64:
        return H5T_NATIVE_UINT64;
    case GEODEC_U32:
        return H5T_NATIVE_UINT32;
    case GEODEC_U8:
        return H5T_NATIVE_UINT8;
    }
    return -1;
}

/* ---- attributes ------------------------------------------------------------------------------------------------- */

static bool is_control(unsigned char c) { return (c < 0x20 && c != '\t' && c != '\n') || c == 0x7f; }

/* Valid UTF-8 whose only control characters are tabulator and newline: safe for a terminal. */
static bool plain_text(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_control((unsigned char)text[i])) return false;
    return geodec_file_utf8_check(text, n) < 0;
}

void geodec__h5_make_plain(char *text)
{
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (is_control((unsigned char)text[i])) text[i] = '?';
    for (int64_t at; (at = geodec_file_utf8_check(text, n)) >= 0;) text[at] = '?';
}

static hid_t text_type(size_t room)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    if (type < 0) return type;
    if (H5Tset_size(type, room) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0 ||
        H5Tset_strpad(type, H5T_STR_NULLPAD) < 0) {
        (void)H5Tclose(type);
        return -1;
    }
    return type;
}

static geodec_status put(hid_t object, const char *name, hid_t file_type, hid_t memory_type, hid_t space, const void *v,
                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t attr = -1;
    GEODEC__H5(attr = H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT), GEODEC_IO,
               "cannot create attribute %s", name);
    if (v) GEODEC__H5(H5Awrite(attr, memory_type, v), GEODEC_IO, "cannot write attribute %s", name);
done:
    (void)geodec__h5_close(attr);
    return st;
}

geodec_status geodec__h5_put_number(hid_t object, const char *name, hid_t file_type, hid_t memory_type, const void *v,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const hid_t space = H5Screate(H5S_SCALAR);
    GEODEC__H5(space, GEODEC_IO, "cannot create attribute %s", name);
    GEODEC_TRY(put(object, name, file_type, memory_type, space, v, err));
done:
    (void)geodec__h5_close(space);
    return st;
}

geodec_status geodec__h5_put_text(hid_t object, const char *name, const char *text, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t type = -1;
    const size_t n = strlen(text);
    if (n > GEODEC_ATTR_TEXT_MAX)
        GEODEC_THROW(GEODEC_LIMIT, "attribute %s: %zu bytes of text are above the limit of %d", name, n,
                     GEODEC_ATTR_TEXT_MAX);
    if (!plain_text(text, n))
        GEODEC_THROW(GEODEC_INVAL, "attribute %s: text is not UTF-8 without control characters", name);
    GEODEC__H5(type = text_type(n ? n : 1), GEODEC_IO, "cannot create attribute %s", name);
    GEODEC_TRY(geodec__h5_put_number(object, name, type, type, text, err));
done:
    (void)geodec__h5_close(type);
    return st;
}

geodec_status geodec__h5_put_texts(hid_t object, const char *name, int n, const char *texts, size_t stride,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t type = -1, space = -1;
    const hsize_t count = (hsize_t)n;
    GEODEC__H5(type = text_type(stride), GEODEC_IO, "cannot create attribute %s", name);
    GEODEC__H5(space = n ? H5Screate_simple(1, &count, NULL) : H5Screate(H5S_NULL), GEODEC_IO,
               "cannot create attribute %s", name);
    GEODEC_TRY(put(object, name, type, type, space, n ? texts : NULL, err));
done:
    (void)geodec__h5_close(type);
    (void)geodec__h5_close(space);
    return st;
}

/* Opens an attribute and reads its size. count: elements, 0 for an empty one. */
static geodec_status open_attr(hid_t object, const char *name, hid_t *attr, hid_t *type, int64_t *count,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t a = -1, t = -1, space = -1;
    const htri_t there = H5Aexists(object, name);
    GEODEC__H5(there, GEODEC_FORMAT, "attribute %s", name);
    if (!there) GEODEC_THROW(GEODEC_FORMAT, "attribute %s is missing", name);
    GEODEC__H5(a = H5Aopen(object, name, H5P_DEFAULT), GEODEC_FORMAT, "attribute %s", name);
    GEODEC__H5(t = H5Aget_type(a), GEODEC_FORMAT, "attribute %s", name);
    GEODEC__H5(space = H5Aget_space(a), GEODEC_FORMAT, "attribute %s", name);
    const H5S_class_t extent = H5Sget_simple_extent_type(space);
    const hssize_t n = extent == H5S_NULL ? 0 : H5Sget_simple_extent_npoints(space);
    GEODEC__H5(n, GEODEC_FORMAT, "attribute %s", name);
    *attr = a;
    *type = t;
    *count = (int64_t)n;
    a = t = -1;
done:
    (void)geodec__h5_close(space);
    (void)geodec__h5_close(t);
    (void)geodec__h5_close(a);
    return st;
}

/* Bytes of a fixed-length text type. */
static geodec_status text_room(hid_t type, const char *name, size_t *room, geodec_err *err)
{
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0)
        GEODEC_FAIL(GEODEC_FORMAT, "attribute %s is not fixed-length text", name);
    const size_t n = H5Tget_size(type);
    if (n < 1 || n > GEODEC_ATTR_TEXT_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "attribute %s: %zu bytes of text are above the limit of %d", name, n,
                    GEODEC_ATTR_TEXT_MAX);
    *room = n;
    return GEODEC_OK;
}

geodec_status geodec__h5_get_text(hid_t object, const char *name, char **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t attr = -1, type = -1;
    int64_t count = 0;
    size_t room = 0;
    char *text = NULL;
    GEODEC_TRY(open_attr(object, name, &attr, &type, &count, err));
    GEODEC_TRY(text_room(type, name, &room, err));
    if (count != 1) GEODEC_THROW(GEODEC_FORMAT, "attribute %s has %lld elements, not 1", name, (long long)count);
    GEODEC_NEW(text, (int64_t)room + 1);
    GEODEC__H5(H5Aread(attr, type, text), GEODEC_FORMAT, "attribute %s", name);
    if (!plain_text(text, strlen(text))) GEODEC_THROW(GEODEC_FORMAT, "attribute %s is not plain UTF-8 text", name);
    *out = text;
    text = NULL;
done:
    geodec_mem_free(text);
    (void)geodec__h5_close(type);
    (void)geodec__h5_close(attr);
    return st;
}

geodec_status geodec__h5_get_texts(hid_t object, const char *name, int n_max, char *texts, size_t stride, int *n,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t attr = -1, type = -1;
    int64_t count = 0;
    size_t room = 0;
    char *all = NULL;
    GEODEC_TRY(open_attr(object, name, &attr, &type, &count, err));
    GEODEC_TRY(text_room(type, name, &room, err));
    if (count > n_max)
        GEODEC_THROW(GEODEC_LIMIT, "attribute %s has %lld elements, above the limit of %d", name, (long long)count,
                     n_max);
    if (room > stride)
        GEODEC_THROW(GEODEC_LIMIT, "attribute %s: %zu bytes of text are above the limit of %zu", name, room, stride);
    GEODEC_NEW(all, count * (int64_t)room);
    if (count) GEODEC__H5(H5Aread(attr, type, all), GEODEC_FORMAT, "attribute %s", name);
    for (int64_t i = 0; i < count; i++) {
        char *to = texts + (size_t)i * stride;
        memset(to, 0, stride);
        memcpy(to, all + (size_t)i * room, room);
        to[stride - 1] = '\0';
        if (!plain_text(to, strlen(to))) GEODEC_THROW(GEODEC_FORMAT, "attribute %s is not plain UTF-8 text", name);
    }
    *n = (int)count;
done:
    geodec_mem_free(all);
    (void)geodec__h5_close(type);
    (void)geodec__h5_close(attr);
    return st;
}

geodec_status geodec__h5_get_number(hid_t object, const char *name, hid_t file_type, hid_t memory_type, void *v,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    hid_t attr = -1, type = -1;
    int64_t count = 0;
    GEODEC_TRY(open_attr(object, name, &attr, &type, &count, err));
    if (H5Tequal(type, file_type) <= 0) GEODEC_THROW(GEODEC_FORMAT, "attribute %s has another number type", name);
    if (count != 1) GEODEC_THROW(GEODEC_FORMAT, "attribute %s has %lld elements, not 1", name, (long long)count);
    GEODEC__H5(H5Aread(attr, memory_type, v), GEODEC_FORMAT, "attribute %s", name);
done:
    (void)geodec__h5_close(type);
    (void)geodec__h5_close(attr);
    return st;
}
