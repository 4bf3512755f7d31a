package orchestrator

import (
	"context"
	"time"
)

// Models sets up the model that plans. Its key is a credential: kept as those of agents are, and sent to the origin of the
// model's URL only.
type Models interface {
	// Model says what is set up; the zero value, but for Kept, when nothing is.
	Model(ctx context.Context) (*Model, error)

	// SetModel stores what is set up, in force from the next decision on. What cannot be is a *Fault; nothing is stored then.
	SetModel(ctx context.Context, c *ModelChange) (*Model, error)

	// TestModel asks the endpoint of what is set up, changed by c, and stores nothing. c may be nil. A *Fault says why
	// nothing could be asked; what the endpoint said to it, good or bad, is in the ModelTest.
	TestModel(ctx context.Context, c *ModelChange) (*ModelTest, error)
}

// The settings that Models stores.
const (
	ModelURL  = "model.url"
	ModelName = "model.name"
	ModelOn   = "model.on" // "true": it plans
)

// Model is what is set up.
type Model struct {
	URL   string `json:"url"`                  // of an OpenAI-compatible API, with its version: http://127.0.0.1:11434/v1
	Name  string `json:"name"`                 // as the endpoint calls it
	On    bool   `json:"on"`                   // it plans; otherwise the cards of the agents are matched
	Key   bool   `json:"key"`                  // a key is kept for the URL's origin
	Kept  string `json:"kept"`                 // a sentence on how keys are kept
	Fault *Fault `json:"modelFault,omitempty"` // what the last decision met with; nil: nothing, or none was asked for
}

// ModelChange is what is to be different. A nil field stays as it is. A key that is kept is forgotten when the URL's
// origin changes: it was for the other.
type ModelChange struct {
	URL  *string
	Name *string
	On   *bool
	Key  *Secret // "" forgets it
}

// ModelTest is what came of asking a model.
type ModelTest struct {
	OK     bool          `json:"ok"`               // it can plan
	What   string        `json:"what"`             // one sentence: what came of it
	Do     string        `json:"do,omitempty"`     // one sentence: what to do about it
	Raw    string        `json:"raw,omitempty"`    // what the endpoint said, shortened
	Models []string      `json:"models,omitempty"` // that the endpoint offers, by name; nil when it does not say
	Tools  bool          `json:"tools"`            // it calls tools; without, it is told to answer in JSON
	Took   time.Duration `json:"tookNs"`           // of the answer
}
