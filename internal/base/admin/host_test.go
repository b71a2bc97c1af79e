package admin

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A web page can make its own host name resolve to this address and then read the answers. So the server answers only to host names that no stranger can register.
func TestANameThatAStrangerCanRegisterGetsNoAnswer(t *testing.T) {
	h := answering(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	for want, hosts := range map[int][]string{
		http.StatusOK: {"", "127.0.0.1", "10.1.2.3:9919", "[::1]:9919", "[fe80::1]", "localhost:8000", "web", "web:9919", "a.localhost",
			"web.shop.svc", "web.shop.svc:9919", "web.shop.svc.cluster.local.", "ip-10-0-0-1.eu-central-1.compute.internal"},
		http.StatusForbidden: {"evil.example", "evil.example:9919", "127.0.0.1.evil.example", "web.shop.svc.evil.example", "EVIL.EXAMPLE.", "localhost.evil.example"},
	} {
		for _, host := range hosts {
			r, w := httptest.NewRequest(http.MethodGet, "/status", nil), httptest.NewRecorder()
			r.Host = host
			if h.ServeHTTP(w, r); w.Code != want {
				t.Errorf("Host %q: %d, want %d", host, w.Code, want)
			}
		}
	}
}
