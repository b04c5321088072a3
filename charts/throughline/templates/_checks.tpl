{{/* What no schema can say: values that contradict each other, and values whose silence would be an outage. Every fault is told at
once, each in a sentence that names the value to change. */}}
{{- define "throughline.checks" -}}
{{ include "throughline.nameChecks" . }}
{{ include "throughline.podChecks" . }}
{{ include "throughline.scaleChecks" . }}
{{ include "throughline.networkChecks" . }}
{{ include "throughline.monitoringChecks" . }}
{{ include "throughline.databaseChecks" . }}
{{ include "throughline.modelChecks" . }}
{{- end -}}

{{/* A name that Kubernetes refuses would be told of only when it is applied, one object after the other. */}}
{{- define "throughline.nameChecks" -}}
{{- $isName := "^[a-z]([-a-z0-9]*[a-z0-9])?$" -}}
{{- with .Values.fullnameOverride -}}
{{- if not (regexMatch $isName .) }}
fullnameOverride is {{ quote . }}, which is no name of a Service - write lower-case letters, digits and -, beginning with a letter, for example llm-proxy.
{{- end }}
{{- if gt (len .) 52 }}
fullnameOverride has {{ len . }} characters, and names are made of it that may have 63 - write at most 52.
{{- end }}
{{- end -}}
{{- with .Values.nameOverride -}}
{{- if not (regexMatch "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$" .) }}
nameOverride is {{ quote . }}, which is no value of a label - write letters, digits and -, for example litellm.
{{- else if not (or $.Values.fullnameOverride (regexMatch $isName .)) }}
nameOverride is {{ quote . }}, and names of objects are made of it - write lower-case letters, digits and -, for example litellm, or set fullnameOverride.
{{- end }}
{{- end -}}
{{/* https://github.com/distribution/reference: name and tag. */}}
{{- with .Values.image -}}
{{- if and .tag (not (regexMatch "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$" (toString .tag))) }}
image.tag is {{ quote .tag }}, which is no tag - write letters, digits, _, . and - alone{{ if contains "sha256:" (toString .tag) }}, and put a digest into image.digest{{ end }}.
{{- end }}
{{- $path := regexReplaceAll "^[A-Za-z0-9.-]+:[0-9]+/" .repository "" -}}
{{- if contains ":" $path }}
image.repository is {{ quote .repository }} and holds a tag or a digest - move it to image.tag or image.digest.
{{- else if not (regexMatch "^([A-Za-z0-9.-]+(:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$" .repository) }}
image.repository is {{ quote .repository }}, which is no name of an image - write lower-case letters, digits, ., _, - and /, for example registry.example.com/llm/throughline.
{{- end }}
{{- end -}}
{{- end -}}

