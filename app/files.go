package app

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"parley/a2a"
	"parley/app/egress"
	"parley/app/guard"
	"parley/frontend"
)

// files serves outside callers the files that agents name by an address which only we can reach: in their place the
// callers see addresses of ours, each good for one caller and one file. What the agent's address was cannot be seen in
// them, and nothing can be asked for that was not named to this caller, or that the agent who named it has no business
// with; where that is whoever our own agent asked, one that the caller may reach. Addresses that everybody can reach pass unchanged, and so does what callers say themselves.
type files struct {
	base   string // our origin, as our cards name it, with a trailing slash
	reach  reach  // of our origin
	egress *egress.Egress
	grants *grants
	may    func(ctx context.Context, principal, agent string) bool // reach it
	mac    []byte
	seal   cipher.AEAD
}

// reach says from where a host can be reached.
type reach uint8

const (
	thisMachine reach = iota
	thisNetwork
	everywhere
)

// reachOf judges a host by its name alone: nothing is looked up.
func reachOf(host string) reach {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return thisMachine
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		switch ip = ip.Unmap(); {
		case ip.IsLoopback() || ip.IsUnspecified():
			return thisMachine
		case ip.IsPrivate() || ip.IsLinkLocalUnicast():
			return thisNetwork
		}
		return everywhere
	}
	if egress.LocalName(host) {
		return thisNetwork
	}
	return everywhere
}

// filesKey is the file of the data directory with the key of the addresses: they are good after a restart, too.
const filesKey = "files.key"

func newFiles(dir, base string, e *egress.Egress, g *grants, may func(ctx context.Context, principal, agent string) bool) (*files, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	key, err := guard.Key(dir, filesKey)
	if err != nil {
		return nil, err
	}
	f := &files{base: base, reach: reachOf(u.Hostname()), egress: e, grants: g, may: may}
	derive := func(what string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(what))
		return h.Sum(nil)
	}
	f.mac = derive("nonce")
	block, err := aes.NewCipher(derive("seal"))
	if err != nil {
		return nil, err
	}
	f.seal, err = cipher.NewGCM(block)
	return f, err
}

// view is who is shown what whom says.
type view struct {
	principal string
	agent     string // "" = whoever our own agent asked
}

// address is what a caller sees in place of a file's address: the same each time, as the events of a task are.
func (f *files) address(v view, file string) string {
	u, err := url.Parse(file)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || reachOf(u.Hostname()) >= f.reach {
		return file
	}
	named := []byte(v.agent + "\x00" + file)
	h := hmac.New(sha256.New, f.mac)
	h.Write([]byte(v.principal + "\x00"))
	h.Write(named)
	nonce := h.Sum(nil)[:f.seal.NonceSize()]
	sealed := f.seal.Seal(nonce, nonce, named, []byte(v.principal))
	out := f.base + "files/" + base64.RawURLEncoding.EncodeToString(sealed)
	if name := path.Base(u.Path); name != "." && name != "/" {
		out += "/" + url.PathEscape(frontend.CleanName(name))
	}
	return out
}

// named returns the file's address that a caller's one stands for and the agent who named it; the address is "" when it was
// not made for this caller.
func (f *files) named(principal, sealed string) (agent, file string) {
	b, err := base64.RawURLEncoding.DecodeString(sealed)
	n := f.seal.NonceSize()
	if err != nil || len(b) < n {
		return "", ""
	}
	named, err := f.seal.Open(nil, b[:n], b[n:], []byte(principal))
	if err != nil {
		return "", ""
	}
	agent, file, _ = strings.Cut(string(named), "\x00")
	return agent, file
}

