package lab

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// Collected is a record that a Collector has received.
type Collected struct {
	UID  string // log.record.uid
	Body string

	// Event is the name of the event. If the record is not an event, Event is empty and the fields below are not set.
	Event      string
	Time       time.Time
	Attributes map[string]string
	Resource   map[string]string
}

// ReadCollected reads the file of a Collector's file exporter. cut is the number of bytes of requests that are
// incomplete because the Collector was killed or its disk was full. Such requests were not acknowledged. The next
// request follows in the same line.
func ReadCollected(path string) (all []Collected, cut int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read the Collector's file: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		var data logs.LogsData
		if begin := bytes.LastIndex(line, []byte(`{"resourceLogs"`)); begin > 0 {
			cut += begin
			line = line[begin:]
		}
		if protojson.Unmarshal(line, &data) == nil {
			all = append(all, collectedOf(&data)...)
		} else {
			cut += len(line)
		}
		if errors.Is(err, io.EOF) {
			return all, cut, nil
		}
		if err != nil {
			return nil, cut, fmt.Errorf("read the Collector's file: %w", err)
		}
	}
}

func collectedOf(data *logs.LogsData) (all []Collected) {
	for _, resource := range data.ResourceLogs {
		for _, scope := range resource.ScopeLogs {
			for _, l := range scope.LogRecords {
				c := Collected{Body: l.Body.GetStringValue()}
				for _, a := range l.Attributes {
					if a.Key == "log.record.uid" {
						c.UID = a.Value.GetStringValue()
					}
				}
				if c.Event = l.EventName; c.Event != "" {
					c.Time, c.Attributes, c.Resource = time.Unix(0, int64(l.TimeUnixNano)), textsOf(l.Attributes), textsOf(resource.Resource.GetAttributes())
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// textsOf returns attributes as texts.
func textsOf(attributes []*common.KeyValue) map[string]string {
	texts := map[string]string{}
	for _, a := range attributes {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_DoubleValue:
			texts[a.Key] = strconv.FormatFloat(v.DoubleValue, 'g', -1, 64)
		default:
			texts[a.Key] = a.Value.GetStringValue()
		}
	}
	return texts
}
