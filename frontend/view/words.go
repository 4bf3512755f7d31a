package view

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"parley/a2a"
	"parley/orchestrator"
)

// State is where something stands: a shape, a word and a colour.
type State struct {
	Class string // is-…
	Icon  string // s-…
	Word  string
	Raw   string // the protocol's name, for the tooltip
}

// TaskState returns a task's state in plain words. A state of later protocol versions is shown by its own name.
func TaskState(ctx context.Context, s a2a.TaskState) State {
	raw := string(s)
	switch s {
	case a2a.TaskStateSubmitted:
		return State{"is-sent", "s-sent", T(ctx, "Sent"), raw}
	case a2a.TaskStateUnspecified, a2a.TaskStateWorking:
		return State{"is-work", "s-work", T(ctx, "Working"), raw}
	case a2a.TaskStateInputRequired:
		return State{"is-ask", "s-ask", T(ctx, "Needs your answer"), raw}
	case a2a.TaskStateAuthRequired:
		return State{"is-auth", "s-auth", T(ctx, "Needs you to sign in"), raw}
	case a2a.TaskStateCompleted:
		return State{"is-done", "s-done", T(ctx, "Done"), raw}
	case a2a.TaskStateCanceled:
		return State{"is-stop", "s-stop", T(ctx, "Stopped"), raw}
	case a2a.TaskStateFailed:
		return State{"is-fail", "s-fail", T(ctx, "Failed"), raw}
	case a2a.TaskStateRejected:
		return State{"is-decl", "s-decl", T(ctx, "Declined by the agent"), raw}
	}
	return State{"is-wait", "s-wait", raw, raw}
}

// EndState is how a run stands, of which f says why it failed; nil = it did not, or nobody knows. What its person said no
// to, or stopped, did not fail for them.
func EndState(ctx context.Context, s a2a.TaskState, f *orchestrator.Fault) State {
	switch {
	case !f.Wanted():
		return TaskState(ctx, s)
	case f.Kind == orchestrator.FaultDeclined:
		return State{"is-stop", "s-stop", T(ctx, "You said no"), string(s)}
	}
	return State{"is-stop", "s-stop", T(ctx, "Stopped"), string(s)}
}

// Wanted reports whether that is an end which a person wanted, so that it is no failure and is not shown as one.
func (s State) Wanted() bool { return s.Class == "is-stop" }

// ChatState returns what the list shows beside a chat; ok is false when that is nothing.
func ChatState(ctx context.Context, s orchestrator.ConversationState) (_ State, ok bool) {
	switch s {
	case orchestrator.ConversationWorking:
		return State{"is-work", "s-work", T(ctx, "Working"), ""}, true
	case orchestrator.ConversationAsking:
		return State{"is-ask", "s-ask", T(ctx, "Needs you"), ""}, true
	case orchestrator.ConversationFailed:
		return State{"is-fail", "s-fail", T(ctx, "Failed"), ""}, true
	}
	return State{}, false
}

// AskState returns how an ask was closed, as its receipt says it.
func AskState(ctx context.Context, s orchestrator.AskState) State {
	switch s {
	case orchestrator.AskAnswered:
		return State{"is-done", "s-done", T(ctx, "You answered"), ""}
	case orchestrator.AskDeclined:
		return State{"is-stop", "s-stop", T(ctx, "You declined"), ""}
	case orchestrator.AskGone:
		return State{"is-skip", "s-skip", T(ctx, "No longer needed"), ""}
	}
	return State{"is-ask", "s-ask", T(ctx, "Needs your answer"), ""}
}

// AskClosed is AskState of a closed ask with the answer it has, and what of the answer is worth showing beside it.
func AskClosed(ctx context.Context, s orchestrator.AskState, answer string) (State, string) {
	if s == orchestrator.AskGone && answer == orchestrator.SignedIn {
		return State{"is-done", "s-done", T(ctx, "You signed in"), ""}, ""
	}
	return AskState(ctx, s), answer
}