// serve answers GET files/{sealed}/{name}: what the agent has at that address, without credentials, as egress allows.
func (f *files) serve(w http.ResponseWriter, r *http.Request, principal string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "a file is read with GET", http.StatusMethodNotAllowed)
		return
	}
	sealed, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/files/"), "/")
	agent, address := f.named(principal, sealed)
	if address == "" {
		http.NotFound(w, r)
		return
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, address, nil)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	if agent == "" {
		agent = f.grants.agentAt(address, func(id string) bool { return f.may(r.Context(), principal, id) })
	}
	resp, err := f.egress.Client(egress.Policy{Agent: agent, Content: egress.File}).Do(req)
	if err != nil {
		if refused := (*egress.Refused)(nil); errors.As(err, &refused) || agent == "" {
			http.NotFound(w, r)
			return
		}
		http.Error(w, "the agent that has this file cannot be reached", http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		http.Error(w, "the agent that named this file does not have it", http.StatusBadGateway)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	if t, params, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil {
		h.Set("Content-Type", mime.FormatMediaType(t, params))
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": frontend.CleanName(name)}))
	h.Set("Cache-Control", "private, no-store")
	if _, err := io.Copy(w, resp.Body); err != nil && r.Context().Err() == nil {
		panic(http.ErrAbortHandler) // the caller must not take a part for the whole
	}
}

// parts returns ps with the addresses as a caller may see them: ps itself where nothing changes.
func (f *files) parts(v view, ps []a2a.Part) []a2a.Part {
	changed := false
	for i := range ps {
		if ps[i].Kind != a2a.PartURL {
			continue
		}
		if to := f.address(v, ps[i].URL); to != ps[i].URL {
			if !changed {
				ps, changed = slices.Clone(ps), true
			}
			ps[i].URL = to
		}
	}
	return ps
}

func (f *files) message(v view, m *a2a.Message) *a2a.Message {
	if m == nil || m.Role == a2a.RoleUser {
		return m
	}
	parts := f.parts(v, m.Parts)
	if same(parts, m.Parts) {
		return m
	}
	c := *m
	c.Parts = parts
	return &c
}

func same(a, b []a2a.Part) bool { return len(a) == 0 || &a[0] == &b[0] }

// task returns t as a caller may see it. t itself may be changed, what it points to is not.
func (f *files) task(v view, t *a2a.Task) *a2a.Task {
	if t == nil {
		return nil
	}
	c := *t
	c.Status.Message = f.message(v, t.Status.Message)
	c.Artifacts, c.History = slices.Clone(t.Artifacts), slices.Clone(t.History)
	for i := range c.Artifacts {
		c.Artifacts[i].Parts = f.parts(v, c.Artifacts[i].Parts)
	}
	for i := range c.History {
		c.History[i] = *f.message(v, &c.History[i])
	}
	return &c
}

// event returns e as a caller may see it: e itself where nothing changes.
func (f *files) event(v view, e a2a.Event) a2a.Event {
	switch e := e.(type) {
	case *a2a.Task:
		return f.task(v, e)
	case *a2a.Message:
		return f.message(v, e)
	case *a2a.StatusUpdate:
		if m := f.message(v, e.Status.Message); m != e.Status.Message {
			c := *e
			c.Status.Message = m
			return &c
		}
	case *a2a.ArtifactUpdate:
		if parts := f.parts(v, e.Artifact.Parts); !same(parts, e.Artifact.Parts) {
			c := *e
			c.Artifact.Parts = parts
			return &c
		}
	}
	return e
}

// outward wraps Tasks for callers who are farther away than the agents.
type outward struct {
	allowed
	files *files
	agent string // "" = our own
}

func (o outward) view(principal string) view { return view{principal, o.agent} }

func (o outward) Task(ctx context.Context, principal string, r *a2a.GetRequest) (*a2a.Task, error) {
	t, err := o.allowed.Task(ctx, principal, r)
	return o.files.task(o.view(principal), t), err
}

func (o outward) Snapshot(ctx context.Context, principal, task string, seq int64) (*a2a.Task, int64, error) {
	t, at, err := o.allowed.Snapshot(ctx, principal, task, seq)
	return o.files.task(o.view(principal), t), at, err
}

func (o outward) List(ctx context.Context, principal string, r *a2a.ListRequest) (*a2a.TaskPage, error) {
	p, err := o.allowed.List(ctx, principal, r)
	if err != nil {
		return nil, err
	}
	for i := range p.Tasks {
		p.Tasks[i] = *o.files.task(o.view(principal), &p.Tasks[i])
	}
	return p, nil
}

func (o outward) Cancel(ctx context.Context, principal string, r *a2a.CancelRequest) (*a2a.Task, error) {
	t, err := o.allowed.Cancel(ctx, principal, r)
	return o.files.task(o.view(principal), t), err
}

func (o outward) Events(ctx context.Context, principal, task string, after int64) iter.Seq2[[]*a2a.Entry, error] {
	return func(yield func([]*a2a.Entry, error) bool) {
		for entries, err := range o.allowed.Events(ctx, principal, task, after) {
			if err == nil {
				entries, err = o.rewrite(principal, entries)
			}
			if !yield(entries, err) || err != nil {
				return
			}
		}
	}
}

// urlMember is in the JSON of every part with an address.
var urlMember = []byte(`"url":`)

// rewrite returns entries with the addresses in them as the caller may see them: entries itself where nothing changes.
func (o outward) rewrite(principal string, entries []*a2a.Entry) ([]*a2a.Entry, error) {
	changed := false
	for i, e := range entries {
		if !bytes.Contains(e.JSON, urlMember) {
			continue
		}
		was, err := e.Event()
		if err != nil {
			return nil, err
		}
		if is := o.files.event(o.view(principal), was); is != was {
			if !changed {
				entries, changed = slices.Clone(entries), true
			}
			entries[i] = a2a.NewEntry(e.Seq, e.At, a2a.MarshalEvent(is), is)
		}
	}
	return entries, nil
}
