package frontend

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"parley/a2a"
	"parley/orchestrator"
)

// speed has the page measured in Chromium: go test ./frontend -run TestSpeed -speed -v. It asserts nothing, because what it
// finds is that of a machine; docs/performance.md keeps what was found beside what is wanted.
var speed = flag.Bool("speed", false, "measure the page in Chromium")

// spent is how long the page's thread worked until now, in all and in scripts, in milliseconds.
func (b *tab) spent() (task, script float64) {
	b.t.Helper()
	r, err := chromedp.Call(b.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, m := range r.Metrics {
		switch m.Name {
		case "TaskDuration":
			task = m.Value * 1000
		case "ScriptDuration":
			script = m.Value * 1000
		}
	}
	return task, script
}

func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[min(int(q*float64(len(v))), len(v)-1)]
}

func TestSpeed(t *testing.T) {
	if !*speed {
		t.Skip("measures only with -speed")
	}
	w := guarded(t)
	w.chatWith("c1")
	items := make([]*orchestrator.Item, 10_000)
	for i := range items {
		items[i] = &orchestrator.Item{Kind: orchestrator.ItemUser, Text: fmt.Sprint("Note ", i)}
		if i%2 == 1 {
			items[i].Kind, items[i].AgentID, items[i].Text = orchestrator.ItemAgent, "atlas", longText(400)
		}
	}
	w.chatWith("c2", items...)
	a := w.tab(browserFor(t, 10*time.Minute))
	if _, err := chromedp.Call(a.ctx, performance.Enable, performance.EnableParams{}); err != nil {
		t.Fatal(err)
	}

	// A page is usable once it is live and its field can be typed into.
	var usable, shown []float64
	for range 9 {
		a.do(chromedp.Navigate(w.srv.URL + "/"))
		a.until("document.querySelector('#live-word').textContent === 'Live'")
		usable = append(usable, js[float64](a, "performance.now()"))
		a.do(chromedp.Navigate(w.srv.URL + "/c/c2"))
		a.until("performance.getEntriesByName('first-contentful-paint').length")
		shown = append(shown, js[float64](a, "performance.getEntriesByName('first-contentful-paint')[0].startTime"))
	}
	t.Logf("usable after p50 %.0f ms, at most %.0f; 10,000 messages: painted after p50 %.0f ms, at most %.0f",
		quantile(usable, .5), quantile(usable, 1), quantile(shown, .5), quantile(shown, 1))

	// From a chat that is open it is a click away: painted when the frame after the one that put it into the page begins.
	var visited []float64
	for range 9 {
		a.opens(w.srv.URL + "/c/c1")
		js[any](a, `(() => {
			let began
			new MutationObserver((_, o) => {
				if (!document.querySelector("#items > .msg")) return
				o.disconnect()
				requestAnimationFrame(() => requestAnimationFrame(() => (window.painted = performance.now() - began)))
			}).observe(document.body, {childList: true})
			setTimeout(() => { began = performance.now(); document.querySelector("#chats a[href='/c/c2']").click() }, 200)
		})()`)
		a.until("window.painted")
		visited = append(visited, js[float64](a, "window.painted"))
	}
	t.Logf("10,000 messages, from another chat: painted after p50 %.0f ms, at most %.0f", quantile(visited, .5), quantile(visited, 1))

	// It scrolls back through some hundred messages; a frame is dropped when it took longer than two.
	a.do(chromedp.Navigate(w.srv.URL + "/c/c2"))
	a.until("document.querySelector('#live-word').textContent === 'Live'")
	js[any](a, `(() => {
		const s = document.querySelector("#scroll"), gaps = window.gaps = []
		let last = performance.now(), n = 0
		const step = (now) => { gaps.push(now - last); last = now; s.scrollTop = Math.max(700 + s.clientHeight - s.scrollHeight, s.scrollTop - 60); if (++n < 240) requestAnimationFrame(step); else window.scrolled = true }
		requestAnimationFrame(step)
	})()`)
	a.until("window.scrolled")
	gaps := js[[]float64](a, "gaps")
	late, streak := 0, 0
	for i, n := 0, 0; i < len(gaps); i++ {
		if n++; gaps[i] <= 34 {
			n = 0
		} else {
			late++
		}
		streak = max(streak, n)
	}
	t.Logf("scrolling: %d of %d frames were late, %d in a row; p95 of a frame %.0f ms", late, len(gaps), streak, quantile(gaps, .95))

	// From the store to the pixels: each chunk says when it was stored, and when the frame after the one that put it into the
	// page begins it was painted.
	stream := func(run string, chunks int, every time.Duration, text func(i int) string) {
		w.begin("c1", run, "go")
		w.tell("c1", run, status(run, a2a.TaskStateWorking, ""), nil)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for i := range chunks {
			<-tick.C
			w.tell("c1", run, chunk(run, text(i), i > 0), nil)
		}
		w.end("c1", run, a2a.TaskStateCompleted)
	}
	a.do(chromedp.Navigate(w.srv.URL + "/c/c1"))
	a.until("document.querySelector('#live-word').textContent === 'Live'")
	js[any](a, `(() => {
		window.took = []
		let seen = 0
		new MutationObserver(() => {
			const at = Number([...document.querySelector("#open").textContent.matchAll(/<(\d{13})>/g)].pop()?.[1] ?? 0)
			if (at <= seen) return
			seen = at
			requestAnimationFrame(() => took.push(Date.now() - at))
		}).observe(document.querySelector("#open"), {subtree: true, childList: true, characterData: true})
	})()`)
	stream("s1", 250, 40*time.Millisecond, func(i int) string { return fmt.Sprintf("`<%d>` and words. ", time.Now().UnixMilli()) })
	a.until("document.querySelector('#open').children.length === 0")
	took := js[[]float64](a, "took")
	t.Logf("chunk to pixels, 25 a second: p50 %.0f ms, p95 %.0f of %d", quantile(took, .5), quantile(took, .95), len(took))

	// A flood into a page of 100,000 nodes.
	a.do(chromedp.Navigate(w.srv.URL + "/c/c1"))
	a.until("document.querySelector('#live-word').textContent === 'Live'")
	js[any](a, `(() => {
		const one = document.createElement("article")
		one.className = "msg"
		for (let i = 0; i < 49; i++) one.appendChild(document.createElement("p")).textContent = "A line of an older message."
		const all = document.createDocumentFragment()
		for (let i = 0; i < 1000; i++) all.append(one.cloneNode(true))
		document.querySelector("#items").append(all)
		window.long = []
		new PerformanceObserver((l) => { for (const e of l.getEntries()) long.push(e.duration) }).observe({type: "longtask"})
	})()`)
	time.Sleep(3 * time.Second) // what the nodes themselves cost is not the stream's
	js[any](a, "(long.length = 0, 0)")
	nodes := js[float64](a, "(n => { for (const w = document.createTreeWalker(document, NodeFilter.SHOW_ALL); w.nextNode();) n++; return n })(0)")
	task, script := a.spent()
	stream("s2", 2000, 5*time.Millisecond, func(i int) string {
		if i%20 == 19 {
			return "end.\n\n"
		}
		return "some words "
	})
	a.until("document.querySelector('#open').children.length === 0")
	task2, script2 := a.spent()
	long, _ := json.Marshal(js[[]float64](a, "long"))
	t.Logf("2,000 chunks at 200 a second into %.0f nodes: %.0f ms of work, %.0f ms of it scripts; tasks longer than 50 ms: %s", nodes, task2-task, script2-script, long)
}
