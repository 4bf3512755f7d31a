package egress

import (
	"testing"
	"time"
)

// We let go of an unused connection before a server like ours does, which waits a minute (see guard), so that no message
// goes over one that just ended.
func TestIdleConnectionsEndHereFirst(t *testing.T) {
	t.Parallel()
	if here := New(nil).transport(0, publicOnly).IdleConnTimeout; here <= 0 || here >= time.Minute {
		t.Errorf("kept for %v", here)
	}
}
