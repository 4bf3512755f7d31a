package journeytest

import (
	"strings"
	"testing"
)

// An address that somebody sent is pasted, the card is read, approved, and its first example is tried.
func journeyConnect(t *testing.T, b browser) {
	_, w := begin(t, b)
	other := run(t, "demo", "--addr", "127.0.0.1:0", "--data", t.TempDir())
	w.press("Connect an agent")
	w.write("Agent address", strings.TrimPrefix(other.fields["a2a"], "http://")+"writer")
	w.press("Connect")
	w.shows("Writes a short article about a topic")
	w.shows("and nothing else.")
	w.picture("connect")
	w.follow("Approve and connect", "/")
	w.picture("connected")
	w.follow("Agents", "/agents")
	w.open(js[string](w, "[...document.querySelectorAll('main a[href^=\"/agents/\"]')].find(a => /writer-|writer.+/.test(a.pathname.slice(8)))?.href"))
	w.press("Write about bees on city roofs")
	w.until("document.querySelector('#say')?.value === 'Write about bees on city roofs'")
	w.live() // before the script is there, Enter begins a new line
	w.types("\r")
	w.ended()
	w.shows("bees on city roofs")
	if n := js[float64](w, "document.querySelectorAll('#items h1, #items h2, #items table').length"); n < 2 {
		t.Errorf("the article has %v headings and tables", n)
	}
	w.quiet()
}

// The first message of a new person: an example is taken, the answer streams, and is there after a reload.
func journeyFirstChat(t *testing.T, b browser) {
	_, w := begin(t, b)
	w.shows("One place to work with many agents")
	w.picture("welcome")
	w.press("Write a short article about tide tables")
	w.until("document.querySelector('#say').value.includes('tide tables') && document.activeElement.id === 'say'")
	w.press("Send")
	w.until("location.pathname.startsWith('/c/')")
	w.until("document.querySelector('#open .prose')?.innerText.length > 40")
	w.shows("Working")
	w.picture("streaming")
	w.ended()
	said := js[string](w, "document.querySelector('#items').innerText")
	w.again()
	w.live()
	if again := js[string](w, "document.querySelector('#items').innerText"); again != said {
		t.Errorf("after a reload the chat says\n%s\nnot\n%s", again, said)
	}
	// It opens at its end, from which one can scroll up.
	w.until("document.querySelector('#end').getBoundingClientRect().bottom <= document.querySelector('#scroll').getBoundingClientRect().bottom + 1")
	js[any](w, "(document.querySelector('#scroll').scrollBy(0, -200), 0)")
	w.until("document.querySelector('#end').getBoundingClientRect().top > document.querySelector('#scroll').getBoundingClientRect().bottom")
	w.until("document.querySelector('#chats').innerText.includes('tide tables')")
	w.quiet()
}

// An agent asks with a form. What is missing is said beside its field, nothing typed is lost, and the answer goes on.
func journeyForm(t *testing.T, b browser) {
	_, w := begin(t, b)
	w.say("Travel desk", "Plan a trip to Bergen")
	w.shows("I still need to know")
	w.until("document.querySelector('#asking').textContent.trim() === '1' && document.title.startsWith('(1) ')")
	w.picture("form")
	w.follow("Inbox", "/inbox")
	w.shows("I still need to know")
	w.write("From", "Oslo")
	w.write("Leave on", "06/01/2027")
	w.press("Send answer")
	w.until("document.querySelector('form.ask .err[role=alert]')?.innerText")
	w.until("document.activeElement.type === 'date' && document.querySelector('form.ask input[type=text]').value === 'Oslo'")
	w.write("Come back on", "06/05/2027")
	w.press("Send answer")
	w.shows("You answered")
	w.until("document.querySelector('#asking').textContent.trim() === ''")
	w.press("Plan a trip to Bergen")
	w.ended()
	w.shows("From Oslo to Bergen on 2027-06-01, back on 2027-06-05.")
	w.quiet("422")
}

// An agent wants a sign-in. The way to its page leads past a page of ours that names the host; once it is done the
// chat goes on by itself.
func journeySignIn(t *testing.T, b browser) {
	_, w := begin(t, b)
	w.say("Vault", "Open the vault")
	w.shows("Parley sees neither your name nor your password.")
	w.picture("sign-in")
	site := w.opens(w.signIn)
	site.shows("You are about to open 127.0.0.1")
	site.picture("leaving")
	site.press("Open 127.0.0.1")
	site.shows("Sign in to the vault")
	site.press("Sign in")
	site.until("location.pathname !== '' && !document.querySelector('form')")
	w.ended()
	w.until("!document.querySelector('form.ask') && document.querySelector('#asking').textContent.trim() === ''")
	if said := js[string](w, "document.querySelector('#items').innerText"); !strings.Contains(strings.ToLower(said), "design") {
		t.Errorf("the vault gave\n%s", said)
	}
	w.picture("signed-in")
	w.quiet()
}
