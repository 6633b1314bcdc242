# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=sh
#
# TAP for shell tests: source it, call check for each test, and tap_done last. $work is a directory
# that is removed at the end.

set -u
scripts=$(cd "$(dirname "$0")/../../scripts" && pwd)
export scripts
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
tests=0
failures=0

# check <description> <expected exit code> <text that the output must hold> <command>...
check() {
    description=$1 expected=$2 text=$3
    shift 3
    tests=$((tests + 1))
    output=$("$@" 2>&1)
    code=$?
    case $output in
    *"$text"*) held=1 ;;
    *) held=0 ;;
    esac
    if [ $code = "$expected" ] && [ $held = 1 ]; then
        echo "ok $tests - $description"
        return
    fi
    failures=$((failures + 1))
    echo "not ok $tests - $description"
    echo "# exit code $code, expected $expected; the output must hold: $text"
    echo "$output" | sed 's/^/#   /'
}

tap_done() {
    echo "1..$tests"
    [ $failures = 0 ] && [ $tests -gt 0 ]
    exit
}
