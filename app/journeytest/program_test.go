package journeytest

import (
	"bufio"
	"bytes"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is the program while it runs.
type process struct {
	*testing.T
	fields map[string]string // of its ready line
	cmd    *exec.Cmd
	exited chan error
	logged *tail
}

// serve starts `parley serve --demo` on a new data directory.
func serve(t *testing.T) *process {
	t.Helper()
	return run(t, "serve", "--demo", "--grpc", "off", "--ui", "127.0.0.1:0", "--a2a", "127.0.0.1:0", "--data", t.TempDir())
}

// run starts the program, waits until it says that it is ready, and has it end in good order after the test.
func run(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{T: t, fields: map[string]string{}, cmd: exec.Command(program, args...), exited: make(chan error, 1), logged: &tail{}}
	p.cmd.Stderr = p.logged
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() })
	line, _ := bufio.NewReader(out).ReadString('\n')
	late.Stop()
	go func() { p.exited <- p.cmd.Wait() }()
	t.Cleanup(p.terminate)
	for field := range strings.FieldsSeq(line) {
		if name, value, ok := strings.Cut(field, "="); ok {
			p.fields[name] = value
		}
	}
	if p.fields["a2a"] == "" {
		t.Fatalf("%q is not ready: it said %q\n%s", args, line, p.logged)
	}
	return p
}

// kill ends the program as a power cut does.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.exited
	p.cmd = nil
}

// terminate ends the program in good order, unless it was killed.
func (p *process) terminate() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.exited:
		if err != nil {
			p.Errorf("after SIGTERM: %v\n%s", err, p.logged)
		}
	case <-time.After(30 * time.Second):
		p.kill()
		p.Error("SIGTERM did not end it within 30 s")
	}
	if s := p.logged.String(); strings.Contains(s, "panic") {
		p.Errorf("the log speaks of a panic:\n%s", s)
	}
}

// ui is the address of the pages, without a slash at its end.
func (p *process) ui() string {
	page, _, _ := strings.Cut(p.fields["ui"], "#")
	return strings.TrimSuffix(page, "/")
}

// freeAddress is an address on which nobody listens, for a program that is started twice on it.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// tail keeps the end of what was logged.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *tail) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() > 64<<10 {
		l.b.Next(32 << 10)
	}
	return l.b.Write(b)
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
