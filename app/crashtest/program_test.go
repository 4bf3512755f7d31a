package crashtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// token lets the clients in.
const token = "crash-token-that-is-long-enough"

// target is a way into the program: its arguments, and where below its A2A address the agent is.
type target struct {
	name string
	args []string
	path string
}

// process is the program while it runs.
type process struct {
	url    string
	cmd    *exec.Cmd
	exited chan error
	logged *syncBuffer
}

func (h *harness) command() (*process, *bufio.Reader, error) {
	p := &process{exited: make(chan error, 1), logged: &syncBuffer{}}
	p.cmd = exec.Command(program, append(h.target.args, "--data", h.data)...)
	p.cmd.Env = append(os.Environ(), "PARLEY_A2A_TOKEN="+token)
	p.cmd.Stderr = p.logged
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, nil, err
	}
	return p, bufio.NewReader(out), nil
}

// start starts the program and waits until it is ready.
func (h *harness) start() (*process, error) {
	began := time.Now()
	p, out, err := h.command()
	if err != nil {
		return nil, err
	}
	late := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() })
	line, _ := out.ReadString('\n')
	late.Stop()
	go func() { p.exited <- p.cmd.Wait() }()
	h.longestStart = max(h.longestStart, time.Since(began))
	for field := range strings.FieldsSeq(line) {
		if value, ok := strings.CutPrefix(field, "a2a="); ok {
			base, err := url.PathUnescape(value)
			p.url = base + h.target.path
			return p, err
		}
	}
	p.kill()
	return nil, fmt.Errorf("%w: it did not start again; it said %q\n%s", errBroken, line, p.logged)
}

// killAtStart kills the program a moment after it was started, ready or not.
func (h *harness) killAtStart() error {
	p, _, err := h.command()
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(h.random.IntN(150)) * time.Millisecond) // the random instant
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	h.kills++
	return nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.exited
}

// terminate ends the program in good order.
func (p *process) terminate() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-p.exited:
		if err != nil {
			return fmt.Errorf("after SIGTERM: %w\n%s", err, p.logged)
		}
		return nil
	case <-time.After(30 * time.Second):
		p.kill()
		return errors.New("SIGTERM did not end it within 30 s")
	}
}

// syncBuffer keeps the end of what was logged.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.b.Len() > 64<<10 {
		s.b.Next(32 << 10)
	}
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
