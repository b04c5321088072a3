{{/* The entries of model_list: those of proxy_config, then those of the map `models` by name. */}}
{{- define "throughline.models" -}}
{{- $list := default list (default dict .Values.proxy_config).model_list -}}
{{- range $name, $entry := .Values.models -}}
{{- if $entry -}}
{{- $list = append $list (merge (dict) $entry (dict "model_name" $name)) -}}
{{- end -}}
{{- end -}}
{{- toYaml $list -}}
{{- end -}}

{{/* Seconds that a pod is held before the signal to stop: by the hook of the values where it says so, else by ours. */}}
{{- define "throughline.stopSeconds" -}}
{{- $hook := default dict (default dict .Values.lifecycle).preStop -}}
{{- $command := join " " (default list (default dict $hook.exec).command) -}}
{{- $slept := regexFind "\\bsleep +[0-9]+" $command | regexFind "[0-9]+$" -}}
{{- $waited := regexFind "setTimeout\\([^0-9]*, *[0-9]+" $command | regexFind "[0-9]+$" -}}
{{- if and .Values.lifecycle (not $hook) -}}0
{{- else if $hook.sleep -}}{{ int $hook.sleep.seconds }}
{{- else if $slept -}}{{ $slept }}
{{- else if $waited -}}{{ div (add (int64 $waited) 999) 1000 }}
{{- else -}}{{ int .Values.preStopSleepSeconds }}
{{- end -}}
{{- end -}}

{{/* The configuration file: proxy_config, the models by name, the admin port, Valkey and the keys of inferenceKeys by reference,
and how long running requests may go on after a stop signal, so that they end before the pod is killed. A killed pod cuts its
streams without a word and loses the records of an emptyDir. */}}
{{- define "throughline.config" -}}
{{- $config := deepCopy (default dict .Values.proxy_config) -}}
{{- $general := default dict $config.general_settings -}}
{{- if .Values.models -}}
{{- $_ := set $config "model_list" (include "throughline.models" . | fromYamlArray) -}}
{{- end -}}
{{- $router := default dict $config.router_settings -}}
{{- $cache := (default dict $config.litellm_settings).cache_params -}}
{{- if and .Values.valkeySecretName (not (or $router.redis_url $router.redis_host $cache)) -}}
{{- $_ := set $config "router_settings" (set $router "redis_url" "os.environ/REDIS_URL") -}}
{{- end -}}
{{- $stop := int (include "throughline.stopSeconds" .) -}}
{{- $left := sub (int .Values.terminationGracePeriodSeconds) $stop -}}
{{- if kindIs "invalid" $general.drain_seconds -}}
{{- $_ := set $general "drain_seconds" (max (sub $left 30) (div $left 2)) -}}
{{- else if regexMatch "^\\s*[0-9]+(\\.[0-9]+)?\\s*$" (toString $general.drain_seconds) -}}
{{- $drain := toString $general.drain_seconds | trim | float64 | ceil | int -}}
{{- if gt (int64 $drain) (max (sub $left 25) (div $left 2)) -}}
{{- fail (printf "\n\nproxy_config.general_settings.drain_seconds is %d, but terminationGracePeriodSeconds %d and %s %d leave %d s, of which what follows the drain needs 25 (readers that are slow, tokens that are counted, what else is open, records): the pod could be killed with records unwritten - raise terminationGracePeriodSeconds to %d, or leave drain_seconds out to have it follow.\n" $drain (int .Values.terminationGracePeriodSeconds) (ternary "lifecycle.preStop" "preStopSleepSeconds" (not (empty .Values.lifecycle))) $stop $left (add $drain $stop 30)) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.adminPort (kindIs "invalid" $general.admin_port) -}}
{{- $_ := set $general "admin_port" (int .Values.adminPort) -}}
{{- end -}}
{{- if .Values.inferenceKeys -}}
{{- $keys := default list $general.inference_keys -}}
{{- range $index, $one := .Values.inferenceKeys -}}
{{- $keys = append $keys (dict "key" (printf "os.environ/INFERENCE_KEY_%d" $index) "name" $one.name) -}}
{{- end -}}
{{- $_ := set $general "inference_keys" $keys -}}
{{- end -}}
{{- $_ := set $config "general_settings" $general -}}
{{- toYaml $config -}}
{{- end -}}

{{/* The settings that a running process cannot change, as schemas/gateway.json marks them, and the environment_variables that they are
made of: one a line. Their checksum is an annotation of the pods. */}}
{{- define "throughline.restartSettings" -}}
{{- $config := include "throughline.config" . | fromYaml -}}
{{- $facts := .Files.Get "files/configuration.json" | fromJson -}}
{{- $referred := list -}}
{{- range $facts.restart }}
{{- $node := $config -}}
{{- range splitList "." .path -}}
{{- $above := $node -}}
{{- $node = "" -}}
{{- if kindIs "map" $above }}{{ $node = get $above . }}{{ end -}}
{{- end -}}
{{- /* An empty mapping switches something on: `otel: {}`. */ -}}
{{- if or (kindIs "map" $node) (not (empty $node)) }}
{{ .path }}{{ if not .onlyPresence }}={{ toJson $node }}{{ end }}
{{- end }}
{{- if not .onlyPresence -}}
{{- range regexFindAll (printf "\"%s[^\"]+\"" (regexQuoteMeta $facts.reference)) (toJson $node) -1 -}}
{{- $referred = append $referred (trimAll "\"" . | trimPrefix $facts.reference) -}}
{{- end -}}
{{- end -}}
{{- end }}
{{- range $name, $value := default dict $config.environment_variables -}}
{{- if or (regexMatch $facts.startVariables $name) (has $name $referred) (has (trimSuffix "_FILE" $name) $referred) }}
environment_variables.{{ $name }}={{ toJson $value }}
{{- end }}
{{- end }}
{{- end -}}
