{{/*
Names and labels. A release named hedgerow-something or hedgerow is its own full name; any other gets "-hedgerow".
Cut to 40 characters, so that every suffix below still fits a label.
*/}}
{{- define "hedgerow.name" -}}
{{- if contains "hedgerow" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-hedgerow" (.Release.Name | trunc 31 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "hedgerow.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "hedgerow.name" .) -}}
{{- end -}}

{{/* What selects the operator's pods, for ever: a Deployment's selector cannot change. */}}
{{- define "hedgerow.selector" -}}
app.kubernetes.io/name: hedgerow-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "hedgerow.labels" -}}
{{ include "hedgerow.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: hedgerow
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* repository@digest, else repository:tag. Argument: a list of the image and the chart. */}}
{{- define "hedgerow.image" -}}
{{- $image := first . -}}
{{- $chart := last . -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default $chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Metadata of a CRD beside its name. */}}
{{- define "hedgerow.crd" -}}
labels:
  {{- include "hedgerow.labels" . | nindent 2 }}
{{- if .Values.crds.keep }}
annotations:
  helm.sh/resource-policy: keep
{{- end }}
{{- end -}}

{{/* Where admission policies apply: the watched namespaces, or everywhere. */}}
{{- define "hedgerow.watched" -}}
{{- with .Values.watchNamespaces }}
namespaceSelector:
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: In
      values: {{ toJson . }}
{{- else }}
namespaceSelector: {}
{{- end }}
{{- end -}}
