package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterDomain is what the names of services end with.
const clusterDomain = ".svc.cluster.local"

// dns answers for services under [clusterDomain], with A records over UDP, and
// passes on every other query. It replaces CoreDNS, which would cost
// minutes of compiling.
type dns struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
	conn     net.PacketConn
	upstream string // ip:port of a server for all other names; none if empty
}

func serveDNS() int {
	fs := flag.NewFlagSet("cluster-dns", flag.ExitOnError)
	kubeconfig := fs.String("kubeconfig", "", "how to reach the API server; as a pod does if empty")
	listen := fs.String("listen", "", "ip:port")
	fs.Parse(os.Args[1:])
	d := dns{upstream: nameserver("/etc/resolv.conf")}
	err := d.open(*kubeconfig, *listen)
	if err == nil {
		err = d.serve()
	}
	fmt.Fprintln(os.Stderr, "cluster-dns:", err)
	return 1
}

// nameserver returns the address of the first server that a resolv.conf names,
// empty if there is none.
func nameserver(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" {
			return net.JoinHostPort(f[1], "53")
		}
	}
	return ""
}

func (d *dns) open(kubeconfig, listen string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	d.services = factory.Core().V1().Services().Lister()
	d.slices = factory.Discovery().V1().EndpointSlices().Lister()
	factory.Start(nil)
	factory.WaitForCacheSync(nil)
	d.conn, err = net.ListenPacket("udp", listen)
	return err
}

func (d *dns) serve() error {
	buf := make([]byte, 4096)
	for {
		n, from, err := d.conn.ReadFrom(buf)
		if err != nil {
			return err
		}
		query := append([]byte(nil), buf[:n]...)
		go func() {
			if reply := d.answer(query); reply != nil {
				d.conn.WriteTo(reply, from)
			}
		}()
	}
}

// answer returns the packet to reply with, nil for none.
func (d *dns) answer(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
	if !strings.HasSuffix(name, ".cluster.local") {
		return d.forward(query)
	}
	reply := dnsmessage.Message{Questions: m.Questions, Header: dnsmessage.Header{
		ID: m.ID, Response: true, Authoritative: true, RecursionDesired: m.RecursionDesired, RecursionAvailable: true}}
	addresses, found := d.resolve(name)
	if !found {
		reply.RCode = dnsmessage.RCodeNameError
	}
	for _, address := range addresses {
		if ip := net.ParseIP(address).To4(); ip != nil && q.Type == dnsmessage.TypeA {
			reply.Answers = append(reply.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: 5},
				Body:   &dnsmessage.AResource{A: [4]byte(ip)}})
		}
	}
	packet, err := reply.Pack()
	if err != nil {
		return nil
	}
	return packet
}

// resolve returns the addresses of SERVICE.NAMESPACE.svc.cluster.local: its
// cluster IP or, for a headless service, the addresses of its ready endpoints.
func (d *dns) resolve(name string) (addresses []string, found bool) {
	labelled, ok := strings.CutSuffix(name, clusterDomain)
	service, namespace, ok2 := strings.Cut(labelled, ".")
	if !ok || !ok2 {
		return nil, false
	}
	s, err := d.services.Services(namespace).Get(service)
	if err != nil {
		return nil, false
	}
	if s.Spec.ClusterIP != "None" {
		return []string{s.Spec.ClusterIP}, true
	}
	slices, err := d.slices.EndpointSlices(namespace).List(labels.SelectorFromSet(labels.Set{discovery.LabelServiceName: service}))
	if err != nil {
		return nil, false
	}
	for _, slice := range slices {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				addresses = append(addresses, e.Addresses...)
			}
		}
	}
	return addresses, true
}

// forward asks the upstream server; nil means that it did not answer.
func (d *dns) forward(query []byte) []byte {
	if d.upstream == "" {
		return nil
	}
	conn, err := net.DialTimeout("udp", d.upstream, time.Second)
	if err != nil {
		return nil
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Write(query); err != nil {
		return nil
	}
	buf := make([]byte, 4096)
	n, err := conn.Read(buf)
	if err != nil {
		return nil
	}
	return buf[:n]
}
