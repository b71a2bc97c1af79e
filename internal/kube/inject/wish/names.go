package wish

import "github.com/ullage/ullage/internal/jvm/ask"

// Names of annotations that say how to inject, without [ask.Prefix]. Some are flags as well,
// whose value is the injector's to choose.
const (
	Containers        = "container"
	Xlog              = "xlog"
	Buffer            = "buffer"
	Events            = "events"
	Dest              = "dest"
	Attach            = "attach"
	Listen            = "listen"
	OptionsVariable   = "options-variable"
	ScrapeAnnotations = "scrape-annotations"
	Perfdata          = "perfdata"
	RaiseMemoryLimit  = "raise-memory-limit"
	YieldAfter        = "yield-after"

	imageSetting      = "image"
	secretsSetting    = "image-pull-secrets"
	sinkSecretSetting = "sink-secret"
	envSetting        = "env"
	patchSetting      = "container-patch"
)

// owned are flags that the injector alone sets. The last three say whose log it is: a pod that
// chose them could write among the logs of another.
var owned = []string{"source", "annotations", "jvm-tmp", "pod-namespace", "pod-name", "container-name"}

// ofPods are annotations that make no sense for all pods.
var ofPods = append(ask.Live(), "inject", "injected", "warnings", Containers)

// ofContainers are the settings of the sidecar's container that the configuration has fields
// for, by name.
func ofContainers() []string {
	names := []string{imageSetting, secretsSetting}
	for _, a := range amounts() {
		names = append(names, a.name)
	}
	return names
}
