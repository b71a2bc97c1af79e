{{/*
The prefix of the names of all objects: the release's name, with "ullage" in it.
With "-injector", it is the name of a Service, which has 63 characters at most.
*/}}
{{- define "ullage.name" -}}
{{- $name := .Values.fullnameOverride | default .Release.Name -}}
{{- if not (or .Values.fullnameOverride (contains "ullage" $name)) -}}
{{- $name = printf "%s-ullage" $name -}}
{{- end -}}
{{- $name | trunc 45 | trimSuffix "-" -}}
{{- end }}

{{/* The name of the injector: of its Deployment, Service, and so on. */}}
{{- define "ullage.injector" -}}
{{ include "ullage.name" . }}-injector
{{- end }}

{{/*
The Secret with the webhook's certificate. cert-manager's Secret has another name than
the self-made one, which has another type and is deleted when it is not used.
*/}}
{{- define "ullage.certificateSecret" -}}
{{- if .Values.certificates.certManager.enabled -}}
{{ include "ullage.injector" . }}-tls
{{- else -}}
{{ .Values.certificates.secretName | default (printf "%s-certificate" (include "ullage.injector" .)) }}
{{- end -}}
{{- end }}

{{/* The service account of the injectors. */}}
{{- define "ullage.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "ullage.injector" .) }}
{{- end }}

{{/* "true" if the injector makes its own certificate; else empty. */}}
{{- define "ullage.selfMade" -}}
{{- if not (or .Values.certificates.certManager.enabled .Values.certificates.secretName) }}true{{ end -}}
{{- end }}

{{/* "true" if the injector uses the API; else empty. */}}
{{- define "ullage.usesAPI" -}}
{{- if or (include "ullage.selfMade" .) .Values.events.enabled }}true{{ end -}}
{{- end }}

{{/* The labels that select the injector's pods. An upgrade can't change them. */}}
{{- define "ullage.selectorLabels" -}}
app.kubernetes.io/name: ullage-injector
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* The labels of the injector's objects. */}}
{{- define "ullage.labels" -}}
{{ include "ullage.objectLabels" (dict "root" . "name" "ullage-injector") }}
{{- end }}

{{/*
The labels of an object: (dict "root" $ "name" NAME "more" LABELS "value" WHERE). LABELS
are the user's labels, from the value WHERE.
*/}}
{{- define "ullage.objectLabels" -}}
{{- $own := dict "app.kubernetes.io/version" .root.Chart.AppVersion "app.kubernetes.io/managed-by" .root.Release.Service
      "helm.sh/chart" (printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_")) -}}
{{ include "ullage.mergedLabels" (merge (dict "own" $own) .) }}
{{- end }}

{{/* The labels of a pod, as above. */}}
{{- define "ullage.podLabels" -}}
{{ include "ullage.mergedLabels" (merge (dict "own" dict) .) }}
{{- end }}

{{/*
The chart's own labels, the user's, and those of commonLabels. If users could change one
of the chart's labels, it would no longer select what it must.
*/}}
{{- define "ullage.mergedLabels" -}}
{{- $own := merge (dict "app.kubernetes.io/name" .name "app.kubernetes.io/instance" .root.Release.Name "app.kubernetes.io/part-of" "ullage") .own -}}
{{- range $value, $labels := dict "commonLabels" (.root.Values.commonLabels | default dict) (.value | default "none") (.more | default dict) -}}
{{- range $label := keys $labels -}}
{{- if hasKey $own $label -}}
{{- fail (printf "%s: the label %s is the chart's own" $value $label) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- merge $own (.more | default dict) (.root.Values.commonLabels | default dict) | toYaml -}}
{{- end }}

{{/* "true" if the name of an image begins with a registry; else empty. */}}
{{- define "ullage.qualified" -}}
{{- if regexMatch "^(localhost|[^/]*[.:][^/]*)(/|$)" . }}true{{ end -}}
{{- end }}

{{/*
A reference to an image: (dict "image" .Values.image "root" $). Without a registry
it would mean docker.io, where anyone may have taken the name.
*/}}
{{- define "ullage.image" -}}
{{- $name := .image.repository -}}
{{- if not (and (contains "/" $name) (include "ullage.qualified" $name)) -}}
{{- if not (include "ullage.qualified" .root.Values.registry) -}}
{{- fail (printf "registry: name the registry of the image %s, such as registry.example/team, or localhost for images that are loaded into the nodes (helm ... --set registry=NAME)" $name) -}}
{{- end -}}
{{- $name = printf "%s/%s" .root.Values.registry $name -}}
{{- end -}}
{{- if .image.digest -}}
{{ $name }}@{{ .image.digest }}
{{- else -}}
{{ $name }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* What the `restricted` Pod Security Standard requires of a container, and more. */}}
{{- define "ullage.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* ... and of a pod. The images name a user that is not root. */}}
{{- define "ullage.podSecurityContext" -}}
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "ullage.livenessProbe" -}}
httpGet:
  path: /healthz
  port: metrics
periodSeconds: 10
timeoutSeconds: 5
failureThreshold: 6
{{- end }}

{{/* Probe soon after the start: until then, pods start without a sidecar. */}}
{{- define "ullage.readinessProbe" -}}
httpGet:
  path: /readyz
  port: metrics
periodSeconds: 2
timeoutSeconds: 2
failureThreshold: 2
{{- end }}

{{/*
A security context or a probe of the chart's, with the user's fields in place of its own:
(dict "own" NAME "user" FIELDS "root" $).
*/}}
{{- define "ullage.withFields" -}}
{{- $all := include .own .root | fromYaml -}}
{{- range $field, $value := .user -}}
{{- $_ := set $all $field $value -}}
{{- end -}}
{{- toYaml $all -}}
{{- end }}

{{/*
Namespaces whose pods are never injected: kube-system and the injector's own. "default"
is never in the list, because many install the injector there without a thought, next to
their own pods; the injector's pods are recognized by their labels.
*/}}
{{- define "ullage.excludedNamespaces" -}}
- kube-system
{{- if not (has .Release.Namespace (list "default" "kube-system")) }}
- {{ .Release.Namespace | quote }}
{{- end }}
{{- end }}

{{/* The injector's flags. */}}
{{- define "ullage.arguments" -}}
- --config=/etc/ullage/config.yaml
- --webhook-listen=:{{ .Values.webhook.port }}
- --listen=:9919
{{- if include "ullage.selfMade" . }}
- --certificate-secret={{ include "ullage.certificateSecret" . }}
- --certificate-lifetime={{ .Values.certificates.lifetime }}
- --service={{ include "ullage.injector" . }}
- --namespace={{ .Release.Namespace }}
- --webhook-configuration={{ include "ullage.injector" . }}
{{- else }}
- --tls-cert=/etc/ullage-certificate/tls.crt
- --tls-key=/etc/ullage-certificate/tls.key
{{- end }}
{{- if .Values.events.enabled }}
- --events
{{- end }}
- --log-format={{ .Values.logFormat }}
- --log-level={{ .Values.logLevel }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The injector's configuration file. */}}
{{- define "ullage.config" -}}
image: {{ include "ullage.image" (dict "image" .Values.sidecar.image "root" $) | quote }}
{{- with .Values.sidecar.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
onError: {{ .Values.onError }}
{{- with .Values.sidecar.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.sidecar.imagePullSecrets }}
pullSecrets:
  {{- range . }}
  - {{ .name | quote }}
  {{- end }}
{{- end }}
{{- if or .Values.policy.locked .Values.policy.max .Values.policy.env .Values.policy.containerPatch }}
policy:
  {{- with .Values.policy.env }}
  env:
    {{- range . }}
    - {{ . | quote }}
    {{- end }}
  {{- end }}
  {{- with .Values.policy.containerPatch }}
  containerPatch:
    {{- range . }}
    - {{ . | quote }}
    {{- end }}
  {{- end }}
  {{- with .Values.policy.locked }}
  locked:
    {{- range . }}
    - {{ . | quote }}
    {{- end }}
  {{- end }}
  {{- with .Values.policy.max }}
  max:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- with .Values.sidecar.defaults }}
defaults:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.sidecar.namespaces }}
namespaces:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
