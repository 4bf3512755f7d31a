//go:build ignore

// Pictures takes the pictures of the README: it opens the page of a running Parley that has the demo agents, in a headless
// Chromium, carries out a workflow as a person does, and photographs what comes.
//
//	go run build/pictures.go LINK DIRECTORY
//
// LINK is what the ready line names as ui=. In DIRECTORY it writes chat-light.png, chat-dark.png, run-light.png,
// run-dark.png, inbox-light.png, inbox-dark.png and frames/000.png …, every one frameEvery after the one before it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

const (
	width, height = 1280, 800
	frameEvery    = 600 * time.Millisecond
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: pictures LINK DIRECTORY")
	}
	if err := take(os.Args[1], os.Args[2]); err != nil {
		log.Fatal("pictures: ", err)
	}
}

type camera struct {
	ctx   context.Context
	out   string
	frame int
}

func take(link, out string) error {
	if err := os.MkdirAll(filepath.Join(out, "frames"), 0o755); err != nil {
		return err
	}
	var browser string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		return errors.New("there is no Chromium")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser),
		chromedp.NoSandbox, chromedp.WindowSize(width, height), chromedp.Flag("disable-background-networking", true))...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	c := &camera{ctx: ctx, out: out}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height)); err != nil {
		return err
	}
	if err := c.look("light"); err != nil {
		return err
	}
	home, _, _ := strings.Cut(link, "#")
	if err := c.open(link); err != nil {
		return err
	}
	if err := c.until(`document.body.innerText.includes("Live")`); err != nil {
		return err
	}

	// A chat: what an agent writes, in Markdown.
	if err := c.do(`say("Write a short article about tide tables", "writer")`); err != nil {
		return err
	}
	if err := c.until(`location.pathname.startsWith("/c/") && document.querySelector("[data-copy^='# On']") && !document.querySelector("#pulse button")`); err != nil {
		return err
	}
	if err := c.both("chat"); err != nil {
		return err
	}

	// A workflow, from its form to the question before its last step: the film.
	if err := c.open(home + "workflows/publish"); err != nil {
		return err
	}
	if err := c.film(3); err != nil {
		return err
	}
	if err := c.do(`fill("Tide tables in spring")`); err != nil {
		return err
	}
	if err := c.film(3); err != nil {
		return err
	}
	if err := c.do(`[...document.querySelectorAll("button")].find((b) => b.innerText.trim() === "Run").click()`); err != nil {
		return err
	}
	if err := c.until(`location.pathname.startsWith("/c/")`); err != nil {
		return err
	}
	for waits := 0; waits < 5; {
		if err := c.film(1); err != nil {
			return err
		}
		if asked, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`!!document.querySelector(".ask button[name=choice]")`)); err != nil {
			return err
		} else if asked || c.frame > 120 {
			waits++
		}
	}
	if err := c.both("run"); err != nil {
		return err
	}
	if err := c.do(`document.querySelector(".ask button[name=choice]").click()`); err != nil {
		return err
	}
	if err := c.until(`[...document.querySelectorAll(".ask a")].some((a) => a.innerText.includes("sign-in"))`); err != nil {
		return err
	}
	if err := c.film(6); err != nil {
		return err
	}
	if err := c.open(home + "inbox"); err != nil {
		return err
	}
	return c.both("inbox")
}

// helpers are what the expressions of do may call.
const helpers = `
const type = (box, text) => { box.focus(); box.value = text; box.dispatchEvent(new Event("input", { bubbles: true })); };
const say = (text, to) => { document.querySelector("#composer select").value = to; type(document.querySelector("#say"), text); document.querySelector("#composer").requestSubmit(); };
const fill = (text) => type(document.querySelector("form input[type=text]:not([name=q]), form input.input:not([type])"), text);
`

func (c *camera) do(js string) error {
	_, err := chromedp.Run(c.ctx, chromedp.Evaluate[any]("(() => {"+helpers+js+"; return 0 })()"))
	return err
}

func (c *camera) open(address string) error {
	return chromedp.Do(c.ctx, chromedp.Navigate(address), chromedp.Sleep(700*time.Millisecond))
}

func (c *camera) until(js string) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ok, err := chromedp.Run(c.ctx, chromedp.Evaluate[bool]("!!("+js+")")); err == nil && ok {
			return nil
		}
	}
	return fmt.Errorf("not within a minute: %s", js)
}

// look chooses the theme of the system.
func (c *camera) look(theme string) error {
	return chromedp.Do(c.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
		})
		return err
	}))
}

// both photographs the page in both themes, and leaves it light.
func (c *camera) both(name string) error {
	for _, theme := range []string{"dark", "light"} {
		if err := c.look(theme); err != nil {
			return err
		}
		time.Sleep(400 * time.Millisecond)
		if err := c.shot(name + "-" + theme + ".png"); err != nil {
			return err
		}
	}
	return nil
}

// film takes n frames.
func (c *camera) film(n int) error {
	for range n {
		began := time.Now()
		if err := c.shot(fmt.Sprintf("frames/%03d.png", c.frame)); err != nil {
			return err
		}
		c.frame++
		time.Sleep(time.Until(began.Add(frameEvery)))
	}
	return nil
}

func (c *camera) shot(name string) error {
	b, err := chromedp.Run(c.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.out, name), b, 0o644)
}
