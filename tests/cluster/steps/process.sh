#!/usr/bin/env bash
# The cluster's processes: started once, found again by later scripts, stopped without ever hitting a stranger.
# A pid alone may be reused after a crash, so the pid file also holds the start time that the kernel knows.

# start_time PID: clock ticks after boot; nothing where no such process runs. The program's name may hold blanks.
start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# running NAME
running() {
  local pid started
  read -r pid started 2>/dev/null <"$RUN/pid/$1" && [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ]
}

# start NAME COMMAND...: in the cluster's network; outlives the script. Nothing happens where it runs already.
start() {
  local name=$1
  shift
  running "$name" && return
  say "starting $name"
  # 9 is the lock: whoever holds a copy of it would keep it.
  setsid nsenter --net="$NETNS" -- "$@" </dev/null >>"$RUN/log/$name.log" 2>&1 9>&- &
  printf '%s %s\n' "$!" "$(start_time "$!")" >"$RUN/pid/$name"
}

# stop NAME: asks, waits for ten seconds, then ends it.
stop() {
  local name=$1 pid deadline=$((SECONDS + 10))
  if running "$name"; then
    read -r pid _ <"$RUN/pid/$name"
    kill "$pid"
    while running "$name" && [ "$SECONDS" -lt "$deadline" ]; do sleep 0.1; done
    if running "$name"; then
      say "$name does not stop by itself"
      kill -KILL "$pid"
    fi
  fi
  rm -f "$RUN/pid/$name"
}
