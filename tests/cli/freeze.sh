#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs a command that starts a device host, with a --timeout, and stops the host while it is at work, as one that
# stands still. A slow machine is given more time.
#
#   freeze.sh <command> <argument>...

for seconds in 2 10 40; do
    "$@" --timeout "$seconds" 2>freeze.err &
    run=$! host=
    while [ -z "$host" ] && kill -0 $run 2>/dev/null; do
        sleep 0.02
        read -r host _ 2>/dev/null <"/proc/$run/task/$run/children"
    done
    sleep 1
    kill -STOP "$host" 2>/dev/null # it may be over
    wait $run
    code=$?
    grep -q 'did not answer' freeze.err && break
done
sed "s/in $seconds s/in T s/" freeze.err >&2
exit "$code"
