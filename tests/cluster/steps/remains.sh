#!/usr/bin/env bash
# What containers leave behind when the programs that started them are gone: processes, mounts, cgroups, files outside
# the run folder. Everything is found by what it belongs to (our cgroup, our socket, our folder), never by a name.

# Every cgroup folder of the cluster: one per controller with cgroup v1, one in all with v2.
cgroups() { find /sys/fs/cgroup -maxdepth 2 -type d -name "$NAME" 2>/dev/null; }

# Every process in them, so every process of every pod.
contained() {
  cgroups | while read -r folder; do find "$folder" -name cgroup.procs -exec cat {} + 2>/dev/null; done | sort -u
}

end_containers() {
  local deadline=$((SECONDS + 10)) pids
  while pids=$(contained) && [ -n "$pids" ]; do
    # shellcheck disable=SC2086 # one argument per pid
    kill -KILL $pids 2>/dev/null
    [ "$SECONDS" -lt "$deadline" ] || fail "containers do not end: $(tr '\n' ' ' <<<"$pids")"
    sleep 0.1
  done
}

# Shims outlive containerd. Ours are those that were told our socket.
end_shims() {
  local process address
  for process in /proc/[0-9]*; do
    # A process may end while we look.
    { tr '\0' ' ' <"$process/cmdline" | grep -q "containerd-shim.* -address $SOCKET "; } 2>/dev/null || continue
    kill -KILL "${process#/proc/}" 2>/dev/null
  done
  for address in "$RUN"/containerd/state/io.containerd.runtime.v2.task/*/*/address; do
    [ -e "$address" ] && rm -f "$(sed 's,^unix://,,' "$address")"
  done
}

# Newest first, because mounts lie on top of each other.
unmount_all() {
  local point
  cut -d' ' -f5 /proc/self/mountinfo | grep "^$RUN/" | tac | while read -r point; do
    umount "$point" 2>/dev/null || umount --lazy "$point"
  done
}

remove_cgroups() {
  cgroups | while read -r folder; do find "$folder" -depth -type d -exec rmdir {} +; done
}

# Links to logs and network results have fixed places. (So has the kubelet's socket for device plug-ins; no device here.)
remove_strays() {
  find /var/log/containers -maxdepth 1 -lname "$RUN/*" -delete 2>/dev/null
  rm -f "/var/lib/cni/results/$NAME-"*
}
