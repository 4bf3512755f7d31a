package journeytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// longChat is a chat as Parley exports it, of n messages, with one word in the third that is nowhere else.
func longChat(t *testing.T, n int) string {
	t.Helper()
	type item struct {
		ID   int       `json:"id"`
		Kind string    `json:"kind"`
		At   time.Time `json:"at"`
		Text string    `json:"text"`
	}
	chat := struct {
		Parley int       `json:"parley"`
		Title  string    `json:"title"`
		To     string    `json:"to"`
		At     time.Time `json:"exported"`
		Items  []item    `json:"items"`
	}{1, "The long winter", "echo", time.Now(), nil}
	for i := range n {
		it := item{i + 1, "user", time.Now().Add(time.Duration(i-n) * time.Hour), fmt.Sprintf("Note number %d of the winter", i+1)}
		if i == 2 {
			it.Text += ", on the kittiwake"
		}
		chat.Items = append(chat.Items, it)
	}
	b, err := json.Marshal(chat)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "winter.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A message of long ago, in a chat of many pages, is found by a word, and stands where it was said.
func journeyFind(t *testing.T, b browser) {
	p, w := begin(t, b)
	w.open(p.ui() + "/import")
	w.live()
	w.must(w.upload("#chat-file", longChat(t, 400)))
	w.press("Import")
	w.until("location.pathname.startsWith('/c/')")
	w.shows("Note number 400 of the winter")
	w.press("New chat")
	w.live()

	// By the page of search.
	w.write("Search all chats", "kittiwake")
	w.types("\r")
	w.until("location.pathname === '/search' && document.querySelector('.hits mark')?.textContent === 'kittiwake'")
	w.picture("search")
	w.press("The long winter")
	w.until("location.pathname.startsWith('/c/') && location.hash")
	w.until("(e => e && e.innerText.includes('kittiwake') && (r => r.top >= 0 && r.bottom <= innerHeight)(e.getBoundingClientRect()))(document.querySelector(location.hash))")
	w.picture("found")

	// By the palette, from anywhere, with the keyboard alone.
	w.follow("Tasks", "/tasks")
	w.must(w.key("k", true))
	w.until("document.activeElement.id === 'palette-q'")
	w.types("kittiwake")
	w.until("document.querySelector('#palette-hits [aria-selected=true]')?.innerText.includes('kittiwake')")
	w.types("\r")
	w.until("location.pathname.startsWith('/c/') && document.querySelector(location.hash)?.innerText.includes('kittiwake')")
	w.quiet()
}

// A chat goes to a colleague as one file, which shows all of it and fetches nothing.
func journeyExport(t *testing.T, b browser) {
	_, w := begin(t, b)
	w.say("Files", "Send me a chart")
	w.ended()
	w.until("[...document.querySelectorAll('#items img')].some(i => (i.scrollIntoView(), i.naturalWidth > 0))") // one that nobody looks at is not loaded
	w.say("Writer", "Write about bees on city roofs")
	w.until("document.querySelector(`#items [data-copy^='# On']`)") // the article is there: a table was before
	w.ended()
	w.picture("before-export")
	dir, err := w.downloads()
	w.must(err)
	w.press("More")
	w.press("Download as one HTML file")
	var file string
	w.eventually(func() error {
		found, err := filepath.Glob(filepath.Join(dir, "*.html"))
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("%d files were downloaded", len(found))
		}
		if err == nil {
			file = found[0]
		}
		return err
	})

	colleague := profile(t, b)
	fetched, err := colleague.fetches()
	w.must(err)
	colleague.open("file://" + file)
	colleague.shows("Send me a chart")
	colleague.shows("bees on city roofs")
	colleague.until("[...document.querySelectorAll('img')].some(i => i.naturalWidth > 0) && document.querySelector('table') && document.querySelector('pre')")
	colleague.picture("exported")
	if all := fetched(); len(all) != 1 {
		t.Errorf("opening the file fetched %q", all)
	}
}

// The person publishes their agent and makes a token for a colleague, whose program calls it. The task is on the
// Tasks page, under the colleague's name.
func journeyPublish(t *testing.T, b browser) {
	p, w := begin(t, b)
	w.follow("My agent", "/my-agent")
	w.press("Stop publishing")
	w.press("Publish")
	w.shows("Stop publishing")
	w.write("Name", "Kestrel of the second floor")
	w.press("Writer")
	w.press("Make the token")
	w.shows("Copy it now: it is shown this once.")
	w.picture("token")
	secret := js[string](w, "document.querySelector('section[role=status] code').textContent")
	address := js[string](w, "document.querySelector('#published code').textContent")
	if address != p.fields["a2a"] {
		t.Errorf("the page names the address %s, the program %s", address, p.fields["a2a"])
	}

	call := func(secret string) (*http.Response, []byte) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader([]byte(
			`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"Write about bees on city roofs"}]}}}`)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("A2A-Version", "1.0")
		r.Header.Set("Authorization", "Bearer "+secret)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, b
	}
	if resp, b := call(secret); resp.StatusCode != 200 || !strings.Contains(string(b), `"TASK_STATE_COMPLETED"`) || !strings.Contains(string(b), "bees on city roofs") {
		t.Fatalf("%s %s", resp.Status, b)
	}
	if resp, b := call(secret + "x"); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("with a wrong token: %s %s", resp.Status, b)
	}
	w.follow("Tasks", "/tasks")
	w.until("[...document.querySelectorAll('#task-rows > tr')].some(r => r.innerText.includes('Kestrel of the second floor') && r.querySelector('.is-done'))")
	w.picture("called")
	w.follow("My agent", "/my-agent")
	w.until("document.querySelector('#callers table')?.innerText.includes('Kestrel of the second floor')")
	w.quiet()
}

// The program is killed while an answer streams into two windows, and started again: both catch up by themselves.
func journeyKill(t *testing.T, b browser) {
	w := profile(t, b)
	args := []string{"serve", "--demo", "--grpc", "off", "--ui", freeAddress(t), "--a2a", freeAddress(t), "--data", t.TempDir()}
	p := run(t, args...)
	w.enter(p)
	w.say("Echo", "Hello")
	w.ended()
	second := w.second()
	second.open(js[string](w, "location.href"))
	second.live()
	both := []*window{w, second}
	w.say("Writer", "Write about tide tables")
	for _, v := range both {
		v.until("document.querySelector('#open .prose')?.innerText.length > 40")
	}
	p.kill()
	for _, v := range both {
		v.until("document.querySelector('#live-word').textContent === 'Connection lost, catching up'")
	}
	second.picture("killed")
	run(t, args...)
	for _, v := range both {
		v.live()
		v.ended()
	}
	w.picture("caught-up")
	one, two := js[string](w, "document.querySelector('#items').innerText"), js[string](second, "document.querySelector('#items').innerText")
	if one != two {
		t.Errorf("the two windows differ:\n%s\n---\n%s", one, two)
	}
	w.again()
	w.live()
	if stored := js[string](w, "document.querySelector('#items').innerText"); stored != one {
		t.Errorf("after the kill the window showed\n%s\nand the store has\n%s", one, stored)
	}
	if n := strings.Count(one, "Write about tide tables"); n != 1 {
		t.Errorf("the message stands there %d times", n)
	}
	w.quiet("net::ERR", "WebSocket", "Failed to load")
	second.quiet("net::ERR", "WebSocket", "Failed to load")
}
