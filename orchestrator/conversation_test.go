package orchestrator_test

import (
	"strings"
	"testing"

	"parley/orchestrator"
)

func TestTitleOf(t *testing.T) {
	t.Parallel()
	sixty := strings.Repeat("x", 60)
	for text, want := range map[string]string{
		" Book\n a  flight ": "Book a flight", sixty: sixty, sixty[1:]: sixty[1:], sixty + "y": sixty + "…", "": "",
		strings.Repeat("word ", 20): strings.TrimSpace(strings.Repeat("word ", 12)) + "…",
		strings.Repeat("東京", 40):    strings.Repeat("東京", 30) + "…",
		// Without the marks of Markdown, which are not counted either; what only looks like one stays.
		"# Plan\n\n**Write** about `tides`":        "Plan Write about tides",
		"> quoted ~~twice~~":                       "quoted twice",
		"See [the notes](https://a.example/b) now": "See the notes now",
		"```go\nfunc main() {}\n```":               "go func main() {}",
		"**" + sixty + "**":                        sixty,
		"2 * 3 > 5 in C# #1 snake_case":            "2 * 3 > 5 in C# #1 snake_case",
		"**":                                       "**",
		"/trip topic=`x`":                          "/trip topic=x",
	} {
		if got := orchestrator.TitleOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
