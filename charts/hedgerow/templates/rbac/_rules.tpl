{{/*
What the operator does, and so all it may do, in each namespace that it watches. The end-to-end tests hold this list
against the audit log: nothing denied, nothing unused. No verb on Secrets: who can create pods could mount them anyway,
which admission/operator-writes.yaml bounds.
*/}}
{{- define "hedgerow.rules" -}}
# What people write. A latch is written over what is stored, not over what a watch has heard of: that is a list, too.
- apiGroups: [hedgerow.dev]
  resources: [providerroutes, hedgepolicies, prioritylanes, gatewayfleets]
  verbs: [list, watch]
# What the operator says about it.
- apiGroups: [hedgerow.dev]
  resources: [providerroutes/status, hedgepolicies/status, prioritylanes/status, gatewayfleets/status]
  verbs: [patch]
# A fleet that a route names and nobody wrote exists by itself, and goes when its last route went.
- apiGroups: [hedgerow.dev]
  resources: [gatewayfleets]
  verbs: [create, delete]
# Children of a fleet. They go with it by owner reference; only an autoscaler can be switched off.
- apiGroups: [""]
  resources: [configmaps, services, serviceaccounts]
  verbs: [get, list, watch, create, patch]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, patch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, watch, create, patch, delete]
# Gateways are read at their addresses; the patch is one annotation (admission/pod-patches.yaml).
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch, patch]
# Repeated events are counted by a patch.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}
