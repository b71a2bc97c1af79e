package main

import (
	"bytes"
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

// bodies is an encoding for the file exporter that writes the body of a record as a line. The exporter's own
// encodings are JSON and protocol buffers, which cost more than a line.
type bodies struct{}

func bodiesFactory() extension.Factory {
	return extension.NewFactory(component.MustNewType("bodies"), func() component.Config { return &struct{}{} },
		func(context.Context, extension.Settings, component.Config) (extension.Extension, error) {
			return bodies{}, nil
		},
		component.StabilityLevelDevelopment)
}

func (bodies) Start(context.Context, component.Host) error { return nil }
func (bodies) Shutdown(context.Context) error              { return nil }

// MarshalLogs joins the bodies with newlines. The exporter adds another one at the end.
func (bodies) MarshalLogs(logs plog.Logs) ([]byte, error) {
	var lines [][]byte
	for _, resource := range logs.ResourceLogs().All() {
		for _, scope := range resource.ScopeLogs().All() {
			for _, record := range scope.LogRecords().All() {
				if body := record.Body(); body.Type() == pcommon.ValueTypeBytes {
					lines = append(lines, body.Bytes().AsRaw())
				} else {
					lines = append(lines, []byte(body.Str()))
				}
			}
		}
	}
	return bytes.Join(lines, []byte("\n")), nil
}
