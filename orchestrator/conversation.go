package orchestrator

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Conversation is what a person sees as one chat.
type Conversation struct {
	ID       string
	Title    string // the words it began with
	Name     string // what the person calls it; "" = by its title
	To       string // an agent id, or Auto
	Created  time.Time
	Updated  time.Time // of the last item; the order of the list
	Pinned   bool
	LastText string // start of the last item, for the list
	State    ConversationState
}

// Called returns the name of a conversation: the person's, or its title.
func (c *Conversation) Called() string {
	if c.Name != "" {
		return c.Name
	}
	return c.Title
}

// maxTitle is how many characters of a text make a title.
const maxTitle = 60

// TitleOf makes a title of the first words of a text, without the marks that Markdown has for what the text looks like.
func TitleOf(text string) string {
	plain := strings.Fields(markdown.ReplaceAllString(text, "$1"))
	if len(plain) == 0 {
		plain = strings.Fields(text)
	}
	text = strings.Join(plain, " ")
	if utf8.RuneCountInString(text) <= maxTitle {
		return text
	}
	start := string([]rune(text)[:maxTitle])
	if i := strings.LastIndexByte(start, ' '); i > maxTitle/3 {
		start = start[:i]
	}
	return start + "…"
}

// markdown finds the marks of headings, quotes, strong words and code, and links with their text.
var markdown = regexp.MustCompile("(?m)^[ \\t]*(?:#{1,6}|>+)[ \\t]+|\\*\\*|~~|`+|!?\\[([^\\]\n]+)\\]\\([^)\n]*\\)")

// ChatMark is what a person sets of a conversation; nil leaves it as it is. Rows of a Batch's Conversations set it only
// where the conversation is new, so that whoever carries a run on never undoes what was set meanwhile.
type ChatMark struct {
	ConversationID string
	Name           *string
	Pinned         *bool
}

// ConversationState is what the list shows beside a title.
type ConversationState string

const (
	ConversationIdle    ConversationState = ""
	ConversationWorking ConversationState = "working"
	ConversationAsking  ConversationState = "asking" // a person is needed
	ConversationFailed  ConversationState = "failed" // the last run failed
)

// Item is one finished thing in a transcript: written once, when nothing about it changes any more, in the order of
// its ID. What is still going on is not an item: it is folded from the events of the open runs.
type Item struct {
	ID             int64
	ConversationID string
	RunID          string
	Kind           ItemKind
	AgentID        string          // who speaks; "" for the person
	Text           string          // Markdown for agents, plain for the person; searched
	Data           json.RawMessage // by kind, see the ItemData types; nil when there is nothing beyond Text
	At             time.Time
}

// ItemKind tells what an Item shows.
type ItemKind string

const (
	ItemUser     ItemKind = "user"     // what the person said; Data: UserData
	ItemAgent    ItemKind = "agent"    // what an agent said
	ItemArtifact ItemKind = "artifact" // a file, data or long text; Data: ArtifactData
	ItemAsk      ItemKind = "ask"      // an ask with its answer; Data: AskData
	ItemEnd      ItemKind = "end"      // how a run ended, where that is not plain Done; Data: EndData
	ItemGap      ItemKind = "gap"      // events that were lost and could not be had again; Data: nil
)

// UserData goes with ItemUser.
type UserData struct {
	Files []PartInfo `json:"files,omitempty"`
}

// ArtifactData goes with ItemArtifact. The content is read through Store.Artifact.
type ArtifactData struct {
	ArtifactID  string     `json:"artifactId"`
	Name        string     `json:"name,omitempty"`
	Description string     `json:"description,omitempty"`
	Parts       []PartInfo `json:"parts"`
	Copied      bool       `json:"copied,omitempty"` // from another chat: its run was never carried out here
}

// PartInfo describes a part without its bytes.
type PartInfo struct {
	Kind      string `json:"kind"` // text, raw, url, data, none
	Filename  string `json:"filename,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
	URL       string `json:"url,omitempty"` // as the agent gave it; never fetched without a click
	Size      int64  `json:"size"`
}

// AskData goes with ItemAsk.
type AskData struct {
	AskID  string   `json:"askId"`
	Kind   AskKind  `json:"kind"`
	Prompt string   `json:"prompt"`
	State  AskState `json:"state"`
	Answer string   `json:"answer,omitempty"` // as shown; secrets never
}

// EndData goes with ItemEnd.
type EndData struct {
	State string `json:"state"` // an a2a.TaskState
	Fault *Fault `json:"fault,omitempty"`
	Took  int64  `json:"tookMs"`
}
