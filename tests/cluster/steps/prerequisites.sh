#!/usr/bin/env bash
# What the machine must have. Debian packages are installed where they are missing; what cannot be is named, all at once.

# Command and the Debian package that has it. The network plug-ins are no commands of a PATH.
PACKAGES="containerd=containerd ctr=containerd runc=runc iptables=iptables conntrack=conntrack ip=iproute2 nsenter=util-linux
  flock=util-linux openssl=openssl python3=python3 /usr/lib/cni/bridge=containernetworking-plugins"

missing_packages() {
  local pair
  for pair in $PACKAGES; do command -v "${pair%=*}" >/dev/null || echo "${pair#*=}"; done | sort -u
}

ensure_prerequisites() {
  local missing
  [ "$(uname -s)" = Linux ] || fail "needs Linux: namespaces and cgroups of the kernel are what a node is made of"
  [ "$(id -u)" = 0 ] || fail "needs root: run it with sudo, or in a machine of its own"
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  command -v apt-get >/dev/null || fail "install these (names of Debian's packages): $(tr '\n' ' ' <<<"$missing")"
  say "installing $(tr '\n' ' ' <<<"$missing")"
  [ -n "$(ls -A /var/lib/apt/lists/*_Packages 2>/dev/null)" ] || apt-get update -qq
  # shellcheck disable=SC2086 # one argument per package
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
  missing=$(missing_packages)
  [ -z "$missing" ] || fail "could not install $(tr '\n' ' ' <<<"$missing"): install them and run again"
}
