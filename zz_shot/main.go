package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// usage: shot OUTDIR LINK page=name ...   page may be path or path|js
func main() {
	out, link := os.Args[1], os.Args[2]
	a, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("/usr/bin/chromium"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir("/tmp/inspect/chrome"))...)
	defer cancel()
	ctx, cancel := chromedp.NewContext(a)
	defer cancel()
	do := func(as ...chromedp.Action[chromedp.Void]) {
		if err := chromedp.Do(ctx, as...); err != nil {
			fmt.Println("ERR", err)
		}
	}
	base := link[:strings.Index(link, "#")-1]
	do(chromedp.EmulateViewport(1440, 900), chromedp.Navigate(link))
	time.Sleep(1500 * time.Millisecond)
	sizes := []struct{ n string; w, h int64 }{{"w", 1440, 900}, {"m", 1024, 700}, {"s", 390, 800}}
	themes := strings.Split(os.Getenv("THEMES"), ",")
	if themes[0] == "" { themes = []string{"light", "dark"} }
	only := os.Getenv("SIZES")
	for _, spec := range os.Args[3:] {
		name, page, _ := strings.Cut(spec, "=")
		page, js, _ := strings.Cut(page, "|")
		for _, s := range sizes {
			if only != "" && !strings.Contains(only, s.n) { continue }
			for _, th := range themes {
				do(chromedp.EmulateViewport(int64(s.w), int64(s.h)))
				chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: th}}})
				do(chromedp.Navigate(base + page))
				time.Sleep(700 * time.Millisecond)
				if js != "" {
					if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](js+";0")); err != nil { fmt.Println("JS", err) }
					time.Sleep(700 * time.Millisecond)
				}
				p, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
				if err != nil { fmt.Println("ERR", err); continue }
				os.WriteFile(out+"/"+name+"-"+s.n+"-"+th+".png", p, 0o644)
			}
		}
	}
}
