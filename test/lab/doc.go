// Package lab is shared by the tests of the whole program: it builds ullage, runs it as a process that can be
// killed, writes numbered lines as HotSpot does, and compares the persisted lines with the written lines.
//
//	bin, err := lab.Build(dir, "ullage")
//	side, err := lab.Start(bin, "run", "--source", src, "--dest", dst, "--listen", "127.0.0.1:0")
//	w := lab.NewWriter(lab.Output{Path: src + "/gc.log", Rate: 20000, Files: 5, FileBytes: 4 << 20})
//	go w.Run(ctx)
//	side.Kill()
//	balance, err := lab.Check(dst, "gc.log", w)
//
// A flood is a writer for tests under pressure: a separate process writes lines at all levels, up to 200 MB/s, and
// times each write. On a full tmpfs, it loses lines as HotSpot does. The account of a flood also covers lines that were
// dropped on purpose. A line is persisted once and in order, or a gap marker at the place of the line counts it:
//
//	flood, err := lab.StartFlood(lab.Flood{Path: src + "/gc.log", Rate: 50e6})
//	flood.Phase(1) // the fault begins
//	report, err := flood.Stop()
//	account, err := lab.Settle(dst, "gc.log", report)
//	fmt.Println(account, account.Exact(), account.Dropped.Total().From(lab.Warning), flood.Latency(1))
//
// Reading back is independent of the code under test: it takes the segments in
// the order of their numbers and decodes them with a standard reader.
//
// Functions with a [testing.TB] fail the test. The others return errors, so that programs other than tests can use
// them.
package lab
