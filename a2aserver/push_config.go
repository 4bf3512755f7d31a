package a2aserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/net/http/httpguts"

	"parley/a2a"
	"parley/a2a/wire"
)

// scopedPusher is the sender as the handler of one scope sees it.
type scopedPusher struct {
	s     *PushSender
	scope string
}

// What a configuration may hold, in bytes.
const (
	maxPushURL   = 2048
	maxPushID    = 256
	maxPushToken = 4096
	maxPushAuth  = 8192
)

// Check implements Pusher.
func (p *scopedPusher) Check(ctx context.Context, r *PushRegistration) error {
	c := &r.Config
	if len(c.ID) > maxPushID {
		return badPush("id", "the id of the push configuration is longer than %d bytes", maxPushID)
	}
	if len(c.Token) > maxPushToken || !httpguts.ValidHeaderFieldValue(c.Token) {
		return badPush("token", "the token cannot be sent in a header")
	}
	auth, err := pushAuth(c.Authentication)
	if err != nil {
		return badPush("authentication", "%w", err)
	}
	if auth.jwt && p.s.o.Sign == nil {
		return badPush("authentication", "the Bearer scheme needs credentials here")
	}
	u, err := pushURL(c.URL)
	if err != nil {
		return badPush("url", "%w", err)
	}
	t, way, err := p.s.target(u)
	if err != nil {
		return badPush("url", "%w", err)
	}
	defer p.s.release(t)
	if r.Dialect == wire.OLD {
		return p.s.greet(ctx, u, t, way)
	}
	return nil
}

func badPush(field, format string, args ...any) error {
	e := a2a.Errorf(a2a.KindInvalidParams, format, args...)
	e.Field = "pushNotificationConfig." + field
	return e
}

// pushURL reads an address that a webhook may have. Whether it may be reached is for PushOptions.Target to say.
func pushURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case len(s) > maxPushURL:
		return nil, fmt.Errorf("the webhook's address is longer than %d bytes", maxPushURL)
	case err != nil || u.Opaque != "" || u.Host == "" || u.Hostname() == "":
		return nil, errors.New("the webhook's address must be an absolute https URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the webhook's address must begin with https://")
	case u.User != nil:
		return nil, errors.New("the webhook's address must not hold a user name or password")
	case u.Fragment != "" || strings.Contains(s, "#"):
		return nil, errors.New("the webhook's address must not have a fragment")
	case u.Scheme == "http" && !loopbackHost(u.Hostname()):
		return nil, errors.New("the webhook's address must begin with https://; http is for this machine only")
	}
	return u, nil
}

