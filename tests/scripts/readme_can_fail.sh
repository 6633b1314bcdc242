#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# check-readme on small files, one fault in each.

# shellcheck source=tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"

mkdir "$work/examples"
printf '%s\n' '/* head */' 'int main(void)' '{' '    return 0;' '}' >"$work/examples/readme.c"

readme() {
    printf '%s\n' "$@" >"$work/README.md"
    "$scripts/check-readme" "$work"
}

check "the whole program" 0 "" readme text '```c' 'int main(void)' '{' '    return 0;' '}' '```' more
check "a part of it" 0 "" readme '```c' '    return 0;' '```' '```sh' 'make' '```'
check "another line" 1 "differs" readme '```c' 'int main(void)' '{' '    return 1;' '}' '```'
check "a line too few" 1 "differs" readme '```c' 'int main(void)' '    return 0;' '```'
check "no example" 1 "no C example" readme text '```sh' 'make' '```'
check "a link that leads somewhere" 0 "" readme '```c' '{' '```' '[that](examples/readme.c#top)'
check "a link to elsewhere" 0 "" readme '```c' '{' '```' '[there](https://example.org/)'
check "a link that leads nowhere" 1 "links to docs/none.md" readme '```c' '{' '```' \
    'see [one](examples) and [two](docs/none.md)'
tap_done
