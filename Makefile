# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The short way to the usual things; CMake does the work (see CMakePresets.json).
#
#   make           libvyre and the command vyre, in build/dev
#   make demo      builds, then shows work flowing through the CPU backend
#   make test      builds, then runs the tests
#   make check     make test and everything else that must hold (see scripts/check)
#   make bench     an optimised build, then `vyre bench dispatch` and `vyre bench vm`
#   make install   an optimised build, installed under PREFIX (default /usr/local)
#   make docs      writes anew what is made from tables: three pages of docs/, vyre(1), bash completion
#   make format    lays the sources out
#   make clean     removes build/
#
# CC and CFLAGS count when a build directory is made; to change them later, make clean first.

PREFIX = /usr/local
DESTDIR =
JOBS = $(shell nproc)

all: build/dev/build.ninja
	@cmake --build build/dev --target vyre vyre_static vyre_cli vyre_host vyre_cuda_peers

demo: all
	@build/dev/bin/vyre demo --backend cpu

test: build/dev/build.ninja
	@cmake --build build/dev
	@ctest --preset dev -j $(JOBS)

check:
	@scripts/deps check
	@scripts/check

bench: build/release/build.ninja
	@cmake --build build/release --target vyre_cli vyre_host vyre_cuda_peers
	@build/release/bin/vyre bench dispatch
	@build/release/bin/vyre bench vm

install: build/release/build.ninja
	@cmake --build build/release --target vyre vyre_static vyre_cli vyre_host vyre_cuda_peers
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

docs:
	@scripts/gen-builtins-doc
	@scripts/gen-verify-doc
	@scripts/gen-bytecode-doc
	@scripts/gen-cli-docs

format:
	@scripts/check-format --fix

clean:
	rm -rf build

build/%/build.ninja: CMakePresets.json | deps
	@cmake --preset $*
	@touch $@

deps:
	@scripts/deps build

.PHONY: all demo test check bench install docs format clean deps
