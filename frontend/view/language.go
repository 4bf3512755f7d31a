package view

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"

	"github.com/a-h/templ"
	"golang.org/x/text/language"
)

// What people read is written once, in English, where it is shown: T(ctx, "Delete %s", name). The English sentence is the
// key of the catalogues words/<language>.json, as gettext has it; a sentence that a catalogue lacks is shown in English.
// The language comes with the context. One person uses a program, so what is drawn for all of its windows at once is in
// the language that they were last served in.
//
// The test of this file reads the sources: a sentence must be a literal, and every catalogue must have each of them with
// the same verbs, and nothing else. What is said below the pages is in told.go.

//go:embed words
var words embed.FS

// Tongue is a language that the page speaks, under the name its speakers give it.
type Tongue struct {
	Code string
	Name string
}

// Tongues are the languages to choose from, the one that sentences are written in first.
func Tongues() []Tongue {
	return []Tongue{{"en", "English"}, {"ko", "한국어"}, {"ja", "日本語"}}
}

var (
	catalogues = sync.OnceValue(readCatalogues) // when a page speaks one of them
	matcher    = newMatcher()
)

// catalogue is the one of the language that is spoken; English needs none.
func catalogue(ctx context.Context) map[string]string {
	code := Spoken(ctx)
	if code == Tongues()[0].Code {
		return nil
	}
	return catalogues()[code]
}

func readCatalogues() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, t := range Tongues()[1:] {
		c := map[string]string{}
		b, err := words.ReadFile("words/" + t.Code + ".json")
		if err == nil {
			err = json.Unmarshal(b, &c)
		}
		if err != nil {
			panic("view: catalogue " + t.Code + ": " + err.Error()) // it is part of the program
		}
		maps.DeleteFunc(c, func(_, s string) bool { return s == "" }) // not translated yet
		all[t.Code] = c
	}
	return all
}

func newMatcher() language.Matcher {
	var tags []language.Tag
	for _, t := range Tongues() {
		tags = append(tags, language.MustParse(t.Code))
	}
	return language.NewMatcher(tags)
}

// Negotiate returns the code of the language to speak: the one that was set, or the one that a browser would rather have
// (Accept-Language, RFC 9110 12.5.4), or English.
func Negotiate(setting, accept string) string {
	for _, t := range Tongues() {
		if t.Code == setting {
			return setting
		}
	}
	_, i := language.MatchStrings(matcher, accept)
	return Tongues()[i].Code
}

type tongueKey struct{}

// Speak returns a context whose sentences are in the language of that code.
func Speak(ctx context.Context, code string) context.Context {
	return context.WithValue(ctx, tongueKey{}, code)
}

// Spoken returns the code of the language of ctx, "en" without one.
func Spoken(ctx context.Context) string {
	if code, ok := ctx.Value(tongueKey{}).(string); ok {
		return code
	}
	return "en"
}

// T returns an English sentence in the language of ctx, with args put in its verbs as fmt.Sprintf does. A translation
// that needs them in another order numbers them: %[2]s.
func T(ctx context.Context, en string, args ...any) string {
	if s, ok := catalogue(ctx)[en]; ok {
		return format(s, args)
	}
	if len(args) == 0 && !strings.Contains(en, "%") {
		return en
	}
	return fmt.Sprintf(en, args...)
}

func format(s string, args []any) string {
	if len(args) == 0 && !strings.Contains(s, "%") {
		return s
	}
	return fmt.Sprintf(s, args...)
}

// Tn is T for a sentence that counts: one for n = 1, else many. Both show n as their first verb, %d, before args. The
// catalogues have many as the key; their languages make no difference.
func Tn(ctx context.Context, n int, one, many string, args ...any) string {
	all := append([]any{n}, args...)
	if s, ok := catalogue(ctx)[many]; ok {
		return format(s, all)
	}
	if n == 1 {
		many = one
	}
	return format(many, all)
}

// TC is T for a sentence with components in it, one for each %s.
func TC(en string, parts ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		s, ok := catalogue(ctx)[en]
		if !ok {
			s = en
		}
		for i := 0; ; i++ {
			at := strings.IndexByte(s, '%')
			if at < 0 {
				_, err := io.WriteString(w, templ.EscapeString(s))
				return err
			}
			if _, err := io.WriteString(w, templ.EscapeString(s[:at])); err != nil {
				return err
			}
			n := i
			s = s[at+1:]
			if strings.HasPrefix(s, "[") { // %[2]s
				if _, err := fmt.Sscanf(s, "[%d]", &n); err != nil {
					return err
				}
				n--
				s = s[strings.IndexByte(s, ']')+1:]
			}
			s = s[1:]
			if n >= len(parts) {
				return fmt.Errorf("view: %q wants more than %d components", en, len(parts))
			}
			if err := parts[n].Render(ctx, w); err != nil {
				return err
			}
		}
	})
}

// Mark says that a sentence is in the catalogues, for one that is looked up later, by Tv. It returns the sentence.
func Mark(en string) string { return en }

// Tv is T for a sentence that was marked, or that others wrote: what no catalogue has stays as it is.
func Tv(ctx context.Context, en string) string {
	if s, ok := catalogue(ctx)[en]; ok {
		return s
	}
	return toldIn(ctx, en)
}

// scriptWords are what the page's own script says, which asks for them by t("…"). The page carries their translations.
func scriptWords() []string {
	return []string{
		Mark("%s does not say that it takes %s. "), Mark("%s is larger than a message may carry."), Mark("%s is too large"), Mark("%s takes %s. "), Mark("Connection lost, catching up"), Mark("Copied"),
		Mark("Diagram"), Mark("Document"), Mark("Leave out %s"), Mark("Live"), Mark("Nothing found"),
		Mark("Parley did not answer. What you wrote is still here; send it again when the connection is back."),
		Mark("Sent"), Mark("just now"), Mark("The clipboard is not available here"), Mark("This diagram cannot be drawn. Its source is above."),
	}
}

// scriptSays are the translations of scriptWords as JSON, "" in English.
func scriptSays(ctx context.Context) string {
	c := catalogue(ctx)
	if c == nil {
		return ""
	}
	says := map[string]string{}
	for _, en := range scriptWords() {
		says[en] = Tv(ctx, en)
	}
	b, _ := json.Marshal(says)
	return string(b)
}
