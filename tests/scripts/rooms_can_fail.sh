#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# check-rooms on small trees, one fault in each.

# shellcheck source=tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"

# tree <file> <line>: a good tree, with one line added to one file.
tree() {
    rm -rf "$work/tree"
    for directory in include/vyre src/base src/wire src/lang src/vm src/runtime cli; do
        mkdir -p "$work/tree/$directory"
    done
    cd "$work/tree" || exit 1
    echo '#include <stdint.h>' >include/vyre/status.h
    echo '#include "vyre/status.h"' >src/base/error.h
    echo '#include "base/error.h"' >src/wire/slot.h
    echo '#include "slot.h"' >src/wire/slot.c
    echo '#include "wire/slot.h"' >src/vm/vm.h
    echo '#include "wire/slot.h"' >src/lang/lexer.h
    echo '#include "vm/vm.h"' >src/runtime/open.c
    echo '#include <vyre/status.h>' >cli/main.c
    [ $# = 0 ] || echo "$2" >>"$1"
}

rooms() {
    "$scripts/check-rooms" "$work/tree"
}

tree
check "a tree in order passes" 0 "0 out of order" rooms
tree src/base/error.h '#include "wire/slot.h"'
check "a higher room" 1 "src/base/error.h:2: room base includes src/wire/slot.h" rooms
tree src/base/error.h '#  include  "../wire/slot.h"'
check "a higher room by a relative path" 1 "of a higher room" rooms
tree src/base/error.h '#include <wire/slot.h>'
check "a higher room in angle brackets" 1 "of a higher room" rooms
tree src/lang/lexer.h '#include "vm/vm.h"'
check "a room beside" 1 "of a room beside it" rooms
tree include/vyre/status.h '#include "base/error.h"'
check "a public header that needs a private one" 1 "a public header includes" rooms
tree cli/main.c '#include "base/error.h"'
check "the command past the public headers" 1 "which is not public" rooms
tree src/base/error.h '#include "vyre/status.h"'
mkdir src/cellar
echo '#include "base/error.h"' >src/cellar/wine.c
check "a room that nobody planned" 1 "room cellar has no place" rooms
rm -rf "$work/tree/src" "$work/tree/include" "$work/tree/cli"
check "an empty tree" 1 "no sources" rooms
tap_done
