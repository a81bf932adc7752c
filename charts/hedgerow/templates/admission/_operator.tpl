{{/* Whether the operator asks: the condition of every policy that bounds the operator itself. */}}
{{- define "hedgerow.asks" -}}
- name: the-operator-asks
  expression: >-
    request.userInfo.username == 'system:serviceaccount:{{ .Release.Namespace }}:{{ include "hedgerow.serviceAccount" . }}'
{{- end -}}
