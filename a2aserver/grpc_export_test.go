package a2aserver

import "time"

// SetGRPCPatience sets how long a message of a stream may wait for its reader.
func SetGRPCPatience(g *GRPC, d time.Duration) { g.patience = d }

// OpenFeeds counts the open feeds of a handler.
func OpenFeeds(h *Handler) int {
	h.feeds.mu.Lock()
	defer h.feeds.mu.Unlock()
	return len(h.feeds.open)
}
