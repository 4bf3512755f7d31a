//go:build interop

package interop

import (
	"context"
	"slices"
	"testing"
	"time"

	"parley/interop/peer"
)

// A round is one client and one agent.
type round struct {
	c peer.Client
	script
	version string // that they speak: 0.1, 0.2, 0.3, 1.0
	doubles bool   // the peer keeps numbers as doubles
	proto   bool   // they speak a2a.v1
	hooks   *hooks // where webhooks go; nil = none are asked for
	hop     bool   // there is a Parley in between: it has task ids of its own, and adds to the metadata
	refused func(context.Context) error
	others  *others // nil = there are none
	// oldAgent is set where the agent behind a Parley speaks v0.1, in which a sign-in is something to answer.
	oldAgent bool
	only     []string // the names of the checks to make; nil = all that can be
}

// A script is what makes an agent play its roles. A role without a text is not played.
type script struct {
	Echo, Task, Stream, Ask, Auth, Slow, Fail  string
	Parts, Artifacts, Metadata, Refer, Extends string
	Extended                                   string   // set where there is an extended card
	Answers                                    []string // until Ask is content
	Chunks                                     int      // that Stream makes; 0 = at least five
}

// obey is the script of every agent that obeys the first word.
var obey = script{
	Echo: "echo hello", Task: "task hello", Stream: "stream", Ask: "ask", Auth: "auth", Slow: "slow", Fail: "nonsense",
	Parts: "parts", Artifacts: "artifacts", Metadata: "metadata", Refer: "refer", Extends: "extensions", Extended: "-",
	Answers: []string{"blue"}, Chunks: 20,
}

// A check is one thing that has to work between a client and an agent.
type check struct {
	name  string
	needs string // the text of a role; without it the check is left out
	f     func(*round, context.Context) error
}

const unknown = "0198a000-0000-7000-8000-000000000000"

func checks(r *round) []check {
	all := []check{
		{"card", "-", (*round).card},
		{"send", r.Task, (*round).send},
		{"send in a context", r.Task, (*round).sendInContext},
		{"text of all scripts", r.Task, (*round).scripts},
		{"message reply", r.Echo, (*round).echo},
		{"message reply, streaming", r.Echo, (*round).echoStreaming},
		{"send without waiting", r.Slow, (*round).noWait},
		{"stream", r.Stream, (*round).stream},
		{"get", r.Stream, (*round).get},
		{"history length", r.Ask, (*round).history},
		{"list", r.Task, (*round).list},
		{"cancel", r.Slow, (*round).cancel},
		{"subscribe", r.Stream, (*round).subscribe},
		{"input-required", r.Ask, (*round).ask},
		{"input-required, streaming", r.Ask, (*round).askStreaming},
		{"auth-required", r.Auth, (*round).auth},
		{"failed", r.Fail, (*round).fail},
		{"artifacts", r.Artifacts, (*round).artifacts},
		{"referenceTaskIds", r.Refer, (*round).refer},
		{"message metadata", r.Metadata, (*round).metadata},
		{"extensions", r.Extends, (*round).extensions},
		{"extended card", r.Extended, (*round).extended},
		{"error: get unknown", "-", (*round).getUnknown},
		{"error: cancel unknown", "-", (*round).cancelUnknown},
		{"error: cancel completed", r.Task, (*round).cancelCompleted},
		{"error: send to completed", r.Task, (*round).sendToCompleted},
		{"error: subscribe unknown", "-", (*round).subscribeUnknown},
		{"push: set, get", r.Ask, (*round).pushCRUD},
		{"push: list, delete", r.Ask, (*round).pushList},
		{"push: delivery", r.Ask, (*round).pushDelivery},
		{"push: with a message", r.Ask, (*round).pushWithMessage},
	}
	if r.others != nil {
		all = append(all,
			check{"security declarations", "-", (*round).security},
			check{"tenant", "-", (*round).tenant},
			check{"needed extension: refused", "-", (*round).neededRefused},
			check{"needed extension: answered", "-", (*round).neededAnswered})
		if r.others.ours { // that SDKs look at modes is for their agents to do
			all = append(all,
				check{"input mode: refused", "-", (*round).inputMode},
				check{"output mode: refused", "-", (*round).outputMode})
		}
	}
	for _, p := range samples {
		all = append(all, check{p.name, r.Parts, func(r *round, ctx context.Context) error { return r.part(ctx, p.part) }})
	}
	if r.refused != nil {
		all = append(all, check{"wrong token", "-", func(r *round, ctx context.Context) error { return r.refused(ctx) }})
	}
	return slices.DeleteFunc(all, func(c check) bool { return c.needs == "" || r.only != nil && !slices.Contains(r.only, c.name) })
}

// run runs every check as a subtest and notes its outcome.
func (r *round) run(t *testing.T, cell cell) {
	for _, c := range checks(r) {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			cell.check = c.name
			note(t, cell, c.f(r, ctx))
		})
	}
}

func (r *round) old() bool { return r.version == "0.1" }
