package a2aserver

// Crash ends the sender as a kill does: nothing more is sent, nothing more is stored.
func (s *PushSender) Crash() {
	s.keeper.moving.Lock()
	defer s.keeper.moving.Unlock()
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.halt()
	s.running.Wait()
	s.keeper.mu.Lock()
	clear(s.keeper.dirty)
	s.keeper.mu.Unlock()
}

// Closing reports whether Close was called.
func (s *PushSender) Closing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// Following counts the registrations in memory.
func (s *PushSender) Following() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.followers)
}
