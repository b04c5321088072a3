{{/* The pod, as Deployment and StatefulSet run it. */}}
{{- define "throughline.pod" -}}
metadata:
  {{- $checksum := "" }}
  {{- if .Values.proxyConfigMap.create }}
  {{- $checksum = include (ternary "throughline.config" "throughline.restartSettings" .Values.restartOnConfigChange) . | sha256sum }}
  {{- end }}
  {{- $annotations := merge (dict) (default dict .Values.podAnnotations) (ternary (dict "checksum/config" $checksum) (dict) (ne $checksum "")) }}
  {{- with $annotations }}
  annotations:
    {{- range $name, $text := . }}
    {{ $name }}: {{ include "throughline.filledIn" (list $text $) | quote }}
    {{- end }}
  {{- end }}
  labels:
    {{- toYaml (merge (include "throughline.selectorLabels" . | fromYaml) (default dict .Values.podLabels) (default dict .Values.commonLabels)) | nindent 4 }}
spec:
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  serviceAccountName: {{ include "throughline.serviceAccountName" . }}
  automountServiceAccountToken: {{ or .Values.serviceAccount.automount (eq (include "throughline.runsSandboxes" .) "true") }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.dnsPolicy }}
  dnsPolicy: {{ . }}
  {{- end }}
  {{- with .Values.dnsConfig }}
  dnsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.hostAliases }}
  hostAliases:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- with .Values.extraInitContainers }}
  initContainers:
    {{- include "throughline.filledIn" (list (toYaml .) $) | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ include "throughline.name" . }}
      image: {{ include "throughline.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      {{- with .Values.command }}
      command:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      args:
        {{- if .Values.args }}
        {{- toYaml .Values.args | nindent 8 }}
        {{- else }}
        - serve
        - --config
        - /etc/litellm/config.yaml
        {{- end }}
      env:
        {{- include "throughline.env" . | nindent 8 }}
      {{- if or .Values.environmentSecrets .Values.environmentConfigMaps }}
      envFrom:
        {{- range .Values.environmentSecrets }}
        - secretRef:
            name: {{ . }}
        {{- end }}
        {{- range .Values.environmentConfigMaps }}
        - configMapRef:
            name: {{ . }}
        {{- end }}
      {{- end }}
      ports:
        - name: http
          containerPort: 4000
          protocol: TCP
        {{- with include "throughline.platformPort" . }}
        - name: platform
          containerPort: {{ . }}
          protocol: TCP
        {{- end }}
        {{- with include "throughline.adminPort" . }}
        - name: admin
          containerPort: {{ . }}
          protocol: TCP
        {{- end }}
      {{- range $probe := list "startupProbe" "livenessProbe" "readinessProbe" }}
      {{- with get $.Values $probe }}
      {{ $probe }}:
        httpGet:
          path: {{ .path }}
          port: http
          {{- if eq (include "throughline.scheme" $) "https" }}
          scheme: HTTPS
          {{- end }}
        {{- with omit . "path" }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- end }}
      {{- if .Values.lifecycle }}
      lifecycle:
        {{- toYaml .Values.lifecycle | nindent 8 }}
      {{- else if .Values.preStopSleepSeconds }}
      lifecycle:
        preStop:
          {{- if semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version }}
          # By kubelet, which needs no program in the image for it.
          sleep:
            seconds: {{ .Values.preStopSleepSeconds }}
          {{- else }}
          exec:
            command: [sleep, {{ .Values.preStopSleepSeconds | quote }}]
          {{- end }}
      {{- end }}
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        {{- include "throughline.volumeMounts" . | trim | nindent 8 }}
    {{- with .Values.extraContainers }}
    {{- include "throughline.filledIn" (list (toYaml .) $) | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "throughline.volumes" . | trim | nindent 4 }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "throughline.spread" . | fromYamlArray }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* Constraints without a labelSelector get the labels of the pods: without one they would spread nothing. matchLabelKeys counts
the pods of one revision alone, so that those of the last one do not push new ones aside (Kubernetes 1.27). */}}
{{- define "throughline.spread" -}}
{{- $constraints := .Values.topologySpreadConstraints -}}
{{- if and (not $constraints) .Values.defaultTopologySpread -}}
{{- $constraints = list -}}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" -}}
{{- $constraints = append $constraints (dict "maxSkew" 1 "topologyKey" . "whenUnsatisfiable" "ScheduleAnyway") -}}
{{- end -}}
{{- end -}}
{{- $labels := include "throughline.selectorLabels" . | fromYaml -}}
{{- $revision := ternary "pod-template-hash" "controller-revision-hash" (eq (include "throughline.kind" .) "Deployment") -}}
{{- $out := list -}}
{{- range $constraints -}}
{{- $one := deepCopy . -}}
{{- if not (hasKey $one "labelSelector") -}}
{{- $_ := set $one "labelSelector" (dict "matchLabels" $labels) -}}
{{- if and (semverCompare ">=1.27-0" $.Capabilities.KubeVersion.Version) (not (hasKey $one "matchLabelKeys")) -}}
{{- $_ := set $one "matchLabelKeys" (list $revision) -}}
{{- end -}}
{{- end -}}
{{- $out = append $out $one -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}
