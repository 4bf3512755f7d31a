// Package servertest runs a Temporal server for tests: a real one, in a process of its own, on loopback, all of it in
// memory.
package servertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Server is a server that runs.
type Server struct {
	Address   string // of its frontend
	Namespace string

	process *os.Process
	stdin   io.Closer
	ended   chan struct{}
}

// ErrMissing says that the server has not been built.
var ErrMissing = errors.New("the Temporal server has not been built: make temporal-server")

// Start starts a server. It must be closed.
func Start(ctx context.Context) (*Server, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{process: cmd.Process, stdin: stdin, ended: make(chan struct{})}
	ready := make(chan string, 1)
	go func() {
		defer close(s.ended)
		r := bufio.NewReader(stdout)
		line, _ := r.ReadString('\n')
		ready <- line
		_, _ = io.Copy(io.Discard, r)
		_ = cmd.Wait()
	}()
	select {
	case line := <-ready:
		if n, _ := fmt.Sscanf(line, "ready temporal=%s namespace=%s", &s.Address, &s.Namespace); n != 2 {
			_ = s.Close()
			return nil, fmt.Errorf("the server does not start: it said %q", line)
		}
		return s, nil
	case <-ctx.Done():
		_ = s.Close()
		return nil, ctx.Err()
	}
}

// program returns the server's path: PARLEY_TEMPORAL_SERVER, or in the tools of the repository.
func program() (string, error) {
	if path := os.Getenv("PARLEY_TEMPORAL_SERVER"); path != "" {
		return path, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		path := filepath.Join(dir, "bin", "tools", "temporal-server")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		up := filepath.Dir(dir)
		if up == dir || strings.TrimSpace(up) == "" {
			return "", ErrMissing
		}
		dir = up
	}
}

// Pause makes the server answer nobody, as if the network to it were cut, until Continue.
func (s *Server) Pause() error { return s.process.Signal(syscall.SIGSTOP) }

// Continue ends a Pause.
func (s *Server) Continue() error { return s.process.Signal(syscall.SIGCONT) }

// Close ends the server.
func (s *Server) Close() error {
	err := errors.Join(s.stdin.Close(), s.process.Kill())
	<-s.ended
	return err
}
