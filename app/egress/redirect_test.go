package egress

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// web is a set of servers that redirect among one another and remember what they were asked.
type web struct {
	mu    sync.Mutex
	asked []*http.Request // as they came, to any of them
}

func (w *web) saw(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, r)
}

func (w *web) paths(host string) (paths []string, headers []http.Header) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.asked {
		if r.Host == host {
			paths, headers = append(paths, r.URL.Path), append(headers, r.Header)
		}
	}
	return paths, headers
}

// chains runs every chain and reports what went against the policy.
func chains(t *testing.T, change func(*http.Client)) (wrong []string) {
	seen := &web{}
	var plain, other, secure, forbidden string
	hop := func(w http.ResponseWriter, r *http.Request) {
		seen.saw(r)
		status := http.StatusFound
		to, ok := strings.CutPrefix(r.URL.Path, "/to/")
		if n := strings.TrimPrefix(r.URL.Path, "/307/"); n != r.URL.Path {
			status, to, ok = http.StatusTemporaryRedirect, n, true
		}
		if !ok {
			fmt.Fprint(w, "arrived")
			return
		}
		// The path names the stops: /to/other/to/plain/end.
		name, rest, _ := strings.Cut(to, "/")
		target := map[string]string{"plain": plain, "other": other, "secure": secure, "forbidden": forbidden, "metadata": "http://169.254.169.254", "ftp": "ftp://127.0.0.1", "user": strings.Replace(plain, "://", "://user:pass@", 1)}[name]
		http.Redirect(w, r, target+"/"+rest, status)
	}
	plain, other, forbidden = serve(t, hop), serve(t, hop), serve(t, func(w http.ResponseWriter, r *http.Request) {
		t.Logf("forbidden: %s %s", r.Method, r.URL.Path)
		seen.saw(r)
	})
	secure, roots := serveTLS(t, hop)
	e := newEgress(t, &Options{
		OnDial: (&spy{}).let(plain, other, secure, forbidden).see, tls: roots,
		Grants: grants{"a": {plain, other, secure}}.of,
	})
	ask := func(method, u, body string) (string, error) {
		c := e.Client(Policy{Agent: "a", Credentials: bearerFor(plain, "CREDENTIAL")})
		if change != nil {
			change(c)
		}
		r, err := http.NewRequestWithContext(t.Context(), method, u, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body == "" {
			r.Body, r.ContentLength, r.GetBody = nil, 0, nil
		}
		r.Header.Set("X-Api-Key", "CALLER")
		r.Header.Set("Authorization", "Bearer CALLER")
		r.Header.Set("Accept", "application/json")
		resp, err := c.Do(r)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if resp.StatusCode/100 == 3 {
			return fmt.Sprint(resp.StatusCode), err
		}
		return string(b), err
	}
	for _, tt := range []struct{ method, url, want string }{
		{"GET", plain + "/end", "arrived"},
		{"GET", plain + "/to/plain/end", "arrived"},
		{"GET", plain + "/to/plain/to/plain/to/plain/end", "arrived"},
		{"GET", plain + "/to/plain/to/plain/to/plain/to/plain/end", "refused"}, // the fourth
		{"GET", plain + "/to/other/end", "arrived"},
		{"GET", plain + "/to/secure/end", "arrived"},
		{"GET", secure + "/to/secure/end", "arrived"},
		{"GET", secure + "/to/plain/end", "refused"},          // https to http
		{"GET", plain + "/to/secure/to/other/end", "refused"}, // and so on the way
		{"GET", plain + "/to/forbidden/end", "refused"},
		{"GET", plain + "/to/other/to/forbidden/end", "refused"},
		{"GET", plain + "/to/metadata/latest", "refused"},
		{"GET", plain + "/to/ftp/end", "refused"},
		{"GET", plain + "/to/user/end", "refused"},
		{"GET", plain + "/307/forbidden/end", "refused"},
		{"POST", plain + "/to/plain/end", "302"},
		{"POST", plain + "/307/plain/end", "307"},
		{"POST", plain + "/307/other/end", "307"},
		{"POST", plain + "/307/forbidden/end", "307"},
		{"PUT", plain + "/307/plain/end", "307"},
		{"DELETE", plain + "/307/plain/end", "307"},
	} {
		body := ""
		if tt.method == "POST" || tt.method == "PUT" {
			body = "MESSAGE"
		}
		got, err := ask(tt.method, tt.url, body)
		if isRefused(err) {
			got = "refused"
		}
		if got != tt.want {
			wrong = append(wrong, fmt.Sprintf("%s %s: %q, %v; want %s", tt.method, tt.url, got, err, tt.want))
		}
	}
	if paths, _ := seen.paths(strings.TrimPrefix(forbidden, "http://")); len(paths) > 0 {
		wrong = append(wrong, fmt.Sprintf("the server without a grant was asked for %v", paths))
	}
	// Whatever arrived elsewhere after a redirect has nothing of what the caller set, nor of what was attached.
	paths, headers := seen.paths(strings.TrimPrefix(other, "http://"))
	if len(paths) == 0 {
		wrong = append(wrong, "nothing arrived at the other server")
	}
	for i, h := range headers {
		for _, name := range []string{"X-Api-Key", "Authorization", "Accept", "Referer", "Cookie"} {
			if h.Get(name) != "" {
				wrong = append(wrong, fmt.Sprintf("%s arrived with %s: %s", paths[i], name, h.Get(name)))
			}
		}
	}
	// At home again it does not come back either, and a credential is for the first request alone.
	paths, headers = seen.paths(strings.TrimPrefix(plain, "http://"))
	credentials := 0
	for i, h := range headers {
		if h.Get("Authorization") == "Bearer CREDENTIAL" {
			credentials++
			if paths[i] == "/end" && credentials > 1 {
				wrong = append(wrong, "a redirected request had the credential")
			}
		}
	}
	if credentials == 0 {
		wrong = append(wrong, "the credential arrived nowhere")
	}
	return wrong
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	if wrong := chains(t, nil); len(wrong) > 0 {
		t.Error(strings.Join(wrong, "\n"))
	}
}

// TestPlantedRedirect lets the standard library follow redirects and shows that TestRedirects would see it.
func TestPlantedRedirect(t *testing.T) {
	t.Parallel()
	wrong := strings.Join(chains(t, func(c *http.Client) { c.CheckRedirect = nil }), "\n")
	for _, want := range []string{"X-Api-Key", "the fourth", "307/plain", "to/secure/to/other"} {
		if want == "the fourth" {
			want = "to/plain/to/plain/to/plain/to/plain/end"
		}
		if !strings.Contains(wrong, want) {
			t.Errorf("without the rules for redirects nothing is wrong with %s:\n%s", want, wrong)
		}
	}
}
