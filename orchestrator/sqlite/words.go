package sqlite

import (
	"strconv"
	"strings"

	"parley/orchestrator/words"
)

// mark begins the word that stands for an item's conversation. It is a letter to FTS5 and to nobody else, so that no
// text has it and no query that a person types.
const mark = '\uE000'

// inConversation puts the word of a conversation before those of an item.
func inConversation(key any, indexed string) string {
	return conversationWord(key) + " " + indexed
}

func conversationWord(key any) string {
	n, _ := key.(int64)
	return string(mark) + strconv.FormatInt(n, 10)
}

// match writes terms as an FTS5 query that wants them all.
func match(all []words.Term) string {
	var b strings.Builder
	for i, t := range all {
		if i > 0 {
			b.WriteString(" AND ")
		}
		// Words hold letters and digits only, so nothing needs to be escaped.
		b.WriteString(`"` + strings.Join(t.Words, " ") + `"`)
		if t.Prefix {
			b.WriteByte('*')
		}
	}
	return b.String()
}
