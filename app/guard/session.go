package guard

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Sessions opens the pages to a browser that presents a one-time link, or the passphrase of Login, and to no other.
//
// A browser without a session gets a 401 page, whose script posts the token it finds after the # of the address to
// /session and goes on to the page. The token never reaches a log, a Referer or the browser's history. A session is a
// signed cookie; the key to it lives in the data directory, so that a session outlives a restart on the same port.
type Sessions struct {
	o        SessionOptions
	key      []byte
	cookie   string // its name has the port in it, for browsers do not keep cookies of ports apart
	port     string
	tlsHost  string // of SessionOptions.URL, where that is https
	launch   *launchTokens
	failures *failures
	ended    *endedSessions
}

// EndSession is where a page of ours posts to end the session of its browser.
const EndSession = "/session/end"

// SessionOptions of OpenSessions. The zero value of a field means the default that its comment gives.
type SessionOptions struct {
	Life   time.Duration    // of a session that is not used: 30 days
	Login  *Login           // lets browsers in by a passphrase, too; nil: only links do
	URL    string           // under which browsers come through a proxy: https://host; "" = they do not
	Public []string         // paths open to everybody; one that ends in / opens what is under it. None
	Now    func() time.Time // time.Now
	Logger *slog.Logger     // nil discards
}

// OpenSessions returns the sessions of the listener bound to addr. It reads the key in dir, or makes one.
func OpenSessions(dir string, addr net.Addr, o *SessionOptions) (*Sessions, error) {
	key, err := Key(dir, keyFile)
	if err != nil {
		return nil, fmt.Errorf("read the session key: %w", err)
	}
	_, port := split(addr)
	s := &Sessions{key: key, port: strconv.Itoa(int(port))}
	if o != nil {
		s.o = *o
	}
	set(&s.o.Life, 30*24*time.Hour)
	if s.o.Now == nil {
		s.o.Now = time.Now
	}
	if s.o.Logger == nil {
		s.o.Logger = slog.New(slog.DiscardHandler)
	}
	s.cookie = "parley_" + s.port
	if u, err := url.Parse(s.o.URL); err == nil && u.Scheme == "https" {
		s.tlsHost = u.Host
	}
	s.launch = &launchTokens{now: s.o.Now}
	s.failures = newFailures(s.o.Now)
	if s.ended, err = openEnded(dir, s.o.Life, s.o.Now()); err != nil {
		return nil, fmt.Errorf("read which sessions were ended: %w", err)
	}
	return s, nil
}

// Token returns a new one-time token for a link, http://host:port/#token=…, and when it expires. With a ttl of 0 it is
// good until it is used or the program ends.
func (s *Sessions) Token(ttl time.Duration) (token string, expires time.Time) {
	return s.launch.add(ttl)
}

// Protect lets a request through when it has a session, or its path is public, and serves what it takes to get one.
// What changes something must come from a page of ours as well.
func (s *Sessions) Protect(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /session", s.enter)
	mux.HandleFunc("POST "+EndSession, s.end)
	mux.HandleFunc("GET /enter.js", enterFile("enter.js", "text/javascript; charset=utf-8"))
	mux.HandleFunc("GET /enter.css", enterFile("enter.css", "text/css; charset=utf-8"))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		now, ok := s.valid(r)
		switch {
		case ok:
			if s.o.Now().Sub(now.issued) > renewAfter && r.Method == http.MethodGet && r.Header.Get("Upgrade") == "" {
				s.issue(w, r, now)
			}
			next.ServeHTTP(w, r)
		case s.public(r.URL.Path):
			next.ServeHTTP(w, r)
		default:
			s.unknown(w, r)
		}
	})
	return s.sameOrigin(mux)
}

// renewAfter is the age at which a session that is used is made anew.
const renewAfter = 24 * time.Hour

// CheckWebSocket says why a WebSocket must not be opened: it takes a page of ours, named by Origin, and a session.
func (s *Sessions) CheckWebSocket(r *http.Request) error {
	if err := checkOrigin(r, s.secure(r)); err != nil {
		return err
	}
	if !s.Valid(r) {
		return ErrSession
	}
	return nil
}

// ErrSession is why a request without a session is turned away.
var ErrSession = errors.New("the request has no session")

// Valid reports whether a request has a session.
func (s *Sessions) Valid(r *http.Request) bool {
	_, ok := s.valid(r)
	return ok
}

func (s *Sessions) public(asked string) bool {
	if path.Clean(asked) != strings.TrimSuffix(asked, "/") && asked != "/" {
		return false // it leads elsewhere
	}
	for _, p := range s.o.Public {
		if p == asked || strings.HasSuffix(p, "/") && strings.HasPrefix(asked, p) {
			return true
		}
	}
	return false
}

// maxTokenBody is more than a request with a token needs.
const maxTokenBody = 8 << 10

