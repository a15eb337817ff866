#include "geodec/err.h"

static const struct {
    const char *name, *text;
    int code;
} table[] = {
#define X(name, text, code) {#name, text, code},
    GEODEC_STATUS_LIST(X)
#undef X
};

static int known(geodec_status s) { return (unsigned)s < (unsigned)GEODEC_STATUS_COUNT; }

const char *geodec_status_name(geodec_status s) { return known(s) ? table[s].name : "?"; }
const char *geodec_status_text(geodec_status s) { return known(s) ? table[s].text : "unknown status"; }
int geodec_status_exit(geodec_status s) { return known(s) ? table[s].code : 1; }
