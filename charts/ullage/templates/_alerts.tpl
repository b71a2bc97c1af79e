{{/*
The alerts, by group of rules. The template prometheusrule.yaml adds what all alerts
have: the labels from the values and the link to the runbook. Expressions for Prometheus
are in variables here, because helm would expand them first.
*/}}
{{- define "ullage.alerts" -}}
{{- $by := "by (namespace, pod, container)" -}}
{{- $pod := "{{ $labels.namespace }}/{{ $labels.pod }} (container {{ $labels.container }})" -}}
{{- $count := "{{ printf \"%.0f\" $value }}" -}}
{{- $duration := "{{ humanizeDuration $value }}" -}}
{{- $share := "{{ humanizePercentage $value }}" -}}
{{- $webhooks := "\".+[.]injector[.]ullage[.]dev\"" -}}
ullage-lines:
  # A series that is younger than the window counts from zero: its first sample comes
  # after the first drop, so increase() would see nothing.
  - alert: UllageLinesDropped
    expr: |-
      sum {{ $by }} (
        (ullage_dropped_lines_total unless last_over_time(ullage_dropped_lines_total[1h] offset 10m))
        or increase(ullage_dropped_lines_total[10m])
      ) > 0
    labels: {severity: warning}
    annotations:
      summary: ullage dropped log lines of {{ $pod }}.
      description: About {{ $count }} lines within 10m were dropped to keep memory free for the JVM. A marker line is in their place.
  - alert: UllageJVMLostLines
    expr: |-
      sum {{ $by }} (increase(ullage_jvm_dropped_lines_total[10m])) > 0
      or sum {{ $by }} (increase(ullage_jvm_cut_lines_total[10m])) > 0
      or sum {{ $by }} (increase(ullage_source_missed_files_total[10m])) > 0
      or sum {{ $by }} (increase(ullage_source_truncations_total[10m])) > 0
      or sum {{ $by }} (increase(ullage_events_dropped_total[10m])) > 0
      or sum {{ $by }} (increase(ullage_events_cut_total[10m])) > 0
    labels: {severity: warning}
    annotations:
      summary: The JVM of {{ $pod }} lost lines before ullage could read them.
      description: The JVM itself dropped lines (-Xlog:async), found its tmpfs or its event ring full, cut an event that was too long, or deleted or truncated a log before all of it was read.
  - alert: UllageHeadroomLow
    expr: |-
      min {{ $by }} (1 - ullage_budget_used_bytes / (ullage_budget_bytes > 0)) < 0.5
    for: 2m
    labels: {severity: warning}
    annotations:
      summary: The log memory of {{ $pod }} is filling up.
      description: Only {{ $share }} of the budget for the backlog is free. If it fills up further, ullage drops lines.
  - alert: UllageLagHigh
    expr: |-
      max {{ $by }} (ullage_lag_seconds) > 60
    for: 5m
    labels: {severity: warning}
    annotations:
      summary: Lines of {{ $pod }} become durable too late.
      description: The oldest line that is not durable is {{ $duration }} old. A crash of the node would lose this line and all later ones.
ullage-destination:
  - alert: UllageNotCommitting
    expr: |-
      min {{ $by }} (ullage_ready) == 0
    for: 5m
    labels: {severity: critical}
    annotations:
      summary: Log lines of {{ $pod }} do not become durable.
      description: The sidecar is not ready. /readyz and ullage status show the reason; the backlog stays in memory while there is room.
  - alert: UllageDestinationFailing
    expr: |-
      sum by (namespace, pod, container, kind) (increase(ullage_destination_errors_total[5m])) > 0
    for: 5m
    labels: {severity: warning}
    annotations:
      summary: The destination of {{ $pod }} is failing ({{ "{{ $labels.kind }}" }}).
      description: The sidecar retries. ullage status shows the last error.
  - alert: UllageSinkBehind
    expr: |-
      max by (namespace, pod, container, sink) (ullage_sink_lag_seconds) > {{ .Values.rules.sinkSeconds }}
    for: 10m
    labels: {severity: warning}
    annotations:
      summary: The sink {{ "{{ $labels.sink }}" }} of {{ $pod }} is behind.
      description: The oldest line that the sink has not acknowledged is {{ $duration }} old. Retention may delete segments before the sink has received them.
  - alert: UllageSinkIncomplete
    expr: |-
      sum by (namespace, pod, container, sink) (increase(ullage_sink_skipped_segments_total[10m])) > 0
      or sum by (namespace, pod, container, sink) (increase(ullage_sink_rejected_bytes_total[10m])) > 0
    labels: {severity: warning}
    annotations:
      summary: The sink {{ "{{ $labels.sink }}" }} of {{ $pod }} lacks lines.
      description: The sink refused lines or segments because of what they contain, or retention deleted segments before the sink had received them.
