package frontend

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/orchestrator"
)

// wireFile is a record as a file has it. Secrets were masked before it was stored.
type wireFile struct {
	ID       int64               `json:"id"`
	At       time.Time           `json:"at"`
	Inbound  bool                `json:"inbound"`
	Peer     string              `json:"peer,omitempty"`
	Run      string              `json:"run,omitempty"`
	Task     string              `json:"task,omitempty"`
	Method   string              `json:"method"`
	Dialect  string              `json:"dialect,omitempty"`
	URL      string              `json:"url"`
	Status   int                 `json:"status"`
	TookMS   float64             `json:"tookMs"`
	Header   map[string][]string `json:"header,omitempty"`
	Request  any                 `json:"request,omitempty"` // JSON, or text
	Response any                 `json:"response,omitempty"`
	Error    string              `json:"error,omitempty"`
}

func wireValue(b []byte) any {
	switch {
	case len(b) == 0:
		return nil
	case json.Valid(b):
		return json.RawMessage(b)
	}
	return string(b)
}

// exportWire writes the records that are listed to a file, oldest first.
func (s *Site) exportWire(w http.ResponseWriter, r *http.Request) error {
	if s.wire == nil {
		return errNoWire
	}
	q := s.wireQuery(r.Context(), r.URL.Query())
	q.Limit = wireExport
	records, err := s.wire.WireRecords(r.Context(), q)
	if err != nil {
		return err
	}
	slices.Reverse(records)
	name := "parley-wire.json"
	var out any
	if strings.HasSuffix(r.URL.Path, ".har") {
		name, out = "parley-wire.har", har(records, s.opts.Version)
	} else {
		all := make([]wireFile, len(records))
		for i, x := range records {
			all[i] = wireFile{
				ID: x.ID, At: x.At, Inbound: x.Inbound, Peer: x.Peer, Run: x.RunID, Task: x.TaskID, Method: x.Method, Dialect: x.Dialect,
				URL: x.URL, Status: x.Status, TookMS: ms(x.Took), Header: x.Header, Request: wireValue(x.Request), Response: wireValue(x.Response), Error: x.Err,
			}
		}
		out = all
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	w.Header().Set("Cache-Control", "no-store")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// A HAR file (1.2) as other tools read it.
type (
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harPost struct {
		MimeType string `json:"mimeType"`
		Text     string `json:"text"`
	}
	harRequest struct {
		Method      string    `json:"method"`
		URL         string    `json:"url"`
		HTTPVersion string    `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		QueryString []harPair `json:"queryString"`
		PostData    *harPost  `json:"postData,omitempty"`
		HeadersSize int       `json:"headersSize"`
		BodySize    int       `json:"bodySize"`
	}
	harContent struct {
		Size     int    `json:"size"`
		MimeType string `json:"mimeType"`
		Text     string `json:"text,omitempty"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		StatusText  string     `json:"statusText"`
		HTTPVersion string     `json:"httpVersion"`
		Cookies     []harPair  `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Content     harContent `json:"content"`
		RedirectURL string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int        `json:"bodySize"`
		Error       string     `json:"_error,omitempty"`
	}
	harTimings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
	harEntry struct {
		Started  time.Time   `json:"startedDateTime"`
		Time     float64     `json:"time"`
		Request  harRequest  `json:"request"`
		Response harResponse `json:"response"`
		Cache    struct{}    `json:"cache"`
		Timings  harTimings  `json:"timings"`
		Comment  string      `json:"comment,omitempty"`
	}
)

func har(records []*orchestrator.WireRecord, version string) any {
	entries := []harEntry{}
	for _, r := range records {
		const http1 = "HTTP/1.1"
		none := []harPair{}
		address := r.URL
		if strings.HasPrefix(address, "/") {
			address = "http://127.0.0.1" + address
		}
		e := harEntry{
			Started: r.At, Time: ms(r.Took), Timings: harTimings{Wait: ms(r.Took)}, Comment: "A2A " + r.Dialect + " " + r.Method,
			Request: harRequest{
				Method: httpMethod(r), URL: address, HTTPVersion: http1, Cookies: none, Headers: none, QueryString: none,
				HeadersSize: -1, BodySize: len(r.Request),
			},
			Response: harResponse{
				Status: r.Status, StatusText: http.StatusText(r.Status), HTTPVersion: http1, Cookies: none, Headers: none,
				HeadersSize: -1, BodySize: len(r.Response), Error: r.Err,
				Content: harContent{Size: len(r.Response), MimeType: "application/json", Text: string(r.Response)},
			},
		}
		if streams(r) {
			e.Response.Content.MimeType = "text/event-stream"
		}
		if u, err := url.Parse(address); err == nil {
			for name, values := range u.Query() {
				for _, v := range values {
					e.Request.QueryString = append(e.Request.QueryString, harPair{name, v})
				}
			}
		}
		for name, values := range r.Header {
			for _, v := range values {
				e.Request.Headers = append(e.Request.Headers, harPair{name, v})
			}
		}
		slices.SortFunc(e.Request.Headers, func(a, b harPair) int { return strings.Compare(a.Name, b.Name) })
		if len(r.Request) > 0 {
			e.Request.PostData = &harPost{MimeType: "application/json", Text: string(r.Request)}
		}
		entries = append(entries, e)
	}
	return map[string]any{"log": map[string]any{
		"version": "1.2", "creator": map[string]string{"name": "Parley", "version": version}, "entries": entries, "comment": strconv.Itoa(len(entries)) + " exchanges, secrets masked",
	}}
}
