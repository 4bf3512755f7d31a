package frontend

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"path/filepath"
	"testing"
)

// maxScript is how large the page's own script may be on its way, in bytes. Diagrams and formulas come when they are needed.
const maxScript = 25 << 10

func TestScriptIsSmall(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("static/app-*.js")
	if err != nil || len(files) != 1 {
		t.Fatalf("the script is one file, not %q: %v", files, err)
	}
	b, err := fs.ReadFile(static, files[0])
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d on their way", len(b), packed.Len())
	if packed.Len() > maxScript {
		t.Errorf("the script takes %d bytes on its way; it may take %d", packed.Len(), maxScript)
	}
}
