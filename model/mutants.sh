#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Shows that the models can fail: each mutant takes one step out of the protocol or makes two steps
# in the wrong order, and spin must find an error of the expected kind. One line each: name, states
# seen until the error, memory in megabytes, seconds, what was found. Fails where a mutant survives.
#
# Arguments: names of the mutants to try; none: all.

. "$(dirname "$0")/lib.sh"
# The searches are short: compiling is what takes the time.
# shellcheck disable=SC2034 # read by search
optimise=-O0

# mutant NAME MODEL SWITCHES KIND: the error that spin must find contains KIND.
mutant() {
    wants "$1" || return 0
    # shellcheck disable=SC2086 # switches are words
    if search "$2" $3 "-D$1"; then
        found=$(first_error)
        case $found in
        *"$4"*) ;;
        "") found="SURVIVED" failed=1 ;;
        *) found="NOT WHAT WAS EXPECTED: $found" failed=1 ;;
        esac
    else
        found="NO SEARCH: $(tail -n 3 "$report" | tr '\n' ' ')" failed=1
    fi
    say "$1" "$(printf '%.60s' "$found")"
}

states=states megabytes=MB seconds=seconds
say mutant found

stop="-DNQ=2 -DN=1 -DT=2 -DSTOP"
mutant M_DOORBELL_FIRST ring.pml "$stop" assertion   # before the slot is filled
mutant M_NO_ROOM_CHECK ring.pml "$stop" assertion    # more slots than places
mutant M_TWO_POLLERS ring.pml "-DNQ=2 -DN=2 -DT=2 -DSTOP" assertion
mutant M_LAP_FIRST ring.pml "$stop" assertion        # before the entry's words
mutant M_LAP_ZERO ring.pml "$stop" assertion         # a fresh ring's laps are all 0
mutant M_FIRST_ENDS ring.pml "$stop" "invalid end state" # the first to leave ends the device
mutant M_RING_BEFORE_GONE ring.pml "$stop" assertion # looks for entries, then whether all is over
mutant M_FINAL_HEAD_EARLY ring.pml "-DNQ=2 -DN=2 -DT=2 -DSTOP" assertion # before the final drain
mutant M_NO_FINAL_DRAIN ring.pml "-DNQ=2 -DN=2 -DT=2 -DFENCE -DSTOP" assertion

fence="-DNQ=2 -DN=2 -DT=3 -DFENCE -DSTOP"
mutant M_FENCE_BLIND ring.pml "$fence" assertion     # waits for nothing
mutant M_COUNT_EARLY ring.pml "$fence" assertion     # a slot in flight is uncounted before its end

cancel="-DNQ=2 -DN=1 -DT=2 -DCANCEL"
mutant M_CANCEL_BLIND ring.pml "$cancel" assertion   # the cancel bit is not looked at
mutant M_CANCEL_STICKY ring.pml "$cancel" assertion  # and not cleared
mutant M_CANCEL_NO_LOCK ring.pml "$cancel" assertion # looked up, then unlinked, under two locks

missed="invalid end state"
mutant M_NO_SECOND_LOOK sleep.pml "-DNQ=2 -DT1=1" "$missed"
mutant M_SEQ_LATE sleep.pml "-DNQ=2 -DT1=1" "$missed" # wake_seq is read after the second look
mutant M_SUBMIT_NO_FENCE sleep.pml "-DNQ=2 -DT1=1" "$missed"
mutant M_SLEEP_NO_FENCE sleep.pml "-DNQ=2 -DT1=1" "$missed"
mutant M_LEAVE_NO_FENCE sleep.pml "-DLONG" "$missed"
mutant M_LEAVE_BLIND sleep.pml "-DLONG" "$missed"     # the role is left without a look
mutant M_NO_SHARE_OUT sleep.pml "-DLONG" "$missed"    # nobody is woken for what was handed over
mutant M_SHARE_ALL_BUT_ONE sleep.pml "-DLONG" "$missed"
mutant M_SHARE_NO_FENCE sleep.pml "-DLONG" "$missed"
mutant M_SLEEP_FORGETS_FENCE sleep.pml "-DNQ=2 -DFENCE -DT1=2" "$missed"
mutant M_ENDS_FIRST sleep.pml "-DNQ=2 -DFENCE -DT1=2" "$missed" # ends moves before inflight
mutant M_LEAVE_FORGETS_FENCE sleep.pml "-DLONG -DFENCE -DT2=2" "$missed"
mutant M_HELP_FORGETS_FENCE sleep.pml "-DNQ=2 -DFENCE -DHELP -DT1=2" "$missed"
mutant M_STOP_WAKES_ONE sleep.pml "-DNQ=2 -DSTOP -DHELP -DT1=1" "$missed"
mutant M_WAIT_NO_FENCE sleep.pml "-DNQ=2 -DWAIT -DT1=1" "$missed"
mutant M_NOTIFY_NO_FENCE sleep.pml "-DNQ=2 -DWAIT -DT1=1" "$missed"
mutant M_GONE_SILENT sleep.pml "-DNQ=2 -DWAIT -DSTOP -DSTOP_ANY -DT1=1" "$missed"

mutant M_PARK_NO_FENCE park.pml "-DT=2" "$missed"  # looks at the bells, then says that it sleeps
mutant M_PARK_BLIND park.pml "-DT=2" "$missed"     # says so and does not look again
mutant M_RELEASE_STORES park.pml "-DT=3" "$missed" # the word may go back
mutant M_RELEASE_SAME park.pml "-DT=2" "$missed"   # releases the launch that has left
mutant M_ARM_FOR_CHANGE park.pml "-DT=2" "$missed" # waits for a change of the word, not for a value
mutant M_LINK_NOT_HELD park.pml "-DT=1 -DLINK=1" assertion
mutant M_LINK_NO_WAKE park.pml "-DT=1 -DLINK=1" "$missed" # told to park, it did not look again
finish
