package ul_test

import (
	"fmt"

	"github.com/ullage/ullage/internal/line/ul"
)

func ExampleRecord_Parse() {
	var r ul.Record
	r.Parse([]byte("[0.397s][info ][gc,heap    ] GC(0) Pause Young 24M->3M(256M) 2.041ms"))
	since, _ := r.Since()
	fmt.Printf("%s at %s, tags %s: %s\n", r.Level, since, r.Tags, r.Message)
	fmt.Println("decorators", r.Present)
	// Output:
	// info at 397ms, tags gc,heap: GC(0) Pause Young 24M->3M(256M) 2.041ms
	// decorators uptime,level,tags
}

func ExampleClassifier() {
	var c ul.Classifier
	for _, line := range []string{
		"[0.397s][error][exceptions] Exception <a 'java/lang/RuntimeException'>",
		" thrown in interpreter method",
		"[0.398s][warning][          ]    293 messages dropped due to async logging",
	} {
		class := c.Classify([]byte(line))
		fmt.Println(class.Kind, class.Level, class.Dropped)
	}
	// Output:
	// header error 0
	// continuation error 0
	// drop warning 293
}
