package app

import (
	"cmp"
	"context"
	"os"
	"strings"

	"parley/frontend"
	pages "parley/frontend/view"
)

// Say returns what puts a sentence of ours into a language: the one with that code or, for "", the one that the system
// is set to (LC_ALL, LC_MESSAGES, LANG).
func Say(language string) func(en string) string {
	system, _, _ := strings.Cut(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG")), ".")
	ctx := pages.Speak(context.Background(), pages.Negotiate(language, strings.ReplaceAll(system, "_", "-")))
	return func(en string) string { return pages.Tv(ctx, en) }
}

// language is the code of the language that was chosen, "" without one.
func (a *App) language(ctx context.Context) string {
	code, err := a.store.Setting(ctx, frontend.LanguageSetting)
	if err != nil {
		return ""
	}
	return code
}
