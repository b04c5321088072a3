{{/* The rules of the configuration for names and addresses of models, as far as they can be judged before references are filled
in. test/charts/models.test.ts holds them to what the server says. */}}
{{- define "throughline.modelChecks" -}}
{{- if .Values.proxyConfigMap.create -}}
{{- $facts := .Files.Get "files/configuration.json" | fromJson -}}
{{- $general := default dict (default dict .Values.proxy_config).general_settings -}}
{{- $words := merge (dict) (default dict $general.dialect) $facts.dialect -}}
{{- $proxy := printf "%s_proxy" $words.brand -}}
{{- $compat := $words.compat -}}
{{- $rules := $facts.rules | replace $facts.prefixes.proxy $proxy | replace (printf "%s/NAME (compat" $facts.prefixes.compat) (printf "%s/NAME (compat" $compat) -}}
{{- $skips := not (has (lower (toString (default false $general.skip_unsupported_models))) (list "false" "")) -}}
{{- $isReference := printf "^%s" (replace "." "\\." $facts.reference) -}}
{{- $count := len (default list (default dict .Values.proxy_config).model_list) -}}
{{- $names := list -}}
{{- range $name, $entry := .Values.models }}{{ if $entry }}{{ $names = append $names $name }}{{ end }}{{ end -}}
{{- range $index, $entry := include "throughline.models" . | fromYamlArray -}}
{{- if kindIs "map" $entry -}}
{{- $at := printf "proxy_config.model_list[%d]" $index -}}
{{- if ge $index $count }}{{ $at = printf "models.%s" (index $names (sub $index $count | int)) }}{{ end -}}
{{- $params := default dict $entry.litellm_params -}}
{{- $model := toString (default "" $params.model) -}}
{{- $provider := toString (default "" $params.custom_llm_provider) -}}
{{- $prefix := default (ternary (first (splitList "/" $model)) "" (contains "/" $model)) $provider -}}
{{- $bare := and (not $prefix) (not (contains "/" $model)) -}}
{{- $isClaude := and $bare (regexMatch $facts.bareNames.anthropic $model) -}}
{{- if and $bare (regexMatch $facts.bareNames.openai $model) }}{{ $prefix = $compat }}{{ else if $isClaude }}{{ $prefix = "anthropic" }}{{ end -}}
{{- $isVendor := or $isClaude (and (has $prefix $facts.vendors) (not (has $prefix (list $proxy $compat)))) -}}
{{- $upstream := trimPrefix (printf "%s/" $prefix) $model -}}
{{- $isKnown := and (eq $prefix $compat) (or (contains "*" $upstream) (regexMatch $facts.bareNames.openai $upstream)) -}}
{{- if and $model (not (regexMatch $isReference $model)) (not (regexMatch $isReference $provider)) -}}
{{- if not (or $isVendor (has $prefix (list $proxy $compat))) -}}
{{- if not $skips }}
{{ $at }} ({{ $entry.model_name }}): {{ if hasKey $facts.signed $prefix }}calls of {{ $prefix | quote }} need {{ get $facts.signed $prefix }}, which this proxy does not make; let a gateway that does stand in front of it{{ else if $prefix }}{{ $prefix | quote }} is not a supported provider prefix{{ else }}{{ $model | quote }} has no provider prefix{{ end }} - write {{ $rules }} in litellm_params.model, or set proxy_config.general_settings.skip_unsupported_models: true to leave such models out.
{{- end }}
{{- else -}}
{{- include "throughline.baseChecks" (dict "at" $at "entry" $entry "isProxy" (eq $prefix $proxy) "isVendor" $isVendor "isLenient" (eq (toString $general.unknown_keys) "warn") "isKnown" (or $isVendor $isKnown $skips) "isReference" $isReference "wholeBases" $facts.wholeBases "prefix" $prefix) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "throughline.baseChecks" -}}
{{- $params := .entry.litellm_params -}}
{{- $key := ternary "base_url" "api_base" (and (not $params.api_base) (not (empty $params.base_url))) -}}
{{- $base := trim (toString (default "" (get $params $key))) -}}
{{- $who := printf "%s (%s): %s" .at .entry.model_name $key -}}
{{- if eq $base "" -}}
{{- if not (or $params.litellm_credential_name .isKnown) }}
{{ $who }} is missing - set litellm_params.api_base{{ if .isProxy }}, without /v1{{ else }}, with /v1{{ end }}; there is no default provider.
{{- end }}
{{- else if not (regexMatch .isReference $base) -}}
{{- $path := regexReplaceAll "^[a-zA-Z]+:/*[^/?#]*" $base "" | regexFind "^[^?#]*" | trimAll " " -}}
{{- $path = regexReplaceAll "/+$" $path "" -}}
{{- $place := printf "%s%s" (regexReplaceAll ":[0-9]+$" (regexReplaceAll "^[a-zA-Z]+:/*" (regexFind "^[a-zA-Z]+:/*[^/?#]*" $base) "" | lower) "") $path -}}
{{- if not (regexMatch "^[hH][tT][tT][pP][sS]?:" $base) }}
{{ $who }} must be a URL that begins with http:// or https:// - write for example https://gateway.example.com{{ if not .isProxy }}/v1{{ end }}.
{{- else if regexMatch "^[a-zA-Z]+:/*[^/?#]*@" $base }}
{{ $who }} must not contain credentials - put the key into litellm_params.api_key, as a reference to the environment.
{{- else if regexMatch "[?#]" $base }}
{{ $who }} must not contain a query or a fragment - remove it.
{{- else if regexMatch "/(chat/completions|completions|embeddings|responses|messages|models)$" $path }}
{{ $who }} must not name an endpoint, which the proxy appends - remove {{ regexFind "/(chat/completions|completions|embeddings|responses|messages|models)$" $path }} from it.
{{- else if or .isVendor .isLenient }}
{{- else if and .isProxy (hasSuffix "/v1" $path) }}
{{ $who }} must not end in /v1 for {{ .prefix }}/, because the proxy adds it - write {{ regexReplaceAll "(/+v1)+/*$" $base "" }}.
{{- else if and (not .isProxy) (not (regexMatch .wholeBases $place)) }}
{{ $who }} must include /v1 for {{ .prefix }}/, because endpoints are appended to it as it is - write {{ trimSuffix "/" $base }}/v1.
{{- end }}
{{- end -}}
{{- end -}}
