{{/* The operator's settings file; its form is operator/src/runtime/settings.rs, which refuses unknown fields. */}}
{{- define "hedgerow.settings" -}}
watchNamespaces: {{ toJson (.Values.watchNamespaces | default list) }}
image:
  repository: {{ .Values.gatewayImage.repository | quote }}
  tag: {{ .Values.gatewayImage.tag | default .Chart.AppVersion | quote }}
  digest: {{ .Values.gatewayImage.digest | quote }}
  pullPolicy: {{ .Values.gatewayImage.pullPolicy }}
fleetDefaults: {{ toJson .Values.fleetDefaults }}
hedging:
  allowed: {{ .Values.hedging.allowed }}
tenancy:
  secretNames: {{ toJson .Values.tenancy.secretNames }}
  allowedEndpoints: {{ toJson .Values.tenancy.allowedEndpoints }}
generatedFleetTtl: {{ .Values.generatedFleetTtl }}
{{- end -}}