// enter exchanges a one-time token for a session. sameOrigin stands before it, so that another site cannot use up the
// attempts of the person. A good token lets in also while its source is locked out: nobody guesses 256 bits, and others may
// come from there, too.
func (s *Sessions) enter(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuse(w, r, http.StatusUnsupportedMediaType, "Send JSON.")
		return
	}
	var body struct {
		Token      string `json:"token"`
		Passphrase string `json:"passphrase"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxTokenBody)).Decode(&body); err != nil {
		refuse(w, r, http.StatusBadRequest, "This is not a token.")
		return
	}
	mark := ""
	if body.Passphrase != "" && s.o.Login.On() {
		if s.failures.locked(w, r, refuse) {
			return
		}
		leave, err := s.o.Login.turn(r.Context())
		if err != nil {
			return // nobody waits for the answer
		}
		defer leave()
		if s.failures.locked(w, r, refuse) { // many may have come at once
			return
		}
		mark = s.o.Login.mark() // before: of one that is changed meanwhile the session ends with the old
		if !s.o.Login.check(body.Passphrase) {
			s.failures.add(source(r), sha256.Sum256([]byte(rand.Text())))
			s.o.Logger.WarnContext(r.Context(), "a wrong passphrase was presented", "from", source(r))
			refuse(w, r, http.StatusUnauthorized, "This is not the passphrase.")
			return
		}
	} else if !s.launch.take(body.Token) {
		if s.failures.locked(w, r, refuse) {
			return
		}
		// Every attempt counts: a number in place of the hash makes each a different one.
		s.failures.add(source(r), sha256.Sum256([]byte(rand.Text())))
		s.o.Logger.WarnContext(r.Context(), "a wrong or used link was presented", "from", source(r))
		refuse(w, r, http.StatusUnauthorized, "This link was used before or has expired. Ask for a new one with: parley open")
		return
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	s.issue(w, r, session{id: base64.RawURLEncoding.EncodeToString(id[:]), mark: mark})
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

//go:embed static
var static embed.FS

func enterFile(name, kind string) http.HandlerFunc {
	body, err := fs.ReadFile(static, "static/"+name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(body)
	}
}

// unknown answers a request without a session: a person gets the page that asks for the link.
func (s *Sessions) unknown(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.Header.Get("Upgrade") != "" || !strings.Contains(r.Header.Get("Accept"), "text/html") && r.URL.Path != "/" {
		refuse(w, r, http.StatusUnauthorized, "This needs a session. Open the program with: parley open")
		return
	}
	page, err := static.ReadFile("static/enter.html")
	if err != nil {
		panic(err) // it is part of the program
	}
	if s.o.Login.On() {
		page = bytes.Replace(page, []byte("<html "), []byte("<html data-login "), 1)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write(page)
}

// end ends the session of a browser, and with it every copy of its cookie, also of one from before it was made anew.
func (s *Sessions) end(w http.ResponseWriter, r *http.Request) {
	if now, ok := s.valid(r); ok {
		if err := s.ended.add(now.id, s.o.Now()); err != nil {
			s.o.Logger.ErrorContext(r.Context(), "the end of a session could not be stored", "err", err)
			refuse(w, r, http.StatusInternalServerError, "This could not be stored: the session may be good again after a restart.")
			return
		}
	}
	s.setCookie(w, r, "", -1)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// session is what a cookie says.
type session struct {
	id     string // stays when it is made anew
	mark   string // of the passphrase that let it in, "" for a link
	issued time.Time
}

// issue gives a browser a session, issued now.
func (s *Sessions) issue(w http.ResponseWriter, r *http.Request, of session) {
	value := of.id + "." + strconv.FormatInt(s.o.Now().Unix(), 10)
	s.setCookie(w, r, value+"."+s.sign(value, of.mark), int(s.o.Life.Seconds()))
}

func (s *Sessions) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: s.cookieOf(r), Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.secure(r),
	})
}

// secure reports whether the browser speaks TLS: with us, or with the proxy in front, by whose name it then comes.
func (s *Sessions) secure(r *http.Request) bool {
	return r.TLS != nil || s.tlsHost != "" && strings.EqualFold(r.Host, s.tlsHost)
}

// cookieOf is the name of the cookie. One that begins with __Host- can be set over TLS alone, and by no other host: neither
// somebody on the way nor a neighbouring name can put one of theirs beside it.
func (s *Sessions) cookieOf(r *http.Request) string {
	if s.secure(r) {
		return "__Host-" + s.cookie
	}
	return s.cookie
}

// sign signs the value of a session for this port: a cookie of one port is worth nothing at another. One that a passphrase
// let in is signed for that as well, so that it ends with it.
func (s *Sessions) sign(value, mark string) string {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte("session\x00" + s.port + "\x00" + value))
	if mark != "" {
		m.Write([]byte("\x00" + mark))
	}
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// valid returns the session of a request. More than one cookie of our name is none: somebody else set one of them.
func (s *Sessions) valid(r *http.Request) (of session, ok bool) {
	cookies := r.CookiesNamed(s.cookieOf(r))
	if len(cookies) != 1 {
		return session{}, false
	}
	parts := strings.Split(cookies[0].Value, ".")
	if len(parts) != 3 {
		return session{}, false
	}
	signed := func(mark string) bool {
		return hmac.Equal([]byte(s.sign(parts[0]+"."+parts[1], mark)), []byte(parts[2]))
	}
	of.id = parts[0]
	if !signed("") {
		if of.mark = s.o.Login.mark(); of.mark == "" || !signed(of.mark) {
			return session{}, false
		}
	}
	unix, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || s.ended.has(of.id) {
		return session{}, false
	}
	of.issued = time.Unix(unix, 0)
	age := s.o.Now().Sub(of.issued)
	return of, age < s.o.Life && age > -time.Hour // a clock may have been set back, but not by much
}

const keyFile = "session.key"

// Key returns the 32 random bytes kept in a file of dir, or makes them. A file that is not such a key, or that others
// could read, is replaced: all it costs is that what was made with the old one is good no longer.
func Key(dir, name string) ([]byte, error) {
	file := filepath.Join(dir, name)
	if key, err := os.ReadFile(file); err == nil && len(key) == sha256.Size {
		// One that others could read is no secret any more.
		if info, err := os.Stat(file); err == nil && (info.Mode().Perm()&0o077 == 0 || !unixModes) {
			return key, nil
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	f, err := os.CreateTemp(dir, name+".*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	if _, err = f.Write(key); err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return key, os.Rename(f.Name(), file)
}