func loopbackHost(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// pushHeader is how a delivery authenticates itself: by a header, by a JWT of ours, or (the zero value) not at all.
type pushHeader struct {
	name, value string
	jwt         bool
}

// pushAuth reads what a webhook wants. Of several schemes the first that is known counts; where none is, the
// configuration is not one that could be kept.
func pushAuth(a *a2a.PushAuthentication) (h pushHeader, err error) {
	if a == nil || a.Scheme == "" && len(a.MoreSchemes) == 0 && a.Credentials == "" {
		return h, nil
	}
	if len(a.Credentials) > maxPushAuth || !httpguts.ValidHeaderFieldValue(a.Credentials) {
		return h, errors.New("the credentials cannot be sent in a header")
	}
	for _, scheme := range append([]string{a.Scheme}, a.MoreSchemes...) {
		switch strings.ToLower(scheme) {
		case "bearer":
			if a.Credentials == "" {
				return pushHeader{jwt: true}, nil
			}
			return pushHeader{name: "Authorization", value: "Bearer " + a.Credentials}, nil
		case "basic":
			if a.Credentials == "" {
				return h, errors.New("the Basic scheme needs credentials")
			}
			value := a.Credentials
			if strings.Contains(value, ":") { // user:password, not encoded yet
				value = base64.StdEncoding.EncodeToString([]byte(value))
			}
			return pushHeader{name: "Authorization", value: "Basic " + value}, nil
		case "apikey":
			return apiKey(a.Credentials)
		}
	}
	return h, fmt.Errorf("the authentication scheme %.40q is not known here; use Bearer, Basic or ApiKey", a.Scheme)
}

// apiKey reads {"in":"header","name":…,"value":…}.
func apiKey(credentials string) (h pushHeader, err error) {
	var k struct{ In, Name, Value string }
	if json.Unmarshal([]byte(credentials), &k) != nil || k.Name == "" || k.Value == "" {
		return h, errors.New(`the credentials of an ApiKey scheme are {"in":"header","name":…,"value":…}`)
	}
	switch {
	case k.In != "" && k.In != "header":
		return h, fmt.Errorf("an API key is sent in a header, not in %.20q", k.In)
	case !httpguts.ValidHeaderFieldName(k.Name) || deniedHeader(k.Name):
		return h, fmt.Errorf("an API key cannot be sent in a header named %.40q", k.Name)
	case !httpguts.ValidHeaderFieldValue(k.Value):
		return h, errors.New("the API key cannot be sent in a header")
	}
	return pushHeader{name: k.Name, value: k.Value}, nil
}

// deniedHeader reports whether a header belongs to the protocol, to the connection or to another kind of credential.
func deniedHeader(name string) bool {
	name = textproto.CanonicalMIMEHeaderKey(name)
	return slices.Contains([]string{
		"Accept", "Accept-Encoding", "Authorization", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Cookie",
		"Expect", "Forwarded", "Host", "Keep-Alive", "Origin", "Referer", "Set-Cookie", "Te", "Trailer", "Transfer-Encoding",
		"Upgrade", "User-Agent", "Via", "X-A2a-Notification-Token",
	}, name) || slices.ContainsFunc([]string{"A2a-", "Access-Control-", "Proxy-", "Sec-", "Webhook-", "X-Forwarded-"}, func(p string) bool {
		return strings.HasPrefix(name, p)
	})
}

// Set implements Pusher.
func (p *scopedPusher) Set(ctx context.Context, r *PushRegistration) (*a2a.PushConfig, error) {
	task := r.Config.TaskID
	if r.Config.ID == "" {
		if r.Config.ID = uuid.NewString(); r.Dialect != wire.NEW { // older clients know one for each task by default
			r.Config.ID = task
		}
	}
	if r.Dialect == wire.OLD && r.Config.URL == "" {
		return &a2a.PushConfig{TaskID: task}, p.Delete(ctx, r.Principal, &a2a.PushDeleteRequest{TaskID: task, ID: r.Config.ID})
	}
	if err := p.Check(ctx, r); err != nil {
		return nil, err
	}
	row := &PushRow{
		PushProgress: PushProgress{UID: newID(), Seq: r.After}, Scope: p.scope, Principal: r.Principal, Config: r.Config,
		Dialect: r.Dialect, ClientTaskID: r.ClientTaskID, Created: now(),
	}
	unlock := p.s.lock(task)
	defer unlock()
	rows, err := p.rows(ctx, r.Principal, task)
	if err != nil {
		return nil, err
	}
	var old *PushRow
	if i := slices.IndexFunc(rows, func(k *PushRow) bool { return k.Config.ID == r.Config.ID }); i >= 0 {
		old = rows[i]
		if old.State == PushLive && old.Attempts == 0 && old.Dialect == r.Dialect && reflect.DeepEqual(old.Config, r.Config) {
			return shownPush(old), nil
		}
		if at, ok := p.s.end(old.UID); ok {
			old.PushProgress = at
		}
		row.Seq = old.Seq // what the one before still owed
	}
	err = p.s.o.Store.Put(ctx, row, a2a.Limits.PushConfigs)
	if err == nil {
		p.s.begin(row, 0)
		return shownPush(row), nil
	}
	if old != nil && old.State == PushLive {
		p.s.begin(old, 0)
	}
	if errors.Is(err, ErrPushConfigs) {
		return nil, badPush("id", "a task can have %d push configurations at most; delete one", a2a.Limits.PushConfigs)
	}
	return nil, err
}

// rows returns the registrations of a task that are the principal's.
func (p *scopedPusher) rows(ctx context.Context, principal, task string) ([]*PushRow, error) {
	rows, err := p.s.o.Store.Rows(ctx, task)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r *PushRow) bool { return r.Principal != principal || r.Scope != p.scope })
	slices.SortFunc(rows, olderRow)
	return rows, nil
}

// Get implements Pusher.
func (p *scopedPusher) Get(ctx context.Context, principal string, r *a2a.PushGetRequest) (*a2a.PushConfig, error) {
	rows, err := p.rows(ctx, principal, r.TaskID)
	if err != nil {
		return nil, err
	}
	for _, row := range slices.Backward(rows) {
		if r.ID == "" || row.Config.ID == r.ID {
			return shownPush(row), nil
		}
	}
	return nil, &a2a.Error{
		Kind: a2a.KindTaskNotFound, Message: "the task has no such push configuration", Metadata: map[string]string{"taskId": r.TaskID},
	}
}