{{- define "throughline.podChecks" -}}
{{- $kind := include "throughline.kind" . -}}
{{- $most := int (include "throughline.mostPods" .) -}}
{{- if and .Values.persistence.enabled (eq $kind "Deployment") -}}
{{- $why := ternary "persistence.existingClaim" "kind: Deployment" (not (empty .Values.persistence.existingClaim)) -}}
{{- if gt $most 1 }}
{{ $why }} with persistence needs one pod, and there may be {{ $most }}: the data directory has one writer, so a second pod on the same volume would never start - set replicaCount: 1 without autoscaling, or kind: StatefulSet without an existingClaim for a volume per pod.
{{- end }}
{{- if not (has (default "Recreate" (default dict .Values.strategy).type) (list "Recreate")) }}
{{ $why }} with persistence needs the strategy Recreate: the new pod waits for the data directory that the old one holds, so a rolling update would never end - leave strategy empty, or set strategy.type: Recreate.
{{- end }}
{{- end -}}
{{- if eq $kind "StatefulSet" -}}
{{- if and .Values.persistence.enabled .Values.persistence.existingClaim }}
persistence.existingClaim cannot be used by a StatefulSet, which makes a claim for each pod - set kind: auto to run one pod on that claim, or leave persistence.existingClaim empty.
{{- end }}
{{- if or (eq (toString (default dict .Values.strategy).type) "Recreate") (hasKey (default dict (default dict .Values.strategy).rollingUpdate) "maxSurge") }}
strategy is one of a Deployment, and a StatefulSet runs the pods, which stops an old pod before it starts the new one - leave strategy empty, or set kind: Deployment.
{{- end }}
{{- if and (eq .Values.kind "auto") .Values.persistence.enabled (lookup "v1" "PersistentVolumeClaim" .Release.Namespace (printf "%s-data" (include "throughline.fullname" .))) }}
The claim {{ include "throughline.fullname" . }}-data holds what a Deployment of this release has recorded, and a StatefulSet would begin with an empty volume per pod - set persistence.existingClaim: {{ include "throughline.fullname" . }}-data to go on with it (one pod), or kind: StatefulSet to leave it aside.
{{- end }}
{{- end -}}
{{- if not .Values.proxyConfigMap.create -}}
{{- if not .Values.proxyConfigMap.name }}
proxyConfigMap.create is false and no ConfigMap is named - set proxyConfigMap.name, or create: true to render proxy_config.
{{- end }}
{{- if .Values.models }}
models is set, but proxyConfigMap.create is false, so nothing would read it - move the models to that ConfigMap, or set proxyConfigMap.create: true.
{{- end }}
{{- end -}}
{{- with .Values.lifecycle -}}
{{- $stop := int (include "throughline.stopSeconds" $) -}}
{{- $grace := int $.Values.terminationGracePeriodSeconds -}}
{{- if lt (sub $grace $stop) 10 }}
lifecycle.preStop takes {{ $stop }} s of the {{ $grace }} s of terminationGracePeriodSeconds, so calls that run and their records would be cut - remove lifecycle (preStopSleepSeconds does the same), or raise terminationGracePeriodSeconds to {{ add $stop 60 }} or more.
{{- end }}
{{- if hasSuffix "/health/drain" (toString (default dict (default dict .preStop).httpGet).path) }}
lifecycle.preStop asks for {{ .preStop.httpGet.path }}, which this proxy does not have: the hook would fail, and the pod stop while connections still arrive - remove lifecycle; a stopping pod waits preStopSleepSeconds, and then drains by itself.
{{- end }}
{{- end -}}
{{- $user := get (default dict .Values.securityContext) "runAsUser" -}}
{{- if kindIs "string" $user }}{{ $user = get (default dict .Values.podSecurityContext) "runAsUser" }}{{ end -}}
{{- $mayNot := get (default dict .Values.securityContext) "runAsNonRoot" -}}
{{- if not (kindIs "bool" $mayNot) }}{{ $mayNot = get (default dict .Values.podSecurityContext) "runAsNonRoot" }}{{ end -}}
{{- if and (eq (toString $user) "0") (eq (toString $mayNot) "true") }}
runAsUser is 0, and podSecurityContext.runAsNonRoot (true unless the values say otherwise) has Kubernetes refuse to start such a container - remove runAsUser: the proxy needs no rights of root.
{{- end }}
{{- if regexMatch "(^|/)berriai/litellm[a-z_-]*$" .Values.image.repository }}
image.repository is {{ quote .Values.image.repository }}, the image of LiteLLM, which cannot be run like this one - set image.repository and image.tag to those of Throughline.
{{- end }}
{{- with .Values.command -}}
{{- if regexMatch "(^|[;&|] *|exec )([^ ]*/)?(litellm|python3?|uvicorn|gunicorn|ddtrace-run|prod_entrypoint\\.sh)( |$)" (join " " .) }}
command runs {{ join " " . | quote }}, a program of LiteLLM's image, which is not in this one - remove command; args may stay.
{{- end }}
{{- end -}}
{{- $port := "4000" -}}
{{- if kindIs "slice" .Values.args -}}
{{- $port = regexFind "(^| )--port[ =][0-9]+" (join " " .Values.args) | regexFind "[0-9]+$" | default "4000" -}}
{{- end -}}
{{- if ne $port "4000" }}
args say --port {{ $port }}, but the container listens on 4000, where probes and the Service look - remove it, and set service.port for another port of the Service.
{{- end }}
{{- range .Values.extraEnvVars -}}
{{- if and (eq (toString .name) "PORT") (ne (toString .value) "4000") }}
extraEnvVars sets PORT, but the container listens on 4000, where probes and the Service look - remove it, and set service.port for another port of the Service.
{{- end }}
{{- end -}}
{{- range $name, $value := .Values.envVars -}}
{{- if and (eq $name "PORT") (ne (include "throughline.text" $value) "4000") }}
envVars.PORT is {{ include "throughline.text" $value }}, but the container listens on 4000, where probes and the Service look - remove it, and set service.port for another port of the Service.
{{- end }}
{{- end -}}
{{- end -}}

