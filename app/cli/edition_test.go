package cli

import (
	"bytes"
	"strings"
	"testing"
)

// Who asks this program for a cluster is told in one sentence which one has it.
func TestEngine(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	code := Main(t.Context(), []string{"serve", "--engine", "temporal", "--data", t.TempDir()}, strings.NewReader(""), &out, &errs)
	if code != exitUsage || !strings.Contains(errs.String(), "parley-cluster serve") || strings.Count(errs.String(), "\n") != 1 {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	errs.Reset()
	if code := Main(t.Context(), []string{"serve", "--engine", "steam", "--data", t.TempDir()}, strings.NewReader(""), &out, &errs); code != exitUsage {
		t.Errorf("exit %d: %s", code, errs.String())
	}
}