// List implements Pusher.
func (p *scopedPusher) List(ctx context.Context, principal string, r *a2a.PushListRequest) (*a2a.PushConfigPage, error) {
	rows, err := p.rows(ctx, principal, r.TaskID)
	if err != nil {
		return nil, err
	}
	if r.PageSize < 0 {
		return nil, &a2a.Error{Kind: a2a.KindInvalidParams, Field: "pageSize", Message: "pageSize must not be negative"}
	}
	if r.PageToken != "" { // the registration that the page before ended with
		i := slices.IndexFunc(rows, func(row *PushRow) bool { return row.UID == r.PageToken })
		if i < 0 {
			return nil, &a2a.Error{Kind: a2a.KindInvalidParams, Field: "pageToken", Message: "pageToken is not one that was given out"}
		}
		rows = rows[i+1:]
	}
	page := &a2a.PushConfigPage{Configs: []a2a.PushConfig{}}
	if r.PageSize > 0 && len(rows) > r.PageSize {
		rows = rows[:r.PageSize]
		page.NextPageToken = rows[r.PageSize-1].UID
	}
	for _, row := range rows {
		page.Configs = append(page.Configs, *shownPush(row))
	}
	return page, nil
}

// Delete implements Pusher.
func (p *scopedPusher) Delete(ctx context.Context, principal string, r *a2a.PushDeleteRequest) error {
	unlock := p.s.lock(r.TaskID)
	defer unlock()
	rows, err := p.rows(ctx, principal, r.TaskID)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Config.ID != r.ID {
			continue
		}
		p.s.end(row.UID)
		return p.s.o.Store.Delete(ctx, r.TaskID, r.ID)
	}
	return nil
}

// shownPush is a registration's configuration as its creator may see it: without credentials.
func shownPush(r *PushRow) *a2a.PushConfig {
	c := r.Config
	if c.Authentication != nil {
		a := *c.Authentication
		a.Credentials = ""
		c.Authentication = &a
	}
	return &c
}

// The handshake of the first drafts: the webhook is asked to say a text after us before anything is sent to it. Nobody
// can tell a client of those drafts from one of v0.1, which has no such handshake, so that an answer which only shows
// that the webhook does not know of it is no objection; one that turns us away, or none at all, is.
const (
	greetTime  = 10 * time.Second
	greetAgain = time.Minute // a webhook that has answered is not asked again within this time
	greeted    = 1024        // of those webhooks are remembered
)

// greet carries the handshake out. The question counts as a request to the webhook's origin, and takes no delivery's turn.
func (s *PushSender) greet(ctx context.Context, u *url.URL, t *target, way PushTarget) error {
	s.mu.Lock()
	last, known := s.greeted[u.String()]
	s.mu.Unlock()
	if known && time.Since(last) < greetAgain {
		return nil
	}
	ask := *u
	q := ask.Query()
	text := uuid.NewString()
	q.Set("validationToken", text)
	ask.RawQuery = q.Encode()
	ctx, done := context.WithTimeout(ctx, greetTime)
	defer done()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, ask.String(), nil)
	if err != nil {
		return badPush("url", "the webhook's address is not valid")
	}
	if t.pace(ctx) != nil {
		return &a2a.Error{Kind: a2a.KindRateLimited, Message: "the webhook's host is asked too much already; try again in a moment"}
	}
	client := *way.HTTP
	client.CheckRedirect = stay
	resp, err := client.Do(r)
	if err != nil {
		return badPush("url", "the webhook could not be asked whether it wants to be told: %s", attempt{err: err}.reason())
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxPushAnswer))
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusGone, code >= 300 && code < 400,
		code >= 500 && code != http.StatusNotImplemented:
		return badPush("url", "the webhook answered %d when it was asked whether it wants to be told", code)
	case code != http.StatusOK || strings.TrimSpace(string(body)) != text:
		s.log.Info("a webhook of a v0.1 client does not know the handshake of the first drafts", "host", u.Host, "status", code)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.greeted) >= greeted {
		clear(s.greeted)
	}
	s.greeted[u.String()] = time.Now()
	return nil
}
