package frontend

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/frontend/view"
	"parley/orchestrator"
)

const searchHits = 20

// searchPage searches all of the history, newest first.
func (s *Site) searchPage(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	v := view.Search{Query: strings.TrimSpace(r.FormValue("q"))}
	if q := []rune(v.Query); len(q) > 500 {
		v.Query = string(q[:500])
	}
	p := s.page(r, view.T(ctx, "Search"), view.Side{Section: "search"})
	if v.Query == "" {
		return s.write(w, r, http.StatusOK, view.SearchPage(p, v))
	}
	p.Title = v.Query
	before, _ := strconv.ParseInt(r.FormValue("before"), 10, 64)
	hits, err := s.store.Search(ctx, orchestrator.SearchQuery{Text: v.Query, Before: max(before, 0), Limit: searchHits})
	if err != nil {
		status, fault := faultOf(ctx, err)
		v.Fault = view.FaultOf(ctx, fault, "")
		return s.write(w, r, status, view.SearchPage(p, v))
	}
	for _, h := range hits {
		if s.bin.has(h.Item.ConversationID) || !saidIn(h) {
			continue
		}
		id := strconv.FormatInt(h.Item.ID, 10)
		hit := view.Hit{
			Href: "/c/" + url.PathEscape(h.Item.ConversationID) + "?at=" + id + "#i" + id, Title: h.Title, Who: view.T(ctx, "You"),
			At: h.Item.At.In(p.Now.Location()), Snippet: unmarked(h),
		}
		if h.Item.Kind != orchestrator.ItemUser {
			sp := s.speaker(ctx, h.Item.AgentID)
			if hit.Who, hit.Parley = sp.Name, sp.Parley; !sp.Parley {
				hit.Flag = &sp.Flag
			}
		}
		if hit.Title == "" {
			hit.Title = view.T(ctx, "New chat")
		}
		v.Hits = append(v.Hits, hit)
	}
	if len(hits) == searchHits {
		v.More = "/search?" + url.Values{"q": {v.Query}, "before": {strconv.FormatInt(hits[len(hits)-1].Item.ID, 10)}}.Encode()
	}
	return s.write(w, r, http.StatusOK, view.SearchPage(p, v))
}

// saidIn reports whether somebody said what was found: a line of ours about the chat is no message.
func saidIn(h orchestrator.Hit) bool { return h.Item.Kind != orchestrator.ItemGap }

// unmarked is a snippet without the marks of Markdown, which are for the eye in the whole text only. What a person wrote is
// shown as it was written everywhere.
func unmarked(h orchestrator.Hit) []orchestrator.Span {
	out := slices.Clone(h.Snippet)
	if h.Item.Kind == orchestrator.ItemUser {
		return out
	}
	for i := range out {
		marks := innerMarks
		if i == 0 {
			marks = markdownMarks
		}
		out[i].Text = marks.ReplaceAllString(out[i].Text, "$1")
	}
	return out
}

// innerMarks are those of a text that goes on within a line.
var (
	markdownMarks = regexp.MustCompile("(^|\n)(?:#{1,6}|>) +|\\*\\*|`+")
	innerMarks    = regexp.MustCompile("(\n)(?:#{1,6}|>) +|\\*\\*|`+")
)
