package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Main is the main function of the program with this name. It runs the command
// with the arguments and streams of the process, and exits with the command's
// exit code. SIGINT and SIGTERM cancel the command's context. Main does not
// return.
func Main(name string, run func(ctx context.Context, args []string, e Env) int) {
	// The first signal cancels the context: finish, drain, exit. A second
	// Ctrl-C kills the process as usual. A second SIGTERM does not: an
	// orchestrator may repeat it, and it must not interrupt the drain.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) })
	code := run(ctx, os.Args[1:], Env{Program: name, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		LookupEnv: os.LookupEnv, Environ: os.Environ()})
	cancel()
	os.Exit(code)
}