{{- define "throughline.scaleChecks" -}}
{{- $least := int (include "throughline.leastPods" .) -}}
{{- with .Values.autoscaling -}}
{{- if .enabled -}}
{{- if gt (int .minReplicas) (int .maxReplicas) }}
autoscaling.minReplicas is {{ .minReplicas }}, more than autoscaling.maxReplicas ({{ .maxReplicas }}) - lower the one or raise the other.
{{- end }}
{{- if not (or .targetCPUUtilizationPercentage .targetMemoryUtilizationPercentage .metrics) }}
autoscaling.enabled has nothing to scale by - set autoscaling.targetCPUUtilizationPercentage, or state autoscaling.metrics.
{{- end }}
{{- range list "targetRequestsPerSecond" "targetTokensPerSecond" }}
{{- if get $.Values.autoscaling . }}
autoscaling.{{ . }} is set, and it names a metric of LiteLLM, which this proxy does not have - remove it, and state autoscaling.metrics instead.
{{- end }}
{{- end -}}
{{- $containers := prepend (default list $.Values.extraContainers) (dict "name" (include "throughline.name" $) "resources" $.Values.resources "isOurs" true) -}}
{{- $targets := dict "cpu" (list "targetCPUUtilizationPercentage" .targetCPUUtilizationPercentage "500m") "memory" (list "targetMemoryUtilizationPercentage" .targetMemoryUtilizationPercentage "512Mi") -}}
{{- range $resource, $target := $targets -}}
{{- if index $target 1 -}}
{{- range $containers -}}
{{- $resources := default dict .resources -}}
{{- if not (or (hasKey (default dict $resources.requests) $resource) (hasKey (default dict $resources.limits) $resource)) }}
autoscaling.{{ first $target }} is a share of the request for {{ $resource }}, and the container {{ .name }} has none, so nothing would ever be scaled - set {{ if .isOurs }}resources.requests.{{ $resource }}{{ else }}its resources.requests.{{ $resource }} in extraContainers{{ end }}, for example {{ last $target }}, or autoscaling.{{ first $target }}: 0.
{{- end }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.keda -}}
{{- if .enabled -}}
{{- if $.Values.autoscaling.enabled }}
autoscaling.enabled and keda.enabled would both set the number of pods - set one of them to false.
{{- end }}
{{- if gt (int .minReplicas) (int .maxReplicas) }}
keda.minReplicas is {{ .minReplicas }}, more than keda.maxReplicas ({{ .maxReplicas }}) - lower the one or raise the other.
{{- end }}
{{- if not .triggers }}
keda.enabled has nothing to scale by - state keda.triggers.
{{- end }}
{{- $asked := default dict (get . "prometheus") -}}
{{- if or $asked.requestsPerSecond $asked.tokensPerSecond }}
keda.prometheus asks for metrics of LiteLLM, which this proxy does not have - remove its numbers, and state a trigger of type prometheus in keda.triggers instead.
{{- end }}
{{- end -}}
{{- end -}}
{{- if and .Values.pdb.enabled (gt $least 0) -}}
{{- $min := toString (default "" .Values.pdb.minAvailable) -}}
{{- $max := toString (default "" .Values.pdb.maxUnavailable) -}}
{{- if kindIs "float64" .Values.pdb.minAvailable }}{{ $min = toString (int .Values.pdb.minAvailable) }}{{ end -}}
{{- if kindIs "float64" .Values.pdb.maxUnavailable }}{{ $max = toString (int .Values.pdb.maxUnavailable) }}{{ end -}}
{{- if ne $min "" -}}
{{- $kept := int (trimSuffix "%" $min) -}}
{{- if hasSuffix "%" $min }}{{ $kept = div (add (mul $kept $least) 99) 100 | int }}{{ end -}}
{{- if ge $kept $least }}
pdb.minAvailable is {{ $min }} and there may be no more than {{ $least }} pod{{ if gt $least 1 }}s{{ end }}, so no node that runs one could ever be drained - set pdb.minAvailable to {{ if gt $least 1 }}{{ sub $least 1 }} or less{{ else }}null and pdb.maxUnavailable: 1{{ end }}, or raise replicaCount (with autoscaling, minReplicas).
{{- end }}
{{- else if has $max (list "0" "0%") }}
pdb.maxUnavailable is {{ $max }}, so no node that runs a pod could ever be drained - set pdb.maxUnavailable: 1.
{{- end }}
{{- end -}}
{{- end -}}

