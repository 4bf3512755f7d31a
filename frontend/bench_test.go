package frontend

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"parley/orchestrator"
	"parley/orchestrator/orchestratortest"
)

// benchSite is a site with eighty chats, one of them with a page of messages.
func benchSite(b *testing.B) *Site {
	b.Helper()
	st := &memory{MemoryStore: orchestratortest.NewMemoryStore()}
	batch := &orchestrator.Batch{Agents: []*orchestrator.Agent{agent("atlas", "Atlas Research")}}
	for i := range sideChats {
		batch.Conversations = append(batch.Conversations, &orchestrator.Conversation{ID: fmt.Sprint("c", i), Title: fmt.Sprint("Chat number ", i), To: "atlas", Updated: clock})
	}
	for i := range pageItems {
		it := &orchestrator.Item{ConversationID: "c1", RunID: fmt.Sprint("r", i/2), Kind: orchestrator.ItemUser, Text: "A question", At: clock}
		if i%2 == 1 {
			it.Kind, it.AgentID, it.Text = orchestrator.ItemAgent, "atlas", longText(600)
		}
		batch.Items = append(batch.Items, it)
	}
	if err := st.Write(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
	s := New(st, &person{}, &person{}, nil)
	b.Cleanup(func() { s.Close("done") })
	return s
}

func BenchmarkChatPage(b *testing.B) {
	s := benchSite(b)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/c/c1", nil))
		if w.Code != 200 {
			b.Fatal(w.Code)
		}
	}
}

func BenchmarkEncodeFrame(b *testing.B) {
	f := &frame{Room: "r", Seq: 1, Ops: []op{{"i", "p1-t", longText(2000)}}}
	b.ReportAllocs()
	for b.Loop() {
		f.encode()
	}
}

func BenchmarkMarkdown20KB(b *testing.B) {
	src := longText(20_000)
	b.ReportAllocs()
	for b.Loop() {
		newMarkdown(nil).HTML(src)
	}
}
