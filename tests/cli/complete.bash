# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=bash
#
# Prints what the completion offers for the words given, the last of which is being typed.

# shellcheck source=../../cli/completion/vyre.bash
source "$(dirname "$0")/../../cli/completion/vyre.bash"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
_vyre
echo "${COMPREPLY[*]}"
