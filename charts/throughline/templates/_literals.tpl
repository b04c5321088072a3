{{/* Where the configuration holds a secret itself instead of a reference to the environment: one path a line. */}}
{{- define "throughline.literals" -}}
{{- $facts := .Files.Get "files/configuration.json" | fromJson -}}
{{- $config := include "throughline.config" . | fromYaml -}}
{{- range $facts.secrets }}
{{- include "throughline.literalsAt" (dict "node" $config "steps" (splitList "." .) "at" "" "byName" false) }}
{{- end }}
{{- range $facts.secretsByName }}
{{- include "throughline.literalsAt" (dict "node" $config "steps" (splitList "." .) "at" "" "byName" true) }}
{{- end }}
{{- end -}}

{{/* node below at; steps that are left; byName = a header or variable, which is a secret when it is called like one. */}}
{{- define "throughline.literalsAt" -}}
{{- $self := . -}}
{{- if not .steps -}}
{{- /* One condition in the other: Helm of 2021 works out all parts of an `and`. */ -}}
{{- if kindIs "string" .node -}}
{{- if and .node (not (hasPrefix "os.environ/" .node)) -}}
{{- if or (not .byName) (regexMatch "(?i)(auth|key|token|secret|passw|cookie|credential)" (splitList "." .at | last)) }}
{{ trimPrefix "." .at }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- $step := first .steps -}}
{{- if and (eq $step "*") (or (kindIs "map" .node) (kindIs "slice" .node)) -}}
{{- range $index, $inner := .node -}}
{{- $at := ternary (printf "%s[%v]" $self.at $index) (printf "%s.%v" $self.at $index) (kindIs "slice" $self.node) -}}
{{- include "throughline.literalsAt" (dict "node" $inner "steps" (rest $self.steps) "at" $at "byName" $self.byName) -}}
{{- end -}}
{{- else if kindIs "map" .node -}}
{{- if hasKey .node $step -}}
{{- include "throughline.literalsAt" (dict "node" (get .node $step) "steps" (rest .steps) "at" (printf "%s.%s" .at $step) "byName" .byName) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
