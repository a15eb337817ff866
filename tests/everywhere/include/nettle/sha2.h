/* Stands in for nettle's header in builds for another architecture (mk/everywhere.mk): what libcommon/core/base uses of
 * it.
 */
#ifndef EVERYWHERE_NETTLE_SHA2_H
#define EVERYWHERE_NETTLE_SHA2_H

#include "../../small_sha256.h"

#define SHA256_DIGEST_SIZE 32
#define sha256_ctx small_sha256
#define sha256_init small_sha256_init
#define sha256_update small_sha256_update
#define sha256_digest small_sha256_digest

#endif