{{- define "throughline.networkChecks" -}}
{{- $admin := include "throughline.adminPort" . -}}
{{- $platform := include "throughline.platformPort" . -}}
{{- if eq $admin "4000" }}
adminPort is 4000, the port of the proxy itself - choose another one, for example 4002.
{{- end }}
{{- if eq $platform "4000" }}
The port of the platform interface is 4000, the port of the proxy itself - choose another proxy_config.platform.port, for example 4001, or leave it out to have /api served on 4000.
{{- end }}
{{- if and (ne $admin "") (eq $admin $platform) }}
adminPort and the port of the platform interface are both {{ $admin }} - choose another one, for example adminPort: 4002.
{{- end }}
{{- if and .Values.proxyConfigMap.create (default dict (default dict (default dict .Values.proxy_config).general_settings).tls).client_ca_file }}
proxy_config.general_settings.tls.client_ca_file has the proxy serve nobody without a client certificate, and probes of Kubernetes show none, so no pod would ever be ready - remove it, and ask clients for certificates in front of the pods (an Ingress, istio.gateway.tls.mode: MUTUAL).
{{- end }}
{{- $names := dict "http" true "platform" (ne $platform "") -}}
{{- if .Values.ingress.enabled -}}
{{- range .Values.ingress.hosts -}}
{{- range .paths -}}
{{- if not (get $names (default "http" .port)) }}
ingress.hosts leads {{ .path }} to the port {{ .port }}, which there is not - set proxy_config.platform.port, or remove the port from the path.
{{- end }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.gatewayName) }}
httpRoute.enabled needs the Gateway that it belongs to - set httpRoute.gatewayName.
{{- end }}
{{- with .Values.istio -}}
{{- if .enabled -}}
{{- if and (or .gateway.enabled .virtualService.enabled) (not .hosts) }}
istio.enabled needs the host names that are served - set istio.hosts.
{{- end }}
{{- if and .virtualService.enabled (not .gateway.enabled) (not .virtualService.gateways) }}
istio.virtualService belongs to no Gateway - set istio.gateway.enabled: true, or name one in istio.virtualService.gateways.
{{- end }}
{{- if and .gateway.enabled .gateway.tls.enabled (has .gateway.tls.mode (list "SIMPLE" "MUTUAL")) (not .gateway.tls.credentialName) }}
istio.gateway.tls.mode {{ .gateway.tls.mode }} needs a certificate - set istio.gateway.tls.credentialName.
{{- end }}
{{- if not (or .gateway.enabled .virtualService.enabled .destinationRule.enabled) }}
istio.enabled creates nothing, because its parts are off - set istio.gateway.enabled, istio.virtualService.enabled or istio.destinationRule.enabled.
{{- end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "throughline.monitoringChecks" -}}
{{- if and .Values.serviceMonitor.enabled .Values.podMonitor.enabled }}
serviceMonitor.enabled and podMonitor.enabled would have each pod scraped twice - set one of them to false.
{{- end }}
{{- with .Values.networkPolicy -}}
{{- if and .enabled (include "throughline.adminPort" $) (or $.Values.serviceMonitor.enabled $.Values.podMonitor.enabled) (not .adminFrom) (not .extraIngress) }}
{{ ternary "serviceMonitor" "podMonitor" $.Values.serviceMonitor.enabled }} has Prometheus scrape the admin port, to which the NetworkPolicy lets nobody - set networkPolicy.adminFrom to the namespace of Prometheus, for example [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}].
{{- end }}
{{- end -}}
{{- $known := list -}}
{{- range $path, $_ := .Files.Glob "rules/*.yaml" -}}
{{- range ($.Files.Get $path | fromYaml).groups -}}
{{- range .rules -}}
{{- if .alert -}}{{- $known = append $known .alert -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $_ := .Values.prometheusRule.alerts -}}
{{- if not (has $name $known) }}
prometheusRule.alerts changes {{ $name }}, which the chart does not have - {{ if $known }}write one of {{ join ", " $known }}, or {{ end }}state alerts of your own in prometheusRule.extraGroups.
{{- end }}
{{- end -}}
{{- end -}}

{{- define "throughline.databaseChecks" -}}
{{- with .Values.redis -}}
{{- if .enabled }}
redis.enabled is true, but this chart brings no Redis - install Valkey or Redis beside it, name the Secret with its URL in valkeySecretName, and set redis.enabled: false.
{{- end }}
{{- end -}}
{{- if and .Values.db.useExisting (not .Values.databaseSecretName) (not .Values.db.secret.name) (contains "$(DATABASE_USERNAME)" .Values.db.url) }}
db.useExisting needs the Secret with user and password - set db.secret.name, or name a Secret with the whole URL in databaseSecretName.
{{- end }}
{{- $config := default dict .Values.proxy_config -}}
{{- $most := int (include "throughline.mostPods" .) -}}
{{- if and (gt $most 1) .Values.proxyConfigMap.create (not (include "throughline.database" .)) -}}
{{- $lost := list -}}
{{- if eq (lower (toString (default dict $config.general_settings).store_model_in_db)) "true" -}}
{{- $lost = append $lost "proxy_config.general_settings.store_model_in_db keeps models" -}}
{{- end -}}
{{- if $config.platform -}}
{{- $lost = append $lost "proxy_config.platform keeps conversations and keys" -}}
{{- end -}}
{{- if $lost }}
There may be {{ $most }} pods and no database, while {{ join ", and " $lost }}, which would be in one pod and unknown to the others - set databaseSecretName to the Secret that holds DATABASE_URL (it may be one of environmentSecrets), or replicaCount: 1 without autoscaling.
{{- end }}
{{- end -}}
{{- end -}}
