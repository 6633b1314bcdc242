#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Searches every configuration of the models exhaustively. One line each: name, states, memory in
# megabytes, seconds, verdict. Fails on an error, on a search that did not see everything, and where
# a place was not reached that must be (REACH in the models): a model in which nothing happens
# proves nothing.
#
# Arguments: names of the configurations to search; none: all.

. "$(dirname "$0")/lib.sh"

verdict() {
    if [ "$errors" != 0 ]; then
        echo "ERROR: $(first_error)"
        return
    fi
    if cut_short; then
        echo "NOT COMPLETE: the search was cut short"
        return
    fi
    missing=
    for place in $1; do
        grep -q "^reached $place\$" "$report" || missing="$missing $place"
    done
    echo "${missing:+NOT REACHED:$missing}"
}

# check NAME MODEL SWITCHES PLACES: one configuration, and the places it must reach.
check() {
    wants "$1" || return 0
    # shellcheck disable=SC2086 # switches are words
    if search "$2" $3; then
        bad=$(verdict "$4")
    else
        bad="NO SEARCH: $(tail -n 3 "$report" | tr '\n' ' ')"
    fi
    [ -z "$bad" ] || failed=1
    say "$1" "${bad:-ok}"
}

states=states megabytes=MB seconds=seconds
say configuration verdict

# One-slot rings, two laps, two queues of one producer each, two workers.
check ring-two-queues-stop ring.pml "-DNQ=3 -DN=1 -DT=2 -DSTOP" \
    "stopped_in_ring stopped_waiting stopped_running refused lost table_full"
check ring-two-queues-cancel ring.pml "-DNQ=3 -DN=1 -DT=2 -DCANCEL" \
    "cancelled_in_ring cancelled_waiting cancelled_claimed cancelled_running not_found table_full"
check ring-two-queues-both ring.pml "-DNQ=3 -DN=1 -DT=2 -DSTOP -DCANCEL" \
    "cancelled_in_ring cancelled_waiting cancelled_claimed cancelled_running not_found
     stopped_in_ring stopped_waiting refused lost table_full"

# Two-slot rings, two laps (one and a half with requests to cancel), one queue, two workers.
check ring-two-slots-stop ring.pml "-DNQ=2 -DN=2 -DT=4 -DFENCE -DBATCH -DSTOP" \
    "stopped_in_ring stopped_waiting refused lost fence_waited table_full"
check ring-two-slots-cancel ring.pml "-DNQ=2 -DN=2 -DT=3 -DFENCE -DBATCH -DCANCEL" \
    "cancelled_in_ring cancelled_waiting cancelled_claimed cancelled_running cancelled_fence
     not_found fence_waited table_full"
check ring-two-slots-both ring.pml "-DNQ=2 -DN=2 -DT=3 -DBATCH -DSTOP -DCANCEL" \
    "cancelled_in_ring cancelled_waiting cancelled_claimed cancelled_running not_found
     stopped_in_ring stopped_waiting refused lost"

# Workers that sleep.
check sleep-long sleep.pml "-DLONG -DT1=2 -DT2=1" \
    "long_ended slept second_look shared_out role_handed_over producer_wakes"
check sleep-fence sleep.pml "-DLONG -DFENCE -DT1=1 -DT2=2" \
    "long_ended slept second_look fence_waited fence_look fence_handed_over"
check sleep-help sleep.pml "-DNQ=2 -DFENCE -DHELP -DT1=2" \
    "slept fence_waited help_handed_over help_fence"
check sleep-stop sleep.pml "-DLONG -DSTOP -DSTOP_ANY -DT1=1 -DT2=1" \
    "long_ended slept second_look"
check sleep-stop-help sleep.pml "-DNQ=2 -DSTOP -DHELP -DT1=1" "slept help_stopped"

# Reapers that sleep too.
check sleep-host sleep.pml "-DLONG -DWAIT -DT1=1 -DT2=1" "host_slept slept long_ended shared_out"
check sleep-host-twice sleep.pml "-DNQ=2 -DWAIT -DT1=2" "host_slept slept shared_out"
check sleep-host-stop sleep.pml "-DNQ=2 -DWAIT -DSTOP -DSTOP_ANY -DT1=2" "host_slept slept"

# A resident kernel that parks and is woken.
check park park.pml "-DT=3" "armed early took_back begun_meanwhile raised_already"
check park-stop park.pml "-DT=2 -DSTOP" "armed early took_back stopped"
check park-link park.pml "-DT=1 -DLINK=2" \
    "armed early took_back held_at_once held_later busy nobody_came"
check park-looks park.pml "-DT=1 -DLOOKS -DLINK=1" "early took_back held_at_once held_later busy"
finish
