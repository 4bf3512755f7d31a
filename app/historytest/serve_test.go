package historytest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// server is the program, and a browser's session with it.
type server struct {
	base   string
	client *http.Client
	cmd    *exec.Cmd
	first  time.Duration // from exec to the first answer
}

// start starts the program on data and enters its page with the one-time link.
func start(t *testing.T, program, data string) *server {
	t.Helper()
	began := time.Now()
	s := &server{cmd: exec.Command(program, "serve", "--ui", "127.0.0.1:0", "--a2a", "127.0.0.1:0", "--data", data)}
	var logged bytes.Buffer
	s.cmd.Stderr = &logged
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("serve: %v\n%s", err, logged.String())
		}
	})
	line, _ := bufio.NewReader(out).ReadString('\n')
	var ui, token string
	for field := range strings.FieldsSeq(line) {
		if link, ok := strings.CutPrefix(field, "ui="); ok {
			ui, token, _ = strings.Cut(link, "#token=")
		}
	}
	if token == "" {
		t.Fatalf("serve is not ready: it said %q", line)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.base = strings.TrimSuffix(ui, "/")
	s.client = &http.Client{Jar: jar}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/session", strings.NewReader(fmt.Sprintf(`{"token":%q}`, token)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", s.base)
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("the link was answered %s: %s", resp.Status, b)
	}
	s.first = time.Since(began)
	return s
}

// page reads a page.
func (s *server) page(t *testing.T, path string) string {
	t.Helper()
	resp, err := s.client.Get(s.base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v\n%.500s", path, resp.Status, err, b)
	}
	return string(b)
}

func (s *server) times(t *testing.T, paths []string) []time.Duration {
	t.Helper()
	took := make([]time.Duration, len(paths))
	for i, path := range paths {
		began := time.Now()
		s.page(t, path)
		took[i] = time.Since(began)
	}
	return took
}

// time reads a page n times and logs how long it took.
func (s *server) time(t *testing.T, name string, n int, path string) {
	t.Helper()
	paths := make([]string, n)
	for i := range paths {
		paths[i] = path
	}
	t.Logf("%-32s %s", name, quantiles(s.times(t, paths)))
}

// resident is how much memory the program takes, 0 where that cannot be read.
func (s *server) resident() (bytes int64) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &bytes); err == nil {
			return bytes << 10
		}
	}
	return 0
}

func query(q string) string { return url.Values{"q": {q}}.Encode() }
