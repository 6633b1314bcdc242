#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs one file of commands and compares what each prints and returns with what the file says.
#
#   VYRE=path/to/vyre tests/cli/run.sh misuse.test
#   VYRE=path/to/vyre tests/cli/run.sh --update misuse.test
#
# A file is made of blocks:
#
#   # a comment
#   skip: COMMAND      where COMMAND succeeds the rest of the file is skipped, with its output as the reason
#   $ COMMAND          run by sh in an empty directory; `vyre` is on the PATH
#   out: TEXT          a line of stdout, exactly
#   out~ PATTERN       a line of stdout that matches the shell pattern
#   out...             any further lines of stdout, also none
#   err: err~ err...   the same for stderr
#   exit: CODE         what it returns; 0 where there is no such line
#
# Commands find $VYRE, $SOURCE (the root of the tree) and $HELPERS (the directory of the helper
# programs). The result is TAP. --update replaces the lines of every block that has no ~ and no ...
# in it by what the command prints now. Exit code: 0 all as expected, 1 something differs, 2 misuse,
# 77 skipped.

set -u

update=0
if [ "${1-}" = --update ]; then
    update=1
    shift
fi
if [ $# != 1 ] || [ ! -f "$1" ] || [ -z "${VYRE-}" ]; then
    echo "usage: VYRE=path/to/vyre run.sh [--update] FILE" >&2
    exit 2
fi

VYRE=$(cd "$(dirname "$VYRE")" && pwd)/$(basename "$VYRE")
SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
HELPERS=${HELPERS-$(dirname "$VYRE")}
export VYRE SOURCE HELPERS
file=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/cwd"
ln -s "$VYRE" "$work/bin/vyre"
PATH=$work/bin:$PATH
export PATH
# What a user's environment holds must not change what is compared.
unset NO_COLOR
TERM=xterm
LC_ALL=C
export TERM LC_ALL

count=0
failed=0
command=

# Whether a text matches a shell pattern.
matches() {
    # shellcheck disable=SC2254  # the pattern is not quoted on purpose
    case $1 in
    $2) return 0 ;;
    esac
    return 1
}

# Compares one stream: $1 its name, $2 the expectation, $3 what was printed.
compare() {
    exec 3<"$2" 4<"$3"
    while IFS= read -r want <&3; do
        case $want in
        '...')
            exec 3<&- 4<&-
            return 0
            ;;
        esac
        if ! IFS= read -r got <&4; then
            printf '%s\n' "# $1 ends before: ${want#? }"
            exec 3<&- 4<&-
            return 1
        fi
        text=${want#?}
        text=${text# }
        case $want in
        ':' | ': '*) [ "$got" = "$text" ] && continue ;;
        '~ '*) matches "$got" "$text" && continue ;;
        esac
        printf '%s\n' "# $1 expected: $text"
        printf '%s\n' "# $1      got: $got"
        exec 3<&- 4<&-
        return 1
    done
    if IFS= read -r got <&4; then
        printf '%s\n' "# $1 has one line too many: $got"
        exec 3<&- 4<&-
        return 1
    fi
    exec 3<&- 4<&-
}

# Runs the command of the block that ends here.
finish_block() {
    [ -n "$command" ] || return 0
    count=$((count + 1))
    (cd "$work/cwd" && sh -c "$command" >"$work/stdout" 2>"$work/stderr" </dev/null)
    code=$?
    if [ "$update" = 1 ]; then
        write_block
        return
    fi
    good=1
    compare stdout "$work/want_out" "$work/stdout" || good=0
    compare stderr "$work/want_err" "$work/stderr" || good=0
    if [ "$code" != "$want_exit" ]; then
        echo "# exit code expected: $want_exit, got: $code"
        [ -s "$work/stderr" ] && sed 's/^/# stderr: /' "$work/stderr"
        good=0
    fi
    if [ "$good" = 1 ]; then
        printf '%s\n' "ok $count - $command"
    else
        printf '%s\n' "not ok $count - $command"
        failed=$((failed + 1))
    fi
}

# Writes the expectations of the block anew, or as they were where they are patterns.
write_block() {
    if grep -q '^[~.]' "$work/want_out" "$work/want_err"; then
        sed 's/^\.\.\./out&/; t; s/^/out/' "$work/want_out"
        sed 's/^\.\.\./err&/; t; s/^/err/' "$work/want_err"
        code=$want_exit
    else
        sed 's/^/out: /; s/^out: $/out:/' "$work/stdout"
        sed 's/^/err: /; s/^err: $/err:/' "$work/stderr"
    fi >>"$work/new"
    [ "$code" = 0 ] || echo "exit: $code" >>"$work/new"
}

start_block() {
    command=$1
    want_exit=0
    : >"$work/want_out"
    : >"$work/want_err"
}

keep() {
    [ "$update" = 0 ] || printf '%s\n' "$1" >>"$work/new"
}

: >"$work/new"
pending=
while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    '$ '*)
        finish_block
        [ -z "$pending" ] || keep "${pending%?}"
        pending=
        keep "$line"
        start_block "${line#? }"
        ;;
    'skip: '*)
        finish_block
        command=
        [ -z "$pending" ] || keep "${pending%?}"
        pending=
        keep "$line"
        if [ "$update" = 0 ] && reason=$(cd "$work/cwd" && sh -c "${line#skip: }" 2>&1); then
            if [ "$count" = 0 ]; then
                printf '%s\n' "1..0 # SKIP $reason"
                exit 77
            fi
            printf '%s\n' "1..$count # skipped the rest: $reason"
            [ "$failed" = 0 ]
            exit
        fi
        ;;
    out[:~.]*) printf '%s\n' "${line#out}" >>"$work/want_out" ;;
    err[:~.]*) printf '%s\n' "${line#err}" >>"$work/want_err" ;;
    'exit: '*) want_exit=${line#exit: } ;;
    '' | '#'*) pending="$pending$line
" ;;
    *)
        echo "run.sh: $1: cannot read this line: $line" >&2
        exit 2
        ;;
    esac
done <"$file"
finish_block
if [ "$update" = 1 ]; then
    cat "$work/new" >"$file"
    exit 0
fi
if [ "$count" = 0 ]; then
    echo "run.sh: $1 has no command" >&2
    exit 2
fi
echo "1..$count"
[ "$failed" = 0 ]