// Stopping is shown from the person's Stop until the agent says what became of it.
func Stopping(ctx context.Context) State { return State{"is-stop", "s-stop", T(ctx, "Stopping"), ""} }

// AgentState says in a list how an agent was when it was last asked.
func AgentState(ctx context.Context, a *orchestrator.Agent) State {
	switch {
	case a.Trust == orchestrator.TrustReview:
		return State{"is-ask", "s-ask", T(ctx, "Changed since you approved it"), ""}
	case a.Trust == orchestrator.TrustBlocked:
		return State{"is-decl", "s-decl", T(ctx, "Blocked"), ""}
	case a.Trust == orchestrator.TrustPending:
		return State{"is-ask", "s-ask", T(ctx, "Not approved"), ""}
	case a.Health.Fault != nil && a.Health.Fault.Where == orchestrator.WhereSignIn:
		return State{"is-auth", "s-auth", T(ctx, "Needs you to sign in"), ""}
	case a.Health.Fault != nil:
		return State{"is-fail", "s-fail", T(ctx, "Did not answer"), ""}
	case a.Health.Checked.IsZero():
		return State{"is-wait", "s-wait", T(ctx, "Not contacted yet"), ""}
	}
	return State{"is-done", "s-done", T(ctx, "Answers"), ""}
}

// Where names the side of a failure.
func Where(ctx context.Context, w orchestrator.Where) string {
	switch w {
	case orchestrator.WhereUs:
		return T(ctx, "Here, in Parley.")
	case orchestrator.WhereNetwork:
		return T(ctx, "On the way. The network did not carry it to the agent.")
	case orchestrator.WhereAgent:
		return T(ctx, "At the agent. Your network is fine.")
	case orchestrator.WhereSignIn:
		return T(ctx, "At the sign-in. The agent is there and wants to know who you are.")
	}
	return string(w)
}

// FaultOf puts a failure in its three parts. retry is where to post to try again, "" when nothing can be.
func FaultOf(ctx context.Context, f *orchestrator.Fault, retry string) *Fault {
	if f == nil {
		return nil
	}
	v := &Fault{Title: T(ctx, "This did not work"), What: Tv(ctx, f.What), Where: Where(ctx, f.Where), Do: Tv(ctx, f.Do), Raw: f.Raw}
	if v.Do == "" {
		v.Do = T(ctx, "Try again. If it stays so, copy the details for whoever runs the agent.")
		if !f.Retry {
			v.Do = T(ctx, "Copy the details for whoever runs the agent.")
		}
	}
	if f.Retry {
		v.Retry = retry
	}
	v.Details = T(ctx, "What happened: %s\nWhere: %s\nWhat to do: %s", v.What, v.Where, v.Do)
	if f.Kind != "" {
		v.Details += "\n" + T(ctx, "Kind: %s", f.Kind)
	}
	if f.Raw != "" {
		v.Details += "\n\n" + f.Raw
	}
	return v
}

// FlagOf returns the flag of an agent by its name: the first letters of two words, or the first letter of one and the
// next consonant.
func FlagOf(name string, hue int) Flag {
	hue = ((hue % 12) + 12) % 12
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) == 0 {
		return Flag{hue, "··"}
	}
	if len(words) > 1 {
		return Flag{hue, strings.ToUpper(string([]rune(words[0])[0]) + string([]rune(words[1])[0]))}
	}
	w := []rune(strings.ToUpper(words[0]))
	if len(w) == 1 {
		return Flag{hue, string(w)}
	}
	for _, r := range w[1:] {
		if !strings.ContainsRune("AEIOUY", r) && r != w[0] {
			return Flag{hue, string([]rune{w[0], r})}
		}
	}
	return Flag{hue, string(w[:2])}
}

