#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# scripts/deps with a PATH of our own, in which things are missing and the installers are ours: what
# it says, what it would run, and how it exits.

# shellcheck source=tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"

bin=$work/bin
log=$work/log

# tool <name> <script>: a command in our PATH.
tool() {
    printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

# system <user id>: a system with everything there, whose apt-get writes down how it was called.
system() {
    rm -rf "$bin" "$log"
    mkdir "$bin"
    : >"$log"
    for name in sh awk cat env grep head mktemp rm sed sort tr; do
        ln -s "$(command -v "$name")" "$bin/$name"
    done
    for name in cc make cmake ninja pkg-config gcc g++ spin shellcheck mandoc clang-format-14; do
        tool "$name" 'exit 0'
    done
    mkdir -p "$work/clang/lib/linux"
    : >"$work/clang/lib/linux/libclang_rt.fuzzer-x86_64.a"
    tool clang "echo $work/clang"
    tool id "echo $1"
    tool apt-get "echo \"\$*\" >>$log"
    tool apt-cache 'echo Package: something'
}

# no_header <name>: a compiler that finds every header but this one.
no_header() {
    tool cc "! grep -q '$1'"
}

deps() {
    PATH=$bin "$scripts/deps" "$@"
}

# Fails where the command says anything at all.
silent() {
    said=$("$@" 2>&1)
    code=$?
    [ -z "$said" ] || return 99
    return "$code"
}

installed() {
    grep -c "^-q -y $1" "$log"
}

system 0
check "nothing missing, nothing said" 0 "" silent deps check
check "and nothing done" 1 0 grep -c . "$log"
check "no set" 2 "usage" deps
check "another set" 2 "usage" deps everything
check "two sets" 2 "usage" deps build check

no_header liburing.h
rm "$bin/spin"
check "root: says what it installs" 0 "installing Debian packages: liburing-dev" deps build
check "root: installs it" 0 1 installed 'install --no-install-recommends liburing-dev$'
check "root: no update where none is needed" 1 0 installed update
check "check: also what only check needs" 0 "packages: liburing-dev spin" deps check

tool apt-get "echo \"\$*\" >>$log; case \$* in *update*) : >$work/updated ;; esac; test -e $work/updated"
: >"$log"
check "stale lists: still installs" 0 "installing" deps build
check "stale lists: updates once" 0 1 installed update
check "stale lists: tries twice" 0 2 installed install
tool apt-get 'echo no network >&2; exit 100'
check "apt-get fails: says what to run" 3 "run: sudo apt-get install liburing-dev" deps build
check "apt-get fails: shows why" 3 "no network" deps build

system 1000
no_header liburing.h
check "no root, no sudo: one line" 3 "deps: missing packages; run: sudo apt-get install liburing-dev" \
    deps build
tool sudo 'exit 1'
check "sudo with a password: the same line" 3 "run: sudo apt-get install liburing-dev" deps build
check "and nothing done" 1 0 grep -c . "$log"
tool sudo 'shift; exec "$@"'
tool true 'exit 0'
check "sudo without one" 0 "installing Debian packages: liburing-dev" deps build
check "sudo without one: installs it" 0 1 installed 'install --no-install-recommends liburing-dev$'

system 0
no_header liburing.h
rm "$bin/apt-get"
check "no apt-get: names the packages" 3 "liburing" deps build
tap_done
