#!/usr/bin/env bash
# Identities of the cluster's components, from an authority that lives as long as the run folder. Every component gets
# the identity that RBAC and the node authoriser know; nothing but `kubectl` and `helm` of the tests is an administrator.

make_certificates() {
  local pki=$RUN/pki
  [ -e "$pki/complete" ] && return
  say "making certificates"
  mkdir -p "$pki"
  openssl ecparam -name prime256v1 -genkey -noout -out "$pki/accounts.key" 2>/dev/null
  openssl ec -in "$pki/accounts.key" -pubout -out "$pki/accounts.pub" 2>/dev/null
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=hedgerow test cluster" \
    -keyout "$pki/authority.key" -out "$pki/authority.crt" 2>/dev/null
  certificate apiserver /CN=kube-apiserver "IP:127.0.0.1,IP:$NODE_ADDRESS,IP:10.96.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
  certificate apiserver-to-kubelet /O=system:masters/CN=kube-apiserver-kubelet-client
  certificate admin /O=system:masters/CN=admin
  certificate controllers /CN=system:kube-controller-manager
  certificate scheduler /CN=system:kube-scheduler
  certificate proxy /CN=system:kube-proxy
  certificate kubelet /O=system:nodes/CN=system:node:node "DNS:node,IP:$NODE_ADDRESS"
  local user
  for user in admin controllers scheduler proxy kubelet; do kubeconfig "$user" >"$RUN/$user.kubeconfig"; done
  touch "$pki/complete"
}

# certificate NAME SUBJECT [ALTERNATIVE NAMES]
certificate() {
  local file=$RUN/pki/$1
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$2" -keyout "$file.key" -out "$file.csr" 2>/dev/null
  openssl x509 -req -in "$file.csr" -CA "$RUN/pki/authority.crt" -CAkey "$RUN/pki/authority.key" -CAcreateserial -days 30 \
    -extfile <(echo "subjectAltName=${3:-DNS:$1}") -out "$file.crt" 2>/dev/null
}

# kubeconfig USER: certificates inside, so that the one file can be copied.
kubeconfig() {
  cat <<YAML
apiVersion: v1
kind: Config
clusters:
  - name: test
    cluster:
      server: https://127.0.0.1:6443
      certificate-authority-data: $(base64 -w0 "$RUN/pki/authority.crt")
users:
  - name: $1
    user:
      client-certificate-data: $(base64 -w0 "$RUN/pki/$1.crt")
      client-key-data: $(base64 -w0 "$RUN/pki/$1.key")
contexts:
  - name: test
    context: {cluster: test, user: $1}
current-context: test
YAML
}
