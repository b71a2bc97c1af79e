package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sweep removes every pod from a container runtime, as a kubelet does: the runtime itself then
// undoes mounts, network namespaces, addresses and port mappings. No kubelet may be running,
// because it would start the pods again.
func sweep() int {
	fs := flag.NewFlagSet("cluster-sweep", flag.ExitOnError)
	socket := fs.String("socket", "", "path of the runtime's socket")
	timeout := fs.Duration("timeout", 30*time.Second, "how long this may take")
	fs.Parse(os.Args[1:])
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	if err := sweepPods(ctx, *socket); err != nil {
		fmt.Fprintln(os.Stderr, "cluster-sweep:", err)
		return 1
	}
	return 0
}

func sweepPods(ctx context.Context, socket string) error {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("reach the runtime: %w", err)
	}
	defer conn.Close()
	runtime := cri.NewRuntimeServiceClient(conn)
	list, err := runtime.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	errs := make([]error, len(list.Items))
	var wg sync.WaitGroup
	for i, pod := range list.Items {
		wg.Go(func() {
			_, errs[i] = runtime.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: pod.Id})
			if errs[i] == nil {
				_, errs[i] = runtime.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: pod.Id})
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
