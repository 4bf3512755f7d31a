package local

// BoundCalls bounds the calls that go on at a time.
func (d *Driver) BoundCalls(n int) { d.maxCalls = n }

// Calls returns how many calls of plans of a principal go on.
func (d *Driver) Calls(principal string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[principal]
}

// AskingTime is how long an agent may take to answer before the next is asked.
const AskingTime = askingTime

// BoundAsking bounds how many agents are asked at a time after a start.
func (d *Driver) BoundAsking(n int) { d.asking = make(chan struct{}, n) }

// Forgotten returns how many runs hear nothing because they are being erased.
func (d *Driver) Forgotten() int {
	d.news.mu.Lock()
	defer d.news.mu.Unlock()
	return len(d.news.gone)
}
