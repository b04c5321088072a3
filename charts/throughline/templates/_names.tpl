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
app.kubernetes.io/name: {{ include "throughline.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "throughline.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "throughline.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Ours, then those of one object, then those of all: (list . LABELS). */}}
{{- define "throughline.labelsWith" -}}
{{- $root := first . -}}
{{- toYaml (merge (include "throughline.ownLabels" $root | fromYaml) (default dict (last .)) (default dict $root.Values.commonLabels)) -}}
{{- end -}}
{{- define "throughline.labels" -}}
{{- include "throughline.labelsWith" (list . dict) -}}
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

{{/* What runs the pods. */}}
{{- define "throughline.kind" -}}
{{- if ne .Values.kind "auto" -}}
{{- .Values.kind -}}
{{- else if and .Values.persistence.enabled (not .Values.persistence.existingClaim) -}}
StatefulSet
{{- else -}}
Deployment
{{- end -}}
{{- end -}}

{{/* A text with what it takes from the values and the release filled in: (list TEXT .). Templates of other programs, as those of
Vault's injector, stay as they are. */}}
{{- define "throughline.filledIn" -}}
{{- $text := first . -}}
{{- if regexMatch "\\{\\{-? *([\"`]|(include|tpl) |[^}]*\\.(Values|Release|Chart|Capabilities)\\b)" $text -}}
{{- tpl $text (last .) -}}
{{- else -}}
{{- $text -}}
{{- end -}}
{{- end -}}

{{/* A value as text. Helm reads whole numbers of a file as floats, and those print as 1e+06. */}}
{{- define "throughline.text" -}}
{{- $text := . -}}
{{- if kindIs "float64" . }}{{ if eq (float64 (int64 .)) . }}{{ $text = int64 . }}{{ end }}{{ end -}}
{{- $text -}}
{{- end -}}

{{/* REGISTRY/NAME:TAG@DIGEST. global.imageRegistry replaces the registry of the repository: the part before the first slash, where
it looks like a host. */}}
{{- define "throughline.image" -}}
{{- $repository := .Values.image.repository -}}
{{- with (default dict .Values.global).imageRegistry -}}
{{- $parts := splitList "/" $repository -}}
{{- $head := first $parts -}}
{{- $isHost := and (gt (len $parts) 1) (or (contains "." $head) (contains ":" $head) (eq $head "localhost")) -}}
{{- $repository = printf "%s/%s" (trimSuffix "/" .) (ternary (join "/" (rest $parts)) $repository $isHost) -}}
{{- end -}}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{/* Fewest and most pods. */}}
{{- define "throughline.leastPods" -}}
{{- if .Values.autoscaling.enabled -}}{{ .Values.autoscaling.minReplicas }}
{{- else if .Values.keda.enabled -}}{{ .Values.keda.minReplicas }}
{{- else -}}{{ .Values.replicaCount }}
{{- end -}}
{{- end -}}
{{- define "throughline.mostPods" -}}
{{- if .Values.autoscaling.enabled -}}{{ .Values.autoscaling.maxReplicas }}
{{- else if .Values.keda.enabled -}}{{ .Values.keda.maxReplicas }}
{{- else -}}{{ .Values.replicaCount }}
{{- end -}}
{{- end -}}

{{/* Where the values name a database; nothing where none is named, or an unseen Secret names one. */}}
{{- define "throughline.database" -}}
{{- if .Values.databaseSecretName -}}databaseSecretName
{{- else if .Values.db.useExisting -}}db.useExisting
{{- else if or (hasKey (default dict .Values.envVars) "DATABASE_URL") (hasKey (default dict .Values.envVars) "DATABASE_HOST") -}}envVars
{{- else if and .Values.proxyConfigMap.create (default dict (default dict .Values.proxy_config).general_settings).database_url -}}proxy_config.general_settings.database_url
{{- else if and .Values.proxyConfigMap.create (hasKey (default dict (default dict .Values.proxy_config).environment_variables) "DATABASE_URL") -}}proxy_config.environment_variables
{{- else -}}
{{- range .Values.extraEnvVars -}}
{{- if has (toString .name) (list "DATABASE_URL" "DATABASE_HOST") -}}extraEnvVars{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* debug, info, warn, error, silent; the other chart's WARNING and CRITICAL are understood, and its LITELLM_LOG. */}}
{{- define "throughline.logLevel" -}}
{{- $level := lower (toString (default .Values.logLevel (default dict .Values.envVars).LITELLM_LOG)) -}}
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
{{/* What all ports of the container speak: what `scheme` says, else https where proxy_config or the environment names a certificate. */}}
{{- define "throughline.scheme" -}}
{{- $tls := (default dict (default dict .Values.proxy_config).general_settings).tls -}}
{{- $isSecure := or (not (empty $tls)) (ne (trim (toString (default "" (default dict .Values.envVars).SSL_CERTFILE_PATH))) "") -}}
{{- range .Values.extraEnvVars -}}
{{- if and (eq (toString .name) "SSL_CERTFILE_PATH") (or .valueFrom .value) -}}
{{- $isSecure = true -}}
{{- end -}}
{{- end -}}
{{- default (ternary "https" "http" $isSecure) .Values.scheme -}}
{{- end -}}
{{- define "throughline.testLabels" -}}
app.kubernetes.io/name: {{ include "throughline.name" . }}-test
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}
