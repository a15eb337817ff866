/* All public headers of libgeodec. */
#ifndef GEODEC_H
#define GEODEC_H

#include "base/clock.h"
#include "base/err.h"
#include "base/f16.h"
#include "base/hooks.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/version.h"
#include "decode/draft.h"
#include "decode/guard.h"
#include "geometry/activations.h"
#include "geometry/rbf.h"
#include "geometry/space.h"
#include "gguf/gguf.h"
#include "io/artifact.h"
#include "io/atomic.h"
#include "io/file.h"
#include "io/h5.h"
#include "linalg/blas.h"
#include "linalg/chol.h"
#include "linalg/eig.h"
#include "linalg/expm.h"
#include "linalg/lapack.h"
#include "linalg/svd.h"
#include "tokenizer/tokenizer.h"

#endif
