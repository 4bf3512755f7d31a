// Command assets bundles frontend/src into frontend/static: minified, with a hash in every name, and a manifest that
// says which file is which. It needs no Node; the result is committed, so a plain `go build` needs neither.
//
//	go run -C build/assets . [-watch]
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	watch := flag.Bool("watch", false, "keep running and bundle again on every change")
	root := flag.String("root", "../..", "the top level of the repository")
	flag.Parse()
	if err := run(*root, *watch); err != nil {
		fmt.Fprintln(os.Stderr, "assets:", err)
		os.Exit(1)
	}
}

func run(root string, watch bool) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	out := filepath.Join(root, "frontend", "static")
	opts := api.BuildOptions{
		AbsWorkingDir:     root,
		EntryPoints:       []string{"frontend/src/app.ts", "frontend/src/app.css"},
		Outdir:            "frontend/static",
		EntryNames:        "[name]-[hash]",
		AssetNames:        "[name]-[hash]",
		Bundle:            true,
		Format:            api.FormatESModule,
		Target:            api.ES2022,
		Engines:           []api.Engine{{Name: api.EngineChrome, Version: "123"}, {Name: api.EngineSafari, Version: "17.5"}, {Name: api.EngineFirefox, Version: "128"}},
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		Charset:           api.CharsetUTF8,
		Loader:            map[string]api.Loader{".woff2": api.LoaderFile},
		Metafile:          true,
		LogLevel:          api.LogLevelWarning,
		Plugins: []api.Plugin{{Name: "manifest", Setup: func(b api.PluginBuild) {
			b.OnEnd(func(r *api.BuildResult) (api.OnEndResult, error) {
				return api.OnEndResult{}, write(out, r)
			})
		}}},
	}
	if !watch {
		if r := api.Build(opts); len(r.Errors) > 0 {
			return fmt.Errorf("%d errors", len(r.Errors))
		}
		return nil
	}
	ctx, ctxErr := api.Context(opts)
	if ctxErr != nil {
		return ctxErr
	}
	if err := ctx.Watch(api.WatchOptions{}); err != nil {
		return err
	}
	select {}
}

// write puts the files and the manifest in place and removes what earlier runs left there. A run that failed changes
// nothing.
func write(out string, r *api.BuildResult) error {
	if len(r.Errors) > 0 {
		return nil
	}
	var meta struct {
		Outputs map[string]struct {
			EntryPoint string `json:"entryPoint"`
		} `json:"outputs"`
	}
	if err := json.Unmarshal([]byte(r.Metafile), &meta); err != nil {
		return err
	}
	manifest := map[string]string{}
	for name := range meta.Outputs {
		base := filepath.Base(name)
		manifest[logical(base)] = base
	}
	keep := map[string]bool{"manifest.json": true}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, f := range r.OutputFiles {
		keep[filepath.Base(f.Path)] = true
		if err := os.WriteFile(f.Path, f.Contents, 0o644); err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(manifest, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "manifest.json"), append(b, '\n'), 0o644); err != nil {
		return err
	}
	old, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	sort.Slice(old, func(i, j int) bool { return old[i].Name() < old[j].Name() })
	for _, e := range old {
		if !keep[e.Name()] {
			if err := os.Remove(filepath.Join(out, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// logical returns the name without its hash: app-3F2K9QZ1.js is app.js.
func logical(base string) string {
	ext := filepath.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	if i := strings.LastIndexByte(stem, '-'); i > 0 {
		stem = stem[:i]
	}
	return stem + ext
}
