{{/* Binding of a policy of the same name. Argument: the policy's name and the chart. */}}
{{- define "hedgerow.binding" -}}
{{- $root := last . -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ first . }}
  labels:
    {{- include "hedgerow.labels" $root | nindent 4 }}
spec:
  policyName: {{ first . }}
  validationActions: [Deny]
  matchResources:
    {{- include "hedgerow.watched" $root | nindent 4 }}
{{- end -}}
