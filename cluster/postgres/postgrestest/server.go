// Package postgrestest runs a PostgreSQL server for tests: a real one, of its own, in a directory that goes with it, and
// reached by nothing but a socket in there.
package postgrestest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a server that runs.
type Server struct {
	dir      string
	bin      string
	settings []string
	as       *syscall.Credential // whom it runs as; nil = us

	mu      sync.Mutex
	process *os.Process
	ended   chan struct{} // closed when the process has ended
}

// ErrMissing says that there is no PostgreSQL on this machine.
var ErrMissing = errors.New("PostgreSQL is not installed: build/deps.sh postgres")

// Start makes a server and starts it. It must be closed. Settings are like "fsync=on", which is off otherwise: nobody
// pulls the plug of the machine in a test.
func Start(ctx context.Context, settings ...string) (_ *Server, err error) {
	s := &Server{settings: append([]string{"fsync=off", "max_connections=400", "shared_buffers=64MB", "log_min_messages=warning"}, settings...)}
	if s.bin, err = programs(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "parley-postgres-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if os.Getuid() == 0 { // which the server refuses to run as
		if err := s.unprivileged(); err != nil {
			return nil, err
		}
	}
	initdb := s.command(ctx, "initdb", "-D", s.data(), "-U", "parley", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-instructions")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s, s.Run(ctx)
}

// programs returns the directory of the newest installed server.
func programs() (string, error) {
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(all, func(a, b string) int { return version(b) - version(a) })
	if len(all) > 0 {
		return filepath.Dir(all[0]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", ErrMissing
	}
	path, err = filepath.EvalSymlinks(path)
	return filepath.Dir(path), err
}

func version(path string) int {
	n, _ := strconv.Atoi(strings.Split(strings.TrimPrefix(path, "/usr/lib/postgresql/"), "/")[0])
	return n
}

func (s *Server) unprivileged() error {
	u, err := user.Lookup("postgres")
	if err != nil {
		return fmt.Errorf("root may not run PostgreSQL, and there is no user for it: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.dir, int(uid), int(gid))
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	// A signal to the tests, such as that of the terminal, leaves it to us to end the server; it ends with them at the latest.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGQUIT, Credential: s.as}
	return cmd
}

// Run starts the server again after Stop or Kill.
func (s *Server) Run(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses="}
	for _, set := range s.settings {
		args = append(args, "-c", set)
	}
	cmd := s.command(context.WithoutCancel(ctx), "postgres", args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	s.mu.Lock()
	s.process, s.ended = cmd.Process, ended
	s.mu.Unlock()
	for {
		c, err := pgx.Connect(ctx, s.Address(""))
		if err == nil {
			return c.Close(ctx)
		}
		select {
		case <-ended:
			b, _ := os.ReadFile(log.Name())
			return fmt.Errorf("the server does not start: %s", b)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the server as an administrator does in a hurry: connections are broken, what is committed stays.
func (s *Server) Stop() { s.signal(syscall.SIGINT) }

// Kill ends the server as a crash does.
func (s *Server) Kill() { s.signal(syscall.SIGQUIT) }

func (s *Server) signal(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	_ = s.process.Signal(sig)
	<-s.ended
	s.process = nil
}

// Close ends the server and removes what it had.
func (s *Server) Close() error {
	s.Kill()
	err := os.RemoveAll(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Address is that of a schema; "" is the public one.
func (s *Server) Address(schema string) string {
	q := url.Values{"host": {s.dir}, "user": {"parley"}}
	if schema != "" {
		q.Set("search_path", schema)
	}
	return "postgres:///postgres?" + q.Encode()
}

// Schema is the address of a schema that belongs to a name, made when it is not there.
func (s *Server) Schema(ctx context.Context, name string) (string, error) {
	sum := sha256.Sum256([]byte(name))
	schema := fmt.Sprintf("s%x", sum[:8])
	c, err := pgx.Connect(ctx, s.Address(""))
	if err != nil {
		return "", err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+schema)
	return s.Address(schema), err
}