ullage-jvm:
  # The series of an action and a cause begins with its first pause, and so counts from
  # zero while it is younger than the window: that pause may be the longest.
  - alert: UllagePauseOverObjective
    expr: |-
      histogram_quantile(0.99, sum by (namespace, pod, container, le) (
        (ullage_jvm_gc_pause_duration_seconds_bucket unless last_over_time(ullage_jvm_gc_pause_duration_seconds_bucket[1h] offset 10m))
        or increase(ullage_jvm_gc_pause_duration_seconds_bucket[10m])
      )) > {{ .Values.rules.pauseSeconds }}
    for: 5m
    labels: {severity: warning}
    annotations:
      summary: GC pauses of {{ $pod }} are longer than the objective.
      description: The 99th percentile of the pauses within 10m is about {{ $duration }}; the objective is {{ .Values.rules.pauseSeconds }}s.
  # A counter of every verdict exists from the start.
  - alert: UllageStallSuspected
    expr: |-
      sum by (namespace, pod, container, verdict) (increase(ullage_jvm_stalls_suspected_total[10m])) > 0
    labels: {severity: warning}
    annotations:
      summary: The JVM of {{ $pod }} seems to have waited ({{ "{{ $labels.verdict }}" }}).
      description: About {{ $count }} stops within 10m took far longer than their work. The verdict names what the kernel's counters showed during the stops.
  - alert: UllageJVMCrashed
    expr: |-
      sum {{ $by }} (increase(ullage_jvm_crashes_total[10m])) > 0
    labels: {severity: warning}
    annotations:
      summary: The JVM of {{ $pod }} crashed.
      description: The JVM's report (hs_err) is a stream of the durable copy.
  # A counter of every cause exists from the start.
  - alert: UllageJVMKilled
    expr: |-
      sum by (namespace, pod, container, cause) (increase(ullage_jvm_ends_total{cause=~"killed|memory-limit|memory-above|heap"}[10m])) > 0
    labels: {severity: warning}
    annotations:
      summary: The JVM of {{ $pod }} was killed or ran out of memory ({{ "{{ $labels.cause }}" }}).
      description: The mark jvm-ended and ullage status show the evidence with its numbers; kubectl ullage doctor shows what Kubernetes recorded about the container.
  - alert: UllageLevelRaised
    expr: |-
      max {{ $by }} (ullage_level_raised_jvms) > 0
    for: 1h
    labels: {severity: warning}
    annotations:
      summary: The log level of {{ $pod }} has been raised for 1h.
      description: An annotation may have been forgotten. More detail costs memory, storage and JVM time.
ullage-injector:
  - alert: UllageInjectorDown
    expr: |-
      absent(ullage_injector_build_info)
    for: 5m
    labels: {severity: critical}
    annotations:
      summary: Prometheus sees no injector.
      description: While no injector runs, pods start without a sidecar, or not at all (webhook.failurePolicy).
  - alert: UllageInjectorFailing
    expr: |-
      sum by (namespace) (increase(ullage_injector_reviews_total{result="error"}[10m])) > 0
      or sum by (namespace) (increase(ullage_injector_panics_total[10m])) > 0
      or sum by (namespace) (increase(ullage_injector_api_errors_total[10m])) > 0
    for: 5m
    labels: {severity: warning}
    annotations:
      summary: The injector in {{ "{{ $labels.namespace }}" }} is failing.
      description: The injector could not answer reviews, or could not keep its certificate in the Kubernetes API.
  - alert: UllageInjectorCertificate
    expr: |-
      min by (namespace, pod) (ullage_injector_certificate_expiry_timestamp_seconds) - time() < {{ include "ullage.certificateSeconds" . }}
    for: 15m
    labels: {severity: critical}
    annotations:
      summary: The certificate of the injector {{ "{{ $labels.namespace }}/{{ $labels.pod }}" }} has not been renewed.
      description: API servers refuse an expired certificate, and pods then start without a sidecar, or not at all (webhook.failurePolicy).
  # An API server has its own metric of the requests that it admitted without a review. The
  # series of a webhook begins with its first failure, and so counts from zero while it is
  # younger than the window.
  - alert: UllagePodsWithoutSidecar
    expr: |-
      sum by (namespace, reason) (increase(ullage_injector_refusals_total[10m])) > 0
      or sum by (name) (
        (apiserver_admission_webhook_fail_open_count{name=~{{ $webhooks }}} unless last_over_time(apiserver_admission_webhook_fail_open_count[1h] offset 10m))
        or increase(apiserver_admission_webhook_fail_open_count{name=~{{ $webhooks }}}[10m])
      ) > 0
    labels: {severity: warning}
    annotations:
      summary: Pods started without the sidecar that they should have.
      description: >-
        {{ "{{ if $labels.reason }}" }}The injector refused about {{ $count }} pods within 10m, for the reason {{ "{{ $labels.reason }}" }}.
        {{- "{{ else }}" }}The API server got no answer from the injector for about {{ $count }} pods within 10m.{{ "{{ end }}" }}
{{- end }}

{{/*
How many seconds before its expiry a certificate should have been replaced: a week, but
at most a sixth of the lifetime. It is renewed when a third of the lifetime is left.
*/}}
{{- define "ullage.certificateSeconds" -}}
{{- $week := mul 7 24 3600 -}}
{{- $lifetime := int64 (regexFind "^[0-9]+" (regexFind "[0-9]+h" .Values.certificates.lifetime) | default "0") -}}
{{- if .Values.certificates.secretName -}}
{{ $week }}
{{- else -}}
{{ min $week (mul $lifetime 600) }}
{{- end -}}
{{- end }}
