package a2aserver_test

import (
	"testing"

	"parley/a2aserver"
	"parley/a2aserver/logtest"
)

func TestMemoryLog(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(*testing.T) (a2aserver.Log, func() a2aserver.Log) { return a2aserver.NewMemoryLog(), nil })
}
