package frontend

import (
	"net/http"
	"net/url"
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
		if s.bin.has(h.Item.ConversationID) {
			continue
		}
		id := strconv.FormatInt(h.Item.ID, 10)
		hit := view.Hit{
			Href: "/c/" + url.PathEscape(h.Item.ConversationID) + "?at=" + id + "#i" + id, Title: h.Title, Who: view.T(ctx, "You"),
			At: h.Item.At.In(p.Now.Location()), Snippet: h.Snippet,
		}
		if h.Item.Kind != orchestrator.ItemUser {
			sp := s.speaker(ctx, h.Item.AgentID)
			hit.Who, hit.Flag = sp.Name, &sp.Flag
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
