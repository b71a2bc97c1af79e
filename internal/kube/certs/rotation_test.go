package certs

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestACertificateIsRenewedAfterTwoThirdsOfItsLife(t *testing.T) {
	f, c := newFakeAPI(t), newClock()
	r := newReplica(t, f, c)
	r.mustLook(t)
	first, ca := r.serial(), string(f.data()[caCertKey])
	c.add(60*24*time.Hour - time.Second)
	if r.mustLook(t); r.serial() != first {
		t.Fatal("the certificate was renewed too early")
	}
	c.add(time.Second)
	if r.mustLook(t); r.serial() == first {
		t.Fatal("the certificate was not renewed")
	}
	if string(f.data()[caCertKey]) != ca {
		t.Error("the CA was renewed with the serving certificate")
	}
	if n := testutil.ToFloat64(r.serving.metrics.renewals); n != 1 {
		t.Errorf("%v renewals are counted, want 1", n)
	}
	if got, want := testutil.ToFloat64(r.serving.metrics.expiry), float64(c.now().Add(90*24*time.Hour).Unix()); got != want {
		t.Errorf("expiry %v, want %v", got, want)
	}
}

func TestAShorterLifetimeTakesEffect(t *testing.T) {
	f, c := newFakeAPI(t), newClock()
	r := newReplica(t, f, c)
	r.mustLook(t)
	c.add(2 * time.Hour)
	r.cfg.Lifetime = time.Hour
	for range 4 {
		r.mustLook(t)
		c.add(settleTime)
	}
	if left := r.serving.Expiry().Sub(c.now()); left > time.Hour {
		t.Errorf("the certificate is still valid for %s, want at most %s", left, time.Hour)
	}
	r.cfg.Lifetime = maxLifetime
	c.add(40 * time.Minute)
	r.mustLook(t)
	if m, err := parseMaterial(f.data(), nil, c.now()); err != nil || m.leaf.Leaf.NotAfter.After(m.cas[0].NotAfter) && m.current() {
		t.Errorf("error %v, or a certificate outlives its CA; want neither", err)
	}
}

// TestNobodyIsDistrustedInYearsOfRotations spans several lifetimes of a CA. Each of
// its three replicas looks at random times.
func TestNobodyIsDistrustedInYearsOfRotations(t *testing.T) {
	f, c := newFakeAPI(t), newClock()
	var all []*replica
	for range 3 {
		r := newReplica(t, f, c)
		r.cfg.Lifetime = time.Hour
		r.mustLook(t)
		all = append(all, r)
	}
	random := rand.New(rand.NewPCG(1, 2))
	served, seen, most := map[string]bool{}, map[string]bool{}, 0
	for end := c.now().Add(6 * time.Hour); c.now().Before(end); c.add(2 * lookInterval) {
		for _, i := range random.Perm(len(all)) {
			if random.IntN(3) > 0 {
				all[i].mustLook(t)
			}
			for _, r := range all {
				if err := errors.Join(r.reachable(f, c.now()), r.trusted()); err != nil {
					t.Fatalf("at %s: error %v, want none\n%s", c.now(), err, r.journal)
				}
				served[r.serial()] = true
			}
		}
		data := f.data()
		most = max(most, cas(data))
		seen[string(data[caCertKey][:200])] = true
	}
	if len(served) < 8 || len(seen) < 3 || most != 2 || cas(f.data()) != 1 {
		t.Errorf("%d serving certificates, %d CAs, at most %d at a time, %d left; want at least 8, at least 3, 2 and 1", len(served), len(seen), most, cas(f.data()))
	}
}

func TestAnUnusableSecretIsReplaced(t *testing.T) {
	f, c := newFakeAPI(t), newClock()
	newReplica(t, f, c).mustLook(t)
	good := f.data()
	f2 := newFakeAPI(t)
	newReplica(t, f2, c).mustLook(t)
	other := f2.data()
	for name, change := range map[string]map[string][]byte{
		"everything is garbage":           {caCertKey: []byte("x"), caKeyKey: []byte("x"), tlsCertKey: []byte("x"), tlsKeyKey: []byte("x")},
		"no CA":                           {caCertKey: nil},
		"no key of the CA":                {caKeyKey: nil},
		"another CA's key":                {caKeyKey: other[caKeyKey]},
		"no serving certificate":          {tlsCertKey: nil},
		"another serving key":             {tlsKeyKey: other[tlsKeyKey]},
		"another CA":                      {caCertKey: other[caCertKey], caKeyKey: other[caKeyKey]},
		"another serving certificate":     {tlsCertKey: other[tlsCertKey], tlsKeyKey: other[tlsKeyKey]},
		"a serving certificate as CA":     {caCertKey: good[tlsCertKey]},
		"a key as CA":                     {caCertKey: good[caKeyKey]},
		"broken DER":                      {caCertKey: []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")},
		"more CAs than there is room for": {caCertKey: bytes.Repeat(append(slices.Clone(other[caCertKey]), good[caCertKey]...), 3), tlsKeyKey: nil},
		"a key of another kind":           {caKeyKey: []byte("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n-----END PRIVATE KEY-----\n")},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.setData(good)
			running, bystander := newReplica(t, f, c), newReplica(t, f, c)
			running.mustLook(t)
			bystander.mustLook(t)
			bad := maps.Clone(good)
			maps.Copy(bad, change)
			f.setData(bad)
			running.mustLook(t)
			for _, r := range []*replica{running, bystander} { // bystander has not looked yet
				if err := errors.Join(r.reachable(f, c.now()), r.trusted()); err != nil {
					t.Errorf("a certificate that was already served is distrusted: %v", err)
				}
			}
			if n := strings.Count(running.journal.String(), "replacing an unusable Secret"); n != 1 {
				t.Errorf("the replacement was logged %d times, want 1: %s", n, running.journal)
			}
			f.setData(bad)
			fresh := newReplica(t, f, c)
			fresh.mustLook(t)
			if err := errors.Join(fresh.reachable(f, c.now()), fresh.trusted()); err != nil {
				t.Error(err)
			}
			if m, err := parseMaterial(f.data(), fresh.cfg.dnsNames(), c.now()); err != nil || m.key == nil || m.leaf == nil {
				t.Errorf("the new Secret is unusable: %v", err)
			}
		})
	}
}

