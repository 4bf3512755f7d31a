// Package view draws the page: templ components and the plain structs they are given. It does no I/O, reads no clock and
// holds no state; whatever depends on the time is told the time. Text from agents reaches the page escaped, or as HTML
// that package frontend made of Markdown and sanitised (the fields named HTML).
package view

import (
	_ "embed"
	"time"

	"parley/orchestrator"
)

// Sprite is every icon of the page, written once into each.
//
//go:embed icons.svg
var Sprite string

// Page is what every page has.
type Page struct {
	Title   string
	Theme   string // "light", "dark" or "" for what the system says
	Text    string // its size: "large", "larger" or ""
	CSS, JS string // addresses of the bundle
	Fonts   []string
	Now     time.Time
	Side    Side
	Live    Place
	Native  bool   // a window of our own: the server opens links
	Sick    string // why nothing new can be stored; "" when it can
	Version string
	Toast   *Toast
	Panel   string // HTML of what stands beside the page; "" = nothing
}

// Place says where in the live stream a page stands, so that its socket goes on from there.
type Place struct {
	Conversation string
	Last         int64  // the newest item the page shows
	Room         string // the fold of the open runs it was made from; "" when there was none
	Seq          int64  // its frame
}

// Side is the bar of chats and agents.
type Side struct {
	Section string // "new", "search", "inbox", "agents", "tasks", "wire", "settings" or ""
	Chat    string // the chat that is open
	Chats   []ChatGroup
	More    bool // there are older ones
	Agents  []AgentLink
	Asking  int       // asks that wait for the person
	Open    []AskHint // those asks
	Serves  bool      // Parley is an agent too
}

// ChatGroup is the chats of a day.
type ChatGroup struct {
	Name  string
	Chats []ChatLink
}

// ChatLink is one chat in the list.
type ChatLink struct {
	ID    string
	Title string
	Flag  *Flag // of the agent it is addressed to; nil = Auto
	State orchestrator.ConversationState
}

// AgentLink is one agent in a list.
type AgentLink struct {
	ID     string
	Name   string // no other in the list has it
	Called string // by its card; others may be called so too
	Flag   Flag
}

// Flag is what an agent flies: two letters on a cloth of its hue.
type Flag struct {
	Hue     int
	Letters string
}

// Speaker is who a message is from. Parley itself has a mark instead of a flag.
type Speaker struct {
	Name   string
	Flag   Flag
	Parley bool
	Href   string // of the agent's page
}

// Message is one article of the transcript.
type Message struct {
	ID      string // of the element
	Speaker Speaker
	More    bool // goes on from the article above: same run, same speaker
	State   *State
	Since   time.Time // running since; zero when it is not
	At      time.Time
	Blocks  []Block
	Copy    string // what Copy takes; "" for no button
	RunID   string
	Branch  string // where to post to go on from here in a new chat; "" when it cannot be
	Step    *Link  // the step of a plan that said it, with the plan's panel; nil when there is none
}

// Mine is what the person said.
type Mine struct {
	ID     string
	Text   string
	At     time.Time
	To     string // the name of whom it was said to
	Files  []FileTag
	Edit   string // where it can be said anew; "" when it cannot be
	Branch string
}

// FileTag is a file the person sent.
type FileTag struct {
	Name string
	Size string
	Href string
}

// BlockKind tells how a block of content is shown.
type BlockKind int

const (
	BlockProse  BlockKind = iota // HTML
	BlockStream                  // prose that is being written: HTML, then Tail in an element of its own
	BlockPlain                   // Text as it is
	BlockCode                    // Text in a box; Lang names it. HTML when it is coloured
	BlockJSON
	BlockTable
	BlockImage
	BlockAudio
	BlockVideo
	BlockPDF
	BlockHTML // a document that is shown in a sandbox when somebody opens it
	BlockFile // a card to download
	BlockLink // an address the agent gave
	BlockGap
	BlockFault
	BlockReceipt
	BlockState // how the run ended
)

// Block is one piece of content.
type Block struct {
	Kind   BlockKind
	ID     string // of the element, for blocks that grow
	HTML   string
	Tail   string // BlockStream: HTML of what is not finished yet
	Text   string
	Lang   string
	Name   string
	Detail string // type and size in words
	Href   string // our own address of the content, or of the link's check
	Host   string
	JSON   *JSONNode
	Table  *Table
	Fault  *Fault
	State  *State
	Took   string
	Retry  string // state: where to post to ask once more
	Folded bool   // shown closed at first
	Ask    *Receipt
}

// JSONNode is a JSON value as a tree. Cut says how many members were left out.
type JSONNode struct {
	Key   string
	Keyed bool
	Named bool   // the key is a name, not a place
	Kind  string // object, array, string, number, bool, null
	Text  string // of a leaf, or "3 items"
	Kids  []*JSONNode
	Cut   int
	Open  bool
}

// Table is rows of text. Cut says how many rows were left out.
type Table struct {
	Head    []string
	Rows    [][]string
	Numeric []bool
	Cut     int
}

// Fault is a failure in three parts, with what can be done from here.
type Fault struct {
	What    string
	Where   string
	Do      string
	Raw     string
	Retry   string // where to post to try again; "" when that does not help
	SignIn  string // where a credential can be given; "" when that is not what it wants
	Details string // what Copy details takes
	Title   string
}

// Receipt is an answered ask.
type Receipt struct {
	State  *State
	Answer string
	Prompt string // HTML
}

// Pulse is the strip above the composer that says how a run stands.
type Pulse struct {
	RunID    string
	State    State
	Agent    string
	Since    time.Time
	Last     time.Time
	Stopping bool
	Refused  string   // the agent would not stop, in its words
	AskID    string   // jump to it
	Steps    []string // of its plan that go on, by their titles
	Panel    string   // where the plan stands; "" without Steps
}

// Composer is where the person writes.
type Composer struct {
	Conversation string
	To           string
	Agents       []Addressee
	MessageID    string
	Text         string
	MaxFile      int64
	MaxFiles     int64  // of all together
	Branch       string // the item that is said anew, in a new chat
	Queue        []Waiting
	Fault        *Fault
	Sick         bool // nothing can be stored now
}

// Addressee is an agent that can be written to.
type Addressee struct {
	AgentLink
	Takes string // the media types it takes, as its card says; "" = it does not say
}

// Waiting is a message that is sent when what goes on has ended.
type Waiting struct {
	Text string
	To   string // whom it goes to, when that is not Auto
	Href string // where to post to change it
}

// Toast offers to take back what was just done.
type Toast struct {
	Text string
	Undo string // where to post
}

// OptionGroup is what can be chosen of one kind, in the palette or below the composer.
type OptionGroup struct {
	Name    string
	Options []Option
}

// Option is one of them. It opens an address, presses a button of the page, or is put into the composer.
type Option struct {
	Name     []orchestrator.Span
	Short    string // what is typed for it
	Detail   string
	Icon     string
	Flag     *Flag
	Kbd      string
	Href     string
	Download bool
	Press    string // the id of a button
	Insert   string // what becomes of the word that is completed
	To       string // the agent that the message is then for
}

// Auto is the choice that leaves the agent to Parley.
const Auto = orchestrator.Auto
