#!/usr/bin/env bash
# Where everything of the test cluster is, and the few words that its scripts share. They source this file.
#
# HEDGEROW_CLUSTER  run folder of the cluster, /tmp/hedgerow-cluster by default; everything that lives only as long as
#                   the cluster is below it. Its last part names the network namespace, so a second run folder is a
#                   second cluster.
# HEDGEROW_CACHE    what outlives a cluster (built programs, logs of the last run) is in its folder "cluster".

# shellcheck disable=SC2034 # read by the scripts that source this file
CLUSTER=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CACHE=${HEDGEROW_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hedgerow}/cluster
RUN=${HEDGEROW_CLUSTER:-/tmp/hedgerow-cluster}
NAME=$(basename "$RUN")
NETNS=/run/netns/$NAME

# The node's only address. Not a loopback one: the kubelet would register none, and `kubectl logs` would find no node.
NODE_ADDRESS=172.31.255.1
DNS_ADDRESS=10.96.0.10
KUBECONFIG=$RUN/admin.kubeconfig
SOCKET=$RUN/containerd.sock

say() { printf 'cluster: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

# within COMMAND...: in the cluster's network. nsenter and not `ip netns exec`, which mounts a new /sys without cgroups.
within() { nsenter --net="$NETNS" -- "$@"; }

# wait_for SECONDS WHAT COMMAND...: until the command succeeds; says what it waits for, and fails when time is over.
wait_for() {
  local seconds=$1 what=$2 deadline=$((SECONDS + $1))
  shift 2
  "$@" >/dev/null 2>&1 && return
  say "waiting for $what (at most $seconds s)"
  until "$@" >/dev/null 2>&1; do
    if [ "$SECONDS" -ge "$deadline" ]; then
      say "no $what after $seconds s; the logs are in $RUN/log"
      "$@" >&2
      exit 1
    fi
    sleep 0.2
  done
}

# locked: only one script at a time changes the cluster. The lock is released when the script ends.
locked() {
  mkdir -p "$CACHE"
  exec 9>"$CACHE/$NAME.lock"
  flock --wait 900 9 || fail "another script has held $CACHE/$NAME.lock for 15 minutes"
}
