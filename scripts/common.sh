# Functions that the scripts share. The caller sets `logs`, a folder, and is in the checkout.
# shellcheck shell=bash

die() {
  [[ -z ${step_begin:-} ]] || echo
  printf "${0##*/}: %s\n" "$@" >&2
  exit 1
}

# step TITLE begins a line, done_step RESULT ends it.
step() {
  step_begin=$SECONDS
  printf '%-20s' "$1"
}

done_step() {
  printf '%s (%d s)\n' "$1" $((SECONDS - step_begin))
  step_begin=
}

# logged NAME COMMAND...: the output goes to $logs/NAME.log, whose end is shown on failure.
logged() {
  # shellcheck disable=SC2154
  local log=$logs/$1.log
  shift
  "$@" >"$log" 2>&1 </dev/null && return
  printf 'failed\n'
  tail -n 15 "$log" >&2
  return 1
}