// Duration says how long something took, as a clock: 0:42, 12:05, 1:02:03.
func Duration(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	s := int(d / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Spent says how long something took that is over, with tenths while they matter. What goes on has a clock: Duration.
func Spent(d time.Duration) string {
	switch d = max(d, 0); {
	case d > 0 && d < 100*time.Millisecond:
		return "<0.1 s"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', 1, 64) + " s"
	}
	return Duration(d)
}

// Bytes says a size as people do.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10) + " B"
	case n < 1000*1000:
		return strconv.FormatInt((n+500)/1000, 10) + " KB"
	case n < 10*1000*1000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return strconv.FormatInt((n+500_000)/1_000_000, 10) + " MB"
}

// Clock is the time of day of a message.
func Clock(t time.Time) string { return t.Format("15:04") }

// Stamp is a time for programs.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Millis is a time for the page's own clock.
func Millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// Day names the day of t, seen from now.
func Day(ctx context.Context, t, now time.Time) string {
	t = t.In(now.Location())
	switch days(t, now) {
	case 0:
		return T(ctx, "Today")
	case 1:
		return T(ctx, "Yesterday")
	}
	month := Tv(ctx, months[t.Month()-1])
	if t.Year() == now.Year() {
		return T(ctx, "%s, %d %s", Tv(ctx, weekdays[t.Weekday()]), t.Day(), month)
	}
	return Date(ctx, t)
}

// Date is a day of any year.
func Date(ctx context.Context, t time.Time) string {
	return T(ctx, "%d %s %d", t.Day(), Tv(ctx, months[t.Month()-1]), t.Year())
}

var weekdays = [...]string{
	Mark("Sunday"), Mark("Monday"), Mark("Tuesday"), Mark("Wednesday"), Mark("Thursday"), Mark("Friday"), Mark("Saturday"),
}

var months = [...]string{
	Mark("January"), Mark("February"), Mark("March"), Mark("April"), Mark("May"), Mark("June"),
	Mark("July"), Mark("August"), Mark("September"), Mark("October"), Mark("November"), Mark("December"),
}

// Ago names the group of the list that t belongs to.
func Ago(ctx context.Context, t, now time.Time) string {
	switch n := days(t.In(now.Location()), now); {
	case n <= 0:
		return T(ctx, "Today")
	case n == 1:
		return T(ctx, "Yesterday")
	case n < 7:
		return T(ctx, "Last 7 days")
	case n < 30:
		return T(ctx, "Last 30 days")
	}
	return T(ctx, "Earlier")
}

func days(t, now time.Time) int {
	a := time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, time.UTC)
	b := time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, time.UTC)
	return int(b.Sub(a).Hours() / 24)
}

// Host returns the host of an address, as a person should see it before going there.
func Host(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return u.Host
}

// Binding names a protocol binding.
func Binding(ctx context.Context, b string) string {
	switch b {
	case a2a.BindingJSONRPC:
		return "JSON-RPC"
	case a2a.BindingREST:
		return T(ctx, "HTTP and JSON")
	case a2a.BindingGRPC:
		return "gRPC"
	}
	return b
}

// Scheme says a way to sign in.
func Scheme(ctx context.Context, s a2a.SecurityScheme) string {
	switch s.Kind {
	case a2a.SchemeAPIKey:
		return T(ctx, "API key in the %s %s", s.Location, s.Name)
	case a2a.SchemeHTTP:
		if strings.EqualFold(s.Scheme, "bearer") {
			return T(ctx, "Bearer token")
		}
		if strings.EqualFold(s.Scheme, "basic") {
			return T(ctx, "User name and password")
		}
		return s.Scheme
	case a2a.SchemeOAuth2:
		return T(ctx, "OAuth 2 (signing in by it comes later)")
	case a2a.SchemeOpenIDConnect:
		return T(ctx, "OpenID Connect (signing in by it comes later)")
	case a2a.SchemeMutualTLS:
		return T(ctx, "Client certificate")
	}
	return string(s.Kind)
}
