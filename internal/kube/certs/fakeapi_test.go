package certs

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ullage/ullage/internal/kube/kubeapi"
)

const (
	secretPath = "/api/v1/namespaces/shop-system/secrets/certs"
	configPath = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/ullage"
	testToken  = "secret-token"
)

// testConfiguration has two of our webhooks, with a foreign webhook between them.
const testConfiguration = `{"kind":"MutatingWebhookConfiguration","metadata":{"name":"ullage"},"webhooks":[
	{"name":"pods.ullage.dev","clientConfig":{"caBundle":"bm9uc2Vuc2U=","service":{"name":"injector","namespace":"shop-system","path":"/mutate"}}},
	{"name":"foreign.example.com","clientConfig":{"caBundle":"Zm9yZWlnbg==","service":{"name":"other","namespace":"shop-system"}}},
	{"name":"namespaces.ullage.dev","clientConfig":{"caBundle":"bm9uc2Vuc2U=","service":{"name":"injector","namespace":"shop-system"}}}]}`

// fakeAPI is an API server with two objects. It handles resource versions and JSON patches as a real one does.
type fakeAPI struct {
	t       *testing.T
	server  *httptest.Server
	cluster kubeapi.Cluster

	mu      sync.Mutex
	objects map[string]map[string]any // by path
	version int
	fail    map[string]int // the status code to return, by method and path: "PUT /api/..."
	before  func(method, path string)
	down    bool
	writes  int
}

func newFakeAPI(t *testing.T) *fakeAPI {
	f := &fakeAPI{t: t, objects: map[string]map[string]any{}, fail: map[string]int{}}
	f.server = httptest.NewTLSServer(f)
	t.Cleanup(f.server.Close)
	u, err := url.Parse(f.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f.cluster = kubeapi.Cluster{Host: u.Hostname(), Port: u.Port(), TokenFile: filepath.Join(dir, "token"), CAFile: filepath.Join(dir, "ca.crt")}
	write(t, f.cluster.TokenFile, []byte(testToken+"\n"))
	write(t, f.cluster.CAFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.server.Certificate().Raw}))
	f.put(secretPath, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"certs","labels":{"app":"ullage"}},"type":"Opaque","data":{"other":"b3RoZXI="},"future":{"field":1}}`)
	f.put(configPath, strings.Replace(testConfiguration, `"caBundle":"bm9uc2Vuc2U=",`, "", 1))
	return f
}

func write(t testing.TB, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// put creates an object from JSON, as another client would.
func (f *fakeAPI) put(path, text string) {
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.store(path, object)
}

// store stores an object. The caller holds the lock.
func (f *fakeAPI) store(path string, object map[string]any) {
	f.version++
	f.writes++
	meta := maps.Clone(object["metadata"].(map[string]any))
	meta["resourceVersion"] = strconv.Itoa(f.version)
	object["metadata"] = meta
	f.objects[path] = object
}

// set sets a field of an object. A nil value removes the field.
func (f *fakeAPI) set(path, field string, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	object := maps.Clone(f.objects[path])
	object[field] = value
	if value == nil {
		delete(object, field)
	}
	f.store(path, object)
}

// setData stores the Secret with this data.
func (f *fakeAPI) setData(data map[string][]byte) {
	encoded := map[string]any{}
	for key, value := range data {
		encoded[key] = value // encoding/json writes it as base64
	}
	text, _ := json.Marshal(encoded)
	var plain map[string]any
	_ = json.Unmarshal(text, &plain)
	f.set(secretPath, "data", plain)
}

// data returns the Secret's data.
func (f *fakeAPI) data() map[string][]byte {
	var s struct {
		Data map[string][]byte `json:"data"`
	}
	f.read(secretPath, &s)
	return s.Data
}

// bundles returns the caBundle of each webhook.
func (f *fakeAPI) bundles() []string {
	var conf configuration
	f.read(configPath, &conf)
	var out []string
	for _, w := range conf.Webhooks {
		out = append(out, string(w.ClientConfig.CABundle))
	}
	return out
}

func (f *fakeAPI) read(path string, into any) {
	f.mu.Lock()
	text, err := json.Marshal(f.objects[path])
	f.mu.Unlock()
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		f.t.Error(err)
	}
}

func (f *fakeAPI) setFail(what string, code int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail[what] = code
}

func (f *fakeAPI) setDown(down bool) {
	f.mu.Lock()
	f.down = down
	f.mu.Unlock()
	if down {
		f.server.CloseClientConnections()
	}
}

func (f *fakeAPI) written() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	before := f.before
	f.mu.Unlock()
	if before != nil {
		before(r.Method, r.URL.Path)
	}
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	code, object := f.handle(r, body)
	switch {
	case code == 0:
		panic(http.ErrAbortHandler)
	case code/100 == 3:
		w.Header().Set("Location", f.server.URL+secretPath)
	case code != 200:
		object = map[string]any{"kind": "Status", "status": "Failure", "message": fmt.Sprintf("refused with %d", code), "code": code}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

// handle returns the status code, or 0 for no answer, and the object.
func (f *fakeAPI) handle(r *http.Request, body []byte) (int, map[string]any) {
	object, ok := f.objects[r.URL.Path]
	code := f.fail[r.Method+" "+r.URL.Path]
	switch {
	case f.down:
		return 0, nil
	case r.Header.Get("Authorization") != "Bearer "+testToken:
		return 401, nil
	case code != 0:
		return code, nil
	case !ok:
		return 404, nil
	case r.Method == "GET":
		return 200, object
	case r.Method == "PUT" && r.URL.Path == secretPath && r.Header.Get("Content-Type") == "application/json":
		var sent map[string]any
		if err := json.Unmarshal(body, &sent); err != nil {
			return 400, nil
		}
		if sent["metadata"].(map[string]any)["resourceVersion"] != object["metadata"].(map[string]any)["resourceVersion"] {
			return 409, nil
		}
		f.store(r.URL.Path, sent)
		return 200, sent
	case r.Method == "PATCH" && r.URL.Path == configPath && r.Header.Get("Content-Type") == "application/json-patch+json":
		patched, ok := applyPatch(object, body)
		if !ok {
			return 422, nil
		}
		f.store(r.URL.Path, patched)
		return 200, patched
	}
	return 405, nil
}

// applyPatch applies a JSON patch whose operations only test or add members of objects.
func applyPatch(object map[string]any, patch []byte) (map[string]any, bool) {
	var ops []patchOp
	text, _ := json.Marshal(object)
	var out map[string]any
	if json.Unmarshal(text, &out) != nil || json.NewDecoder(bytes.NewReader(patch)).Decode(&ops) != nil {
		return nil, false
	}
	for _, op := range ops {
		keys := strings.Split(op.Path, "/")[1:]
		var at any = out
		for _, key := range keys[:len(keys)-1] {
			switch v := at.(type) {
			case map[string]any:
				at = v[key]
			case []any:
				i, err := strconv.Atoi(key)
				if err != nil || i >= len(v) {
					return nil, false
				}
				at = v[i]
			}
		}
		parent, ok := at.(map[string]any)
		last := keys[len(keys)-1]
		switch {
		case !ok, op.Op == "test" && !reflect.DeepEqual(parent[last], op.Value):
			return nil, false
		case op.Op == "add":
			parent[last] = op.Value
		}
	}
	return out, true
}
