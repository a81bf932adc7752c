#!/usr/bin/env bash
# The network of the cluster: a namespace of its own with one address and a default route, so that nothing of it (bridges,
# iptables rules, connections) is ever seen on the machine, and nothing of the cluster reaches the world outside.

make_network() {
  [ -e "$NETNS" ] || ip netns add "$NAME"
  within ip link set lo up
  if ! within ip link show node0 >/dev/null 2>&1; then
    # Both ends stay inside: a stand-in for a network card, since dummy devices are not in every kernel.
    within ip link add node0 type veth peer name node0peer
    within ip address add "$NODE_ADDRESS/24" dev node0
    within ip link set node0 up
    within ip link set node0peer up
    # Without any route the kernel refuses a Service's address before kube-proxy's rules can rewrite it.
    within ip route add default via "${NODE_ADDRESS%.*}.254" dev node0
  fi
}

# Whether packets between two pods of this node pass through iptables. Where not, an answer from pod to pod would go
# around the translation back to the Service's address, so kube-proxy has to rewrite the source too.
bridged_packets_are_filtered() {
  [ "$(within cat /proc/sys/net/bridge/bridge-nf-call-iptables 2>/dev/null)" = 1 ]
}

# Ends what still runs in the namespace (clients that were started with `exec`), then removes it.
remove_network() {
  local pid
  [ -e "$NETNS" ] || return 0
  for pid in $(ip netns pids "$NAME" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null; done
  ip netns delete "$NAME"
}
