{{/* The environment of the container. A name stands once: server-side apply refuses a list that has one twice, so envVars go before
ours, and extraEnvVars before both. What is left keeps its order, since `$(NAME)` sees only what stands above it. */}}
{{- define "throughline.ownEnv" -}}
- name: HOST
  value: {{ .Values.listen | quote }}
- name: PORT
  value: "4000"
- name: CONFIG_FILE_PATH
  value: /etc/litellm/config.yaml
- name: THROUGHLINE_DATA_DIR
  value: /var/lib/throughline
{{- with include "throughline.logLevel" . }}
- name: THROUGHLINE_LOG_LEVEL
  value: {{ . }}
{{- end }}
{{- with default .Values.numWorkers .Values.workers }}
- name: THROUGHLINE_WORKERS
  value: {{ include "throughline.text" . | quote }}
{{- end }}
- name: PROXY_MASTER_KEY
  valueFrom:
    secretKeyRef:
      name: {{ include "throughline.masterkeySecretName" . }}
      key: {{ include "throughline.masterkeySecretKey" . }}
{{- range $index, $one := .Values.inferenceKeys }}
- name: INFERENCE_KEY_{{ $index }}
  valueFrom:
    secretKeyRef:
      name: {{ $one.secretName }}
      key: {{ default $one.name $one.secretKey }}
{{- end }}
{{- if .Values.databaseSecretName }}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.databaseSecretName }}
      key: {{ default "DATABASE_URL" .Values.databaseSecretKey }}
{{- else if .Values.db.useExisting }}
{{- with .Values.db }}
{{- if .secret.name }}
- name: DATABASE_USERNAME
  valueFrom:
    secretKeyRef:
      name: {{ .secret.name }}
      key: {{ default "username" .secret.usernameKey }}
- name: DATABASE_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .secret.name }}
      key: {{ default "password" .secret.passwordKey }}
{{- end }}
- name: DATABASE_HOST
  {{- if and .secret.name .secret.endpointKey }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret.name }}
      key: {{ .secret.endpointKey }}
  {{- else }}
  value: {{ .endpoint | quote }}
  {{- end }}
- name: DATABASE_NAME
  value: {{ .database | quote }}
- name: DATABASE_URL
  value: {{ .url | quote }}
{{- end }}
{{- end }}
{{- if .Values.valkeySecretName }}
- name: REDIS_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.valkeySecretName }}
      key: {{ default "REDIS_URL" .Values.valkeySecretKey }}
{{- end }}
{{- range $name, $value := .Values.envVars }}
- name: {{ $name }}
  value: {{ include "throughline.text" $value | quote }}
{{- end }}
{{- end -}}

{{- define "throughline.env" -}}
{{- $all := include "throughline.ownEnv" . | fromYamlArray -}}
{{- range .Values.extraEnvVars -}}
{{- $all = append $all . -}}
{{- end -}}
{{- $seen := dict -}}
{{- $kept := list -}}
{{- range reverse $all -}}
{{- if not (hasKey $seen .name) -}}
{{- $kept = prepend $kept . -}}
{{- end -}}
{{- $_ := set $seen .name true -}}
{{- end -}}
{{- toYaml $kept -}}
{{- end -}}

{{/* Ours, but those whose place a mount of the values takes, and the values'. */}}
{{- define "throughline.volumeMounts" -}}
{{- $taken := dict -}}
{{- range .Values.volumeMounts -}}
{{- $_ := set $taken (trimSuffix "/" (toString .mountPath)) true -}}
{{- end -}}
{{- if not (hasKey $taken "/etc/litellm") }}
# A folder, not a file by subPath: kubelet never updates a subPath mount.
- name: litellm-config
  mountPath: /etc/litellm
  readOnly: true
{{- end }}
{{- if not (hasKey $taken "/var/lib/throughline") }}
- name: data
  mountPath: /var/lib/throughline
{{- end }}
{{- if not (hasKey $taken "/tmp") }}
- name: tmp
  mountPath: /tmp
{{- end }}
{{- with .Values.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The same for volumes, by name. A StatefulSet's claims are volumes by themselves. */}}
{{- define "throughline.volumes" -}}
{{- $taken := dict -}}
{{- range .Values.volumes -}}
{{- $_ := set $taken (toString .name) true -}}
{{- end -}}
{{- if not (hasKey $taken "litellm-config") }}
- name: litellm-config
  configMap:
    {{- if .Values.proxyConfigMap.create }}
    name: {{ include "throughline.fullname" . }}-config
    {{- else }}
    name: {{ .Values.proxyConfigMap.name }}
    {{- if ne (default "config.yaml" .Values.proxyConfigMap.key) "config.yaml" }}
    items:
      - key: {{ .Values.proxyConfigMap.key }}
        path: config.yaml
    {{- end }}
    {{- end }}
{{- end }}
{{- if not (hasKey $taken "data") }}
{{- if not .Values.persistence.enabled }}
- name: data
  emptyDir: {}
{{- else if eq (include "throughline.kind" .) "Deployment" }}
- name: data
  persistentVolumeClaim:
    claimName: {{ include "throughline.claimName" . }}
{{- end }}
{{- end }}
{{- if not (hasKey $taken "tmp") }}
- name: tmp
  emptyDir: {}
{{- end }}
{{- with .Values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
