package frame

import "testing"

// The oldest seals are forgotten to make room. If an offset is used again, its earlier seal and those
// of later offsets are forgotten as well.
func TestSealsAreBounded(t *testing.T) {
	var s Seals
	for at := range int64(3 * maxSeals) {
		s.Add(at, []byte{byte(at)})
	}
	if len(s.all) > maxSeals || s.Fit(0, []byte{0}) || !s.Fit(3*maxSeals-1, []byte{0xff}) {
		t.Errorf("there are %d seals, or the wrong ones match; want at most %d, the newest and not the oldest", len(s.all), maxSeals)
	}
	s.Add(2*maxSeals, []byte("again"))
	if s.Fit(2*maxSeals, []byte{0}) || !s.Fit(2*maxSeals, []byte("again")) || s.Fit(2*maxSeals+1, []byte{1}) {
		t.Error("want a match with the newest seal of an offset, and none with its earlier seal or the seal of a later offset")
	}
}
