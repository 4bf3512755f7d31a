package planner

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What others wrote stands in a prompt as data: in a block whose every line begins with a bar, so that no text can end the
// block, whatever it holds. The markers are the same each time: they need not be guessed wrong, because they cannot be
// written. See prompts/system.md for what the model is told of it.

// data returns a block of what somebody wrote, shortened to max runes.
func data(from, text string, max int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[data from %s]\n", from)
	for part := range strings.SplitSeq(shorten(clean(text), max), "\n") {
		b.WriteString("| " + part + "\n")
	}
	b.WriteString("[end of data]")
	return b.String()
}

// quoted returns what somebody wrote as one line in quotation marks.
func quoted(text string, max int) string {
	s := strings.Join(strings.Fields(clean(text)), " ")
	b, _ := json.Marshal(cutRunes(s, max)) // escapes < and > as well; never fails
	return string(b)
}

// shorten cuts the middle out of a text that is longer than max runes, and says so.
func shorten(s string, max int) string {
	s = strings.TrimSpace(s)
	n := utf8.RuneCountInString(s)
	if n <= max {
		return s
	}
	rs := []rune(s)
	head := max * 2 / 3
	return fmt.Sprintf("%s\n[… %d characters are left out here …]\n%s", string(rs[:head]), n-max, string(rs[n-(max-head):]))
}

func cutRunes(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	return string([]rune(s)[:max-1]) + "…"
}

// special matches what chat templates of models are made of: written out in a message, some servers would take it for the
// end of the message, and what follows for another's.
var special = regexp.MustCompile(`(?i)<[|｜]|[|｜]>|</?(s|bos|eos|pad|unk|think|thinking|tool_call|tool_calls|tool_response|function_calls?|start_of_turn|end_of_turn|start_header_id|end_header_id|begin_of_text|end_of_text|system|user|assistant)>|<</?sys>>|\[/?(inst|tool_calls|tool_results|available_tools|system_prompt|system|user|assistant|im_start|im_end)\]`)

// clean returns a text without what is not seen: control and format characters, of which some turn the reading around or
// hide whole sentences. Lines end with \n, whichever way they were ended. Words of chat templates are broken up.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return '\n'
		case r == '\u200c' || r == '\u200d': // written in Persian, in Hindi, and within emoji
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r >= 0xE0100 && r <= 0xE01EF:
			return -1
		}
		return r
	}, s)
	return special.ReplaceAllStringFunc(s, func(m string) string {
		_, n := utf8.DecodeRuneInString(m)
		return m[:n] + " " + m[n:]
	})
}
