{{/* What no schema can say: values that contradict each other, and values of the other chart whose silence would be an
outage. Each sentence says what is wrong and how to mend it. */}}
{{- define "throughline.checks" -}}
{{- if .Values.persistence.enabled -}}
{{- if or (gt (int .Values.replicaCount) 1) .Values.autoscaling.enabled -}}
{{- fail "\n\npersistence.enabled needs replicaCount 1 and no autoscaling: the data directory has one writer, so a second pod on the same volume would never start - set replicaCount: 1, or persistence.enabled: false for several pods.\n" -}}
{{- end -}}
{{- if not (has (default "Recreate" .Values.strategy.type) (list "Recreate")) -}}
{{- fail "\n\npersistence.enabled needs the strategy Recreate: the new pod waits for the data directory that the old one holds, so a rolling update would never end - leave strategy empty, or set strategy.type: Recreate.\n" -}}
{{- end -}}
{{- end -}}
{{- if and (not .Values.proxyConfigMap.create) (not .Values.proxyConfigMap.name) -}}
{{- fail "\n\nproxyConfigMap.create is false and no ConfigMap is named - set proxyConfigMap.name, or create: true to render proxy_config.\n" -}}
{{- end -}}
{{- if eq (include "throughline.adminPort" .) "4000" -}}
{{- fail "\n\nadminPort is 4000, the port of the proxy itself - choose another one, for example 4002.\n" -}}
{{- end -}}
{{- range list "keda" "httpRoute" "istio" -}}
{{- if (default dict (get $.Values .)).enabled -}}
{{- fail (printf "\n\n%s.enabled is true, but this chart does not make its objects - set %s.enabled: false and state them in extraResources.\n" . .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
