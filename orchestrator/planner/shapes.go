package planner

import (
	"regexp"
	"sync"
)

// shape is something that a text has in it besides words: the lexicon knows it as <name>.
type shape struct {
	name string
	what string // for people
	re   *regexp.Regexp
}

// shapes returns what is looked for in a request.
var shapes = sync.OnceValue(func() []shape {
	return []shape{
		{"<photo-file>", "a photo file", regexp.MustCompile(`(?i)\.(jpe?g|heic|tiff?|raw|webp)\b`)},
		{"<subtitle-file>", "a subtitle file", regexp.MustCompile(`(?i)\.(srt|vtt)\b`)},
		{"<table-file>", "a table file", regexp.MustCompile(`(?i)\.(csv|tsv|xlsx?|ods)\b`)},
		{"<table>", "rows of a table", regexp.MustCompile(`(?m)^[^,\n]{1,40}(,[^,\n]{1,40})+\n[^,\n]{1,40}(,[^,\n]{1,40})+\n`)},
		{"<ip>", "an IP address", regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b`)},
		{"<cve>", "a CVE number", regexp.MustCompile(`(?i)\bCVE-\d{4}-\d{4,}`)},
		{"<hash>", "a file hash", regexp.MustCompile(`\b(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})\b`)},
		{"<container>", "a container number", regexp.MustCompile(`\b[A-Z]{3}[UJZ] ?\d{6}-?\d\b`)},
		{"<pull-request>", "a pull request", regexp.MustCompile(`(?i)/(pull|merge_requests)/\d+`)},
		{"<paper>", "a paper", regexp.MustCompile(`(?i)\b(arxiv\.org/|doi\.org/|10\.\d{4,9}/\S)`)},
		{"<sql>", "an SQL statement", regexp.MustCompile(`(?is)\bselect\b.+\bfrom\b.+\b(where|join|group by|order by|limit)\b`)},
		{"<code>", "program code", regexp.MustCompile(`(?m)(\)\s*\{|=>|;\s*$|^\s*(def|func|fn|public|private|import|class) \w|</\w+>)`)},
		{"<log>", "lines of a log", regexp.MustCompile(`(?m)(\b(ERROR|FATAL|WARN|panic:|Exception|Traceback|CrashLoopBackOff|OOMKilled)\b|^\S+ +READY +STATUS|^\s+at [\w.$]+\()`)},
	}
})
