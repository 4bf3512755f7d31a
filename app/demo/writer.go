package demo

import (
	"cmp"
	"context"
	_ "embed"
	"iter"
	"strings"
	"time"

	"parley/a2a"
	"parley/a2aserver"
)

// writer streams an article, as a language model would: one artifact that grows by a few words at a time. After a restart
// it goes on where the artifact ends.
type writer struct{ pace time.Duration }

//go:embed article.md
var article string

func newWriter() *agent {
	return &agent{name: "writer", exec: writer{pace: 80 * time.Millisecond}, card: a2a.AgentCard{
		Name:               "Writer",
		Description:        "Writes a short article about a topic, in Markdown, while you watch.",
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/markdown", "text/plain"},
		Skills: []a2a.AgentSkill{{
			ID: "write", Name: "Write an article",
			Description: "Writes an article with headings, a list, a table and a piece of code.",
			Tags:        []string{"writing", "article", "text", "markdown", "essay", "report"},
			Examples:    []string{"Write a short article about tide tables", "Write about bees on city roofs"},
		}},
	}}
}

func (w writer) Execute(ctx context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return w.write(ctx, a2a.Text(t.Message.Parts), 0)
}

// Resume implements a2aserver.Resumer.
func (w writer) Resume(ctx context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	written := 0
	if len(t.Task.Artifacts) > 0 {
		written = len(a2a.Text(t.Task.Artifacts[0].Parts))
	}
	return w.write(ctx, a2a.Text(t.Task.History[0].Parts), written)
}

// write yields the article from a byte onwards.
func (w writer) write(ctx context.Context, request string, from int) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if !yield(status(a2a.TaskStateWorking, ""), nil) {
			return
		}
		text := strings.ReplaceAll(article, "{topic}", topic(request))
		for text = text[min(from, len(text)):]; text != ""; {
			n := min(len(text), 14)
			n += max(0, strings.IndexAny(text[n:]+" ", " \n")) // whole words only
			n = min(n, len(text))
			u := &a2a.ArtifactUpdate{Append: true, LastChunk: n == len(text)}
			u.Artifact = a2a.Artifact{ID: "article", Name: "Article", Parts: []a2a.Part{markdown(text[:n])}}
			text = text[n:]
			if !sleep(ctx, w.pace) || !yield(u, nil) {
				return
			}
		}
		yield(status(a2a.TaskStateCompleted, ""), nil)
	}
}

// topic is what a request wants to read about.
func topic(request string) string {
	if _, after, ok := strings.Cut(request, "about "); ok {
		request = after
	}
	line, _, _ := strings.Cut(strings.TrimSpace(request), "\n")
	return cmp.Or(strings.TrimRight(line, ".!? "), "nothing in particular")
}
