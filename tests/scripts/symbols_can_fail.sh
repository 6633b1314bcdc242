#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# check-symbols on small trees and libraries, one fault in each.

# shellcheck source=tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"

mkdir -p "$work/include/vyre" "$work/src"
cat >"$work/include/vyre/a.h" <<'END'
#define VYRE_API __attribute__((visibility("default")))
/* VYRE_API int vyre_in_a_comment(void); */
VYRE_API int vyre_one(void);
VYRE_API const char *
vyre_two(int a, /* why */ int b);
END

# map <name>...: a symbol map with these names.
map() {
    {
        echo 'VYRE_0.1 {'
        echo 'global:'
        printf '    %s;\n' "$@"
        echo 'local:'
        echo '    *;'
        echo '};'
    } >"$work/src/libvyre.map"
}

# library <name>...: a shared library that exports these names.
library() {
    for name in "$@"; do
        echo "int $name(void); int $name(void) { return 0; }"
    done | "${CC-cc}" -shared -fPIC -o "$work/lib.so" -x c -
}

symbols() {
    "$scripts/check-symbols" "$work" "$@"
}

map vyre_one vyre_two
check "map and headers agree" 0 "" symbols
map vyre_one
check "one is missing in the map" 1 "vyre_two: declared in include/vyre, missing" symbols
map vyre_one vyre_three vyre_two
check "one too many in the map" 1 "vyre_three: in src/libvyre.map, declared nowhere" symbols
map vyre_one vyre_one vyre_two
check "one twice in the map" 1 "vyre_one: twice" symbols
map vyre_one vyre_two
library vyre_one vyre_two
check "the library agrees" 0 "" symbols "$work/lib.so"
library vyre_one
check "one is not exported" 1 "vyre_two: in src/libvyre.map, not exported" symbols "$work/lib.so"
library vyre_one vyre_two other
check "one too many is exported" 1 "other: exported by libvyre.so" symbols "$work/lib.so"
rm "$work/include/vyre/a.h"
echo >"$work/include/vyre/a.h"
map
check "no declarations at all" 1 "no declarations found" symbols
tap_done