func TestAnEmptiedSecretIsFilledWithoutHarmAndWithANewCA(t *testing.T) {
	f, c := newFakeAPI(t), newClock()
	a, b := newReplica(t, f, c), newReplica(t, f, c)
	a.mustLook(t)
	b.mustLook(t)
	old := string(f.data()[caCertKey])
	f.set(secretPath, "data", nil)
	for range 4 {
		a.mustLook(t)
		if err := errors.Join(a.reachable(f, c.now()), b.reachable(f, c.now())); err != nil {
			t.Fatal(err)
		}
		c.add(settleTime / 2)
	}
	b.mustLook(t)
	if m, err := parseMaterial(f.data(), nil, c.now()); err != nil || !m.current() || string(f.data()[caCertKey]) == old || len(m.cas) != 2 {
		t.Errorf("%d CAs, error %v; want 2 CAs, and the serving certificate signed by the new one, and no error", len(m.cas), err)
	}
	if b.serial() != a.serial() {
		t.Error("the replicas serve different certificates, want the same")
	}
}

func TestAClusterThatWasOffForAYear(t *testing.T) {
	f, c := newFakeAPI(t), newClock()
	r := newReplica(t, f, c)
	r.mustLook(t)
	c.add(366 * 24 * time.Hour)
	if r.serving.valid(c.now()) == nil {
		t.Error("a replica is ready with an expired certificate, want it not ready")
	}
	for _, r := range []*replica{r, newReplica(t, f, c)} {
		r.mustLook(t)
		if err := errors.Join(r.reachable(f, c.now()), r.trusted(), r.serving.valid(c.now())); err != nil {
			t.Error(err)
		}
	}
	if cas(f.data()) != 1 {
		t.Error("the Secret still has the expired CA, want only the new one")
	}
}

func TestAClockThatIsAheadStartsNoFight(t *testing.T) {
	f, c, ahead := newFakeAPI(t), newClock(), newClock()
	ahead.add(24 * time.Hour)
	a := newReplica(t, f, ahead)
	a.mustLook(t)
	b := newReplica(t, f, c)
	writes := f.written()
	_ = b.look(t.Context())
	_ = a.look(t.Context())
	if f.written() != writes || b.serial() != a.serial() {
		t.Errorf("the replicas wrote %d more times and have the serials %s and %s; want no write and the same serial", f.written()-writes, a.serial(), b.serial())
	}
	if err := b.serving.valid(c.now()); err == nil || !strings.Contains(err.Error(), "clock") {
		t.Errorf("with a certificate that is not valid yet, the error is %v, want one about the clock", err)
	}
}

func TestAnotherServiceNameMakesAnotherCertificate(t *testing.T) {
	f, c := newFakeAPI(t), newClock()
	newReplica(t, f, c).mustLook(t)
	r := newReplica(t, f, c)
	r.cfg.Service = "other"
	r.mustLook(t)
	if err := r.serving.current.Load().Leaf.VerifyHostname("other.shop-system.svc"); err != nil {
		t.Error(err)
	}
}

func FuzzSecret(f *testing.F) {
	c := newClock()
	var m material
	if err := errors.Join(m.rotate(c.now(), time.Hour), m.issue([]string{"a.b.svc"}, c.now(), time.Hour)); err != nil {
		f.Fatal(err)
	}
	good, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[caCertKey], good[caKeyKey], good[tlsCertKey], good[tlsKeyKey])
	f.Add([]byte(nil), []byte(nil), []byte(nil), []byte(nil))
	f.Add(good[tlsCertKey], good[tlsKeyKey], good[caCertKey], good[caKeyKey])
	f.Fuzz(func(t *testing.T, caCert, caKey, cert, key []byte) {
		data := map[string][]byte{caCertKey: caCert, caKeyKey: caKey, tlsCertKey: cert, tlsKeyKey: key}
		m, err := parseMaterial(data, []string{"a.b.svc"}, c.now())
		complete := m.key != nil && m.leaf != nil
		if err == nil && !complete && len(caCert)+len(caKey)+len(cert)+len(key) > 0 && len(m.cas) > 0 && m.leaf == nil {
			t.Fatal("got no error for an unusable Secret, want one")
		}
		if m.key != nil && !m.key.PublicKey.Equal(m.cas[0].PublicKey) {
			t.Fatal("the key is not that of the first CA, want it to be")
		}
		if complete {
			if _, err := m.encode(); err != nil {
				t.Fatal(err)
			}
			m.current()
		}
	})
}
