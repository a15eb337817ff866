# Toolchain and profiles. PROFILE = release | debug | asan | ubsan | tsan; each has its own tree build/<profile>/.
-include mk/config.mk

PROFILE ?= release
ifeq ($(origin CC),default)
CC := gcc
endif
AR ?= ar
prefix ?= /usr/local
PREFIX ?= $(prefix)
bindir ?= $(PREFIX)/bin
libdir ?= $(PREFIX)/lib
includedir ?= $(PREFIX)/include
mandir ?= $(PREFIX)/share/man
datadir ?= $(PREFIX)/share/geodec
bashcompdir ?= $(PREFIX)/share/bash-completion/completions
zshcompdir ?= $(PREFIX)/share/zsh/site-functions
fishcompdir ?= $(PREFIX)/share/fish/vendor_completions.d

# Where the tools find their library, from their own folder.
TOOLS_RPATH := $(if $(filter-out $(PREFIX)/bin $(PREFIX)/lib,$(bindir) $(libdir)),$(shell realpath -m --relative-to='$(bindir)' '$(libdir)/geodec'),../lib/geodec)
# Programs and libraries are installed without symbols; a package that keeps them for itself gives INSTALL_PROGRAM and STRIP_ARCHIVE (debian/rules).
INSTALL_PROGRAM ?= install -s -m 755
STRIP_ARCHIVE ?= strip -D -g

VERSION := $(file <VERSION)
SOVERSION := $(firstword $(subst ., ,$(VERSION)))
# LAB=0: without the laboratory: its archive, its tools and their tests.
LAB ?= 1
B := build/$(PROFILE)$(if $(filter 0,$(LAB)),-runtime)

# Warnings are errors; a package, whose compilers and flags vary, is built with WERROR= (debian/rules).
WERROR ?= -Werror
# Rows of tables omit their last members; this gives no warning.
WARN := -Wall -Wextra $(WERROR) -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith -Wcast-qual \
        -Wwrite-strings -Wundef -Wformat=2 -Wno-missing-field-initializers
# Where a variable lies at each instruction of optimised code is a fifth of gcc's time; lines, types and functions stay.
OPT_release := -O2 -g -fno-var-tracking
OPT_debug   := -O0 -g -DGEODEC_DEBUG
OPT_asan    := -O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined -DGEODEC_DEBUG
# All overflow of signed integers and all shifts, in code that is otherwise optimised as in the release. The checks hide from gcc that some
# arrays are filled before they are read.
OPT_ubsan   := -O2 -g -fsanitize=signed-integer-overflow,shift -fno-sanitize-recover=undefined -Wno-maybe-uninitialized
OPT_tsan    := -O1 -g -fsanitize=thread -fno-omit-frame-pointer -DGEODEC_DEBUG
LD_asan     := -fsanitize=address,undefined
LD_ubsan    := -fsanitize=signed-integer-overflow,shift
LD_tsan     := -fsanitize=thread

# A value that costs a process is found when it is first needed: most runs of make compile nothing.
#   NAME = $(call once,NAME,VALUE)
once = $(eval $1 := $$2)$($1)
# Headers of packages give no warnings.
cflags_of = $(shell pkg-config --cflags $1 2>/dev/null | sed 's/-I/-isystem /g')
PKGS := hdf5-serial zlib openblas gsl jansson libpcre2-8 nettle sqlite3 liburing
PKG_CFLAGS = $(call once,PKG_CFLAGS,$(call cflags_of,$(filter-out gsl,$(PKGS))))
# OpenBLAS contains LAPACK, and is also used in place of gslcblas. From LAPACKE only the header with the prototypes of LAPACK is taken.
PKG_LIBS = $(call once,PKG_LIBS,$(shell pkg-config --libs $(filter-out gsl openblas,$(PKGS)) 2>/dev/null) $(shell pkg-config --libs openblas 2>/dev/null) -lgsl -lpthread -lm)
# The editor of lines on a terminal; only the tools that read them are linked with it (mk/rules.mk).
EDIT_CFLAGS = $(call once,EDIT_CFLAGS,$(call cflags_of,libedit))
EDIT_LIBS = $(call once,EDIT_LIBS,$(shell pkg-config --libs libedit 2>/dev/null))

# A header is named by its folder, without the room; the laboratory is named.
ROOM_DIRS := -Ilibcommon -Ilibcommon/core -Ilibcommon/geometry -Ilibcommon/model -Ilibcommon/decode
CPPFLAGS += $(ROOM_DIRS) -D_GNU_SOURCE $(PKG_CFLAGS)
CFLAGS_ALL = -std=c11 $(WARN) $(OPT_$(PROFILE)) -ffp-contract=off -fno-math-errno -fvisibility=protected -fPIC -pthread $(CFLAGS) $(OPT_LAST)
LDFLAGS_ALL = $(LD_$(PROFILE)) -pthread $(LDFLAGS)

# Vector variants live in files named *_avx2.c, *_avx512.c, *_vnni.c, *_ifma.c and *_vbmi.c; the dispatcher calls them only if the CPU supports them.
SIMD_avx2   := -mavx2 -mfma -mf16c
SIMD_avx512 := -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mf16c
SIMD_vnni   := $(SIMD_avx512) -mavx512vnni
SIMD_ifma   := $(SIMD_avx512) -mavx512ifma
SIMD_vbmi   := $(SIMD_avx512) -mavx512vnni -mavx512ifma -mavx512vbmi
simd_flags = $(if $(filter %_vbmi.c,$1),$(SIMD_vbmi))$(if $(filter %_ifma.c,$1),$(SIMD_ifma))$(if $(filter %_vnni.c,$1),$(SIMD_vnni))$(if $(filter %_avx512.c,$1),$(SIMD_avx512),$(if $(filter %_avx2.c,$1),$(SIMD_avx2)))

ifeq ($(V),1)
Q :=
say :=
else
Q := @
say = @echo "  $1" $2
endif

# MPI is optional: the driver is a shared object of its own (libcommon/core/cluster/mpi), made where pkg-config finds Open MPI.
MPI_PKG ?= ompi-c
MPI_FOUND := $(shell pkg-config --exists $(MPI_PKG) 2>/dev/null && echo yes)
MPI_CFLAGS = $(call once,MPI_CFLAGS,$(call cflags_of,$(MPI_PKG)))
MPI_LIBS = $(call once,MPI_LIBS,$(shell pkg-config --libs $(MPI_PKG) 2>/dev/null))
