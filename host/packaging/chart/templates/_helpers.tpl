{{- define "sluice.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* What a shape can't do without, and what is another shape's. */}}
{{- define "sluice.check" -}}
{{- $v := .Values }}
{{- if eq $v.shape "apiTier" }}
{{- if not $v.store.url }}{{ fail "the shape apiTier needs store.url: postgres://USER@HOST/DATABASE, which all servers share" }}{{ end }}
{{- if not $v.engine.urls }}{{ fail "the shape apiTier needs engine.urls: it has no engine of its own" }}{{ end }}
{{- if not $v.sealSecret.name }}{{ fail "the shape apiTier needs sealSecret.name: each server opens what another sealed" }}{{ end }}
{{- if $v.store.volume.existingClaim }}{{ fail "store.volume is of the shape allInOne: the shape apiTier stores in Postgres" }}{{ end }}
{{- if $v.cache.existingClaim }}{{ fail "cache.existingClaim is of the shape allInOne: servers don't share a cache" }}{{ end }}
{{- else }}
{{- if $v.store.url }}{{ fail "store.url is of the shape apiTier: the shape allInOne stores on its volume" }}{{ end }}
{{- end }}
{{- if and $v.metrics.serviceMonitor.enabled $v.keysSecret.name (not $v.metrics.public) (not $v.metrics.serviceMonitor.keySecret.name) }}
{{- fail "Prometheus needs metrics.serviceMonitor.keySecret.name, with one of the keys, or metrics.public: true" }}
{{- end }}
{{- end }}

{{- define "sluice.scheme" -}}
{{- if .Values.tlsSecret }}https{{ else }}http{{ end }}
{{- end }}

{{- define "sluice.arguments" -}}
{{- $v := .Values -}}
- serve
- --listen=0.0.0.0:8000
- --log-json
- --grace-seconds={{ $v.graceSeconds }}
{{- with $v.model.path }}
- {{ printf "--model=%s" . | quote }}
{{- end }}
{{- range $v.model.names }}
- {{ printf "--served-model-name=%s" . | quote }}
{{- end }}
{{- with $v.engine.urls }}
- {{ printf "--engine=%s" (join "," .) | quote }}
{{- end }}
{{- if and $v.engine.urls $v.engine.kind }}
- --engine-kind={{ $v.engine.kind }}
{{- end }}
{{- if and $v.engine.urls $v.engine.keySecret.name }}
- --engine-key=env:SLUICE_ENGINE_KEY
{{- end }}
{{- if eq $v.shape "apiTier" }}
- {{ printf "--store=%s" $v.store.url | quote }}
- --store-connections={{ $v.store.connections }}
{{- if $v.store.caSecret.name }}
- --store-ca=/etc/sluice/store/ca.crt
{{- end }}
{{- else }}
- --store=sqlite:/var/lib/sluice/state.db
{{- end }}
{{- if $v.sealSecret.name }}
- --seal-key=/etc/sluice/seal/seal.key
{{- end }}
{{- if $v.keysSecret.name }}
- --api-keys-file=/etc/sluice/keys/keys
{{- end }}
{{- if $v.tlsSecret }}
- --tls-cert=/etc/sluice/tls/tls.crt
- --tls-key=/etc/sluice/tls/tls.key
{{- end }}
{{- with $v.metrics.prefix }}
- {{ printf "--metrics-prefix=%s" . | quote }}
{{- end }}
{{- if $v.metrics.public }}
- --public-metrics
{{- end }}
{{- range $v.arguments }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{- /* A volume of one entry of a Secret, and where it is mounted: (list NAME SECRET ENTRY FILE). */}}
{{- define "sluice.secretVolume" -}}
- name: {{ index . 0 }}
  secret:
    secretName: {{ index . 1 }}
    defaultMode: 0400
    items:
      - key: {{ index . 2 | quote }}
        path: {{ index . 3 }}
{{- end }}

{{- define "sluice.secretMount" -}}
- name: {{ index . 0 }}
  mountPath: /etc/sluice/{{ index . 0 }}
  readOnly: true
{{- end }}

{{- define "sluice.probe" -}}
httpGet:
  path: {{ .path }}
  port: api
  scheme: {{ include "sluice.scheme" .root | upper }}
periodSeconds: {{ .period }}
timeoutSeconds: 5
failureThreshold: {{ .failures }}
{{- end }}
