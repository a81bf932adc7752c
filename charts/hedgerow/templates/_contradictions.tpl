{{/*
Values that are each valid and make no sense together. A JSON schema could refuse them too, but not say why; the message
names both and says what to change. Included by the Deployment, which is always rendered.
*/}}
{{- define "hedgerow.contradictions" -}}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.create is false and serviceAccount.name is empty: name the ServiceAccount that the operator shall use, or let the chart create it" -}}
{{- end -}}
{{- if and (not .Values.serviceAccount.create) .Values.serviceAccount.annotations -}}
{{- fail "serviceAccount.annotations are set and serviceAccount.create is false: annotate the account that you bring, or let the chart create it" -}}
{{- end -}}
{{- if and (not .Values.hedging.allowed) (eq (.Values.fleetDefaults.hedging | default "Forbidden") "Allowed") -}}
{{- fail "hedging.allowed is false and fleetDefaults.hedging is Allowed: hedging.allowed=false forbids it everywhere; remove one of them" -}}
{{- end -}}
{{- if and (not .Values.networkPolicy.enabled) .Values.networkPolicy.metricsFrom -}}
{{- fail "networkPolicy.metricsFrom is set and networkPolicy.enabled is false: nothing would be limited; enable it or empty the list" -}}
{{- end -}}
{{- if and .Values.image.digest .Values.image.tag -}}
{{- fail "image.tag and image.digest are both set: the digest decides, so a change of the tag would do nothing; set one of them" -}}
{{- end -}}
{{- if and .Values.gatewayImage.digest .Values.gatewayImage.tag -}}
{{- fail "gatewayImage.tag and gatewayImage.digest are both set: the digest decides, so a change of the tag would do nothing; set one of them" -}}
{{- end -}}
{{- if and .Values.fleetDefaults.version .Values.gatewayImage.digest -}}
{{- fail "fleetDefaults.version and gatewayImage.digest are both set: the digest decides; set one of them" -}}
{{- end -}}
{{- range $label, $value := merge (dict) .Values.commonLabels .Values.podLabels -}}
{{- if and (hasKey $.Values.commonLabels $label) (hasKey $.Values.podLabels $label) -}}
{{- fail (printf "label %s is in commonLabels and in podLabels: keep it in one of them" $label) -}}
{{- end -}}
{{- end -}}
{{- end -}}
