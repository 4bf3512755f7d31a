package a2aserver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/a2a/wire"
	"parley/a2aserver"
)

// FuzzWebhook: whatever is posted is answered, and nothing but a well-formed report is passed on.
func FuzzWebhook(f *testing.F) {
	f.Add(okTask)
	f.Add(`{"jsonrpc":"2.0","params":{"params":{"event":{"task":{}}}}}`)
	f.Add(`{"eventType":"x","taskId":"T","status":"completed"}`)
	f.Fuzz(func(t *testing.T, body string) {
		noted := false
		h := a2aserver.NewWebhooks(&a2aserver.WebhookOptions{
			Find: func(string) *a2aserver.Webhook { return a2aserver.NewWebhook("h", "peer", "", "tok") },
			Note: func(_ context.Context, _ *a2aserver.Webhook, n *wire.PushNote) { noted = n != nil && n.TaskID != "" },
		})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/h", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer tok")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 400 || (w.Code == 200) != noted {
			t.Errorf("%d, noted %t", w.Code, noted)
		}
	})
}
