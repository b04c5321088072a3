{{/* Names and labels. The selector is the one of the litellm-helm chart: a Deployment's selector cannot be changed, so
another one would make an upgrade in place impossible. */}}
{{- define "throughline.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "throughline.fullname" -}}
{{- $name := include "throughline.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "throughline.selectorLabels" -}}
app.kubernetes.io/name: {{ include "throughline.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "throughline.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "throughline.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "throughline.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "throughline.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "throughline.masterkeySecretName" -}}
{{- default (printf "%s-masterkey" (include "throughline.fullname" .)) .Values.masterkeySecretName -}}
{{- end -}}

{{- define "throughline.masterkeySecretKey" -}}
{{- default "masterkey" .Values.masterkeySecretKey -}}
{{- end -}}

{{- define "throughline.claimName" -}}
{{- default (printf "%s-data" (include "throughline.fullname" .)) .Values.persistence.existingClaim -}}
{{- end -}}

{{/* debug, info, warn, error, silent; the other chart's WARNING and CRITICAL are understood. */}}
{{- define "throughline.logLevel" -}}
{{- $level := lower .Values.logLevel -}}
{{- get (dict "warning" "warn" "critical" "error") $level | default $level -}}
{{- end -}}
{{/* The container's port of the platform interface, when it has one of its own. */}}
{{- define "throughline.platformPort" -}}
{{- $port := toString (default "" (default dict (default dict .Values.proxy_config).platform).port) -}}
{{- if and .Values.proxyConfigMap.create (regexMatch "^[1-9][0-9]*$" $port) -}}
{{- $port -}}
{{- else if .Values.service.platformPort -}}
{{- .Values.service.platformPort -}}
{{- end -}}
{{- end -}}
{{/* The container's port of metrics and administration, when they have one of their own. */}}
{{- define "throughline.adminPort" -}}
{{- $port := toString (default "" (default dict (default dict .Values.proxy_config).general_settings).admin_port) -}}
{{- if and .Values.proxyConfigMap.create (regexMatch "^[1-9][0-9]*$" $port) -}}
{{- $port -}}
{{- else if .Values.adminPort -}}
{{- .Values.adminPort -}}
{{- end -}}
{{- end -}}
{{/* Whether a scraper must present the master key: `require_auth_for_metrics_endpoint`, else only without an admin port. */}}
{{- define "throughline.metricsNeedKey" -}}
{{- $stated := (default dict (default dict .Values.proxy_config).litellm_settings).require_auth_for_metrics_endpoint -}}
{{- if and .Values.proxyConfigMap.create (kindIs "bool" $stated) -}}
{{- if $stated -}}true{{- end -}}
{{- else if not (include "throughline.adminPort" .) -}}
true
{{- end -}}
{{- end -}}
{{/* Whether the pods run sandboxes in this cluster, with the rights of their own service account. */}}
{{- define "throughline.runsSandboxes" -}}
{{- $sandbox := default dict (default dict (default dict .Values.proxy_config).platform).sandbox -}}
{{- $cluster := default dict $sandbox.kubernetes -}}
{{- if .Values.sandboxes.kubernetes -}}
true
{{- else if and .Values.proxyConfigMap.create (eq (toString $sandbox.driver) "kubernetes") (not $cluster.api_server) (not $cluster.token) -}}
true
{{- end -}}
{{- end -}}
{{- define "throughline.sandboxNamespace" -}}
{{- $sandbox := default dict (default dict (default dict .Values.proxy_config).platform).sandbox -}}
{{- $stated := (default dict $sandbox.kubernetes).namespace -}}
{{- if .Values.sandboxes.namespace -}}
{{- .Values.sandboxes.namespace -}}
{{- else if and .Values.proxyConfigMap.create $stated -}}
{{- $stated -}}
{{- else -}}
{{- .Release.Namespace -}}
{{- end -}}
{{- end -}}
