package orchestrator

// Fault is a failure told to a person: what happened, where, and what to do about it.
type Fault struct {
	Kind  string `json:"kind"` // for programs, e.g. "dns", "refused", "tls", "unauthenticated", "card-html"
	Where Where  `json:"where"`
	What  string `json:"what"`            // one sentence
	Do    string `json:"do,omitempty"`    // one sentence
	Raw   string `json:"raw,omitempty"`   // what the other side said, shortened
	Retry bool   `json:"retry,omitempty"` // trying again may help

	// Final says that the same request fails again, whenever and by whomever it is made: nothing tries it again by itself, here
	// or at whoever has called us. It is for the few kinds of which that is certain; a person may try all the same.
	Final bool `json:"final,omitempty"`

	// MayHaveRun says that the agent may have acted on the message all the same.
	MayHaveRun bool `json:"mayHaveRun,omitempty"`

	SignIn []Challenge `json:"signIn,omitempty"` // what a 401 asks for, any one of them
}

// Challenge is a way to sign in that a server asks for (WWW-Authenticate, RFC 9110 section 11.6.1), as it says itself.
type Challenge struct {
	Scheme   string `json:"scheme"`             // "Basic", "Bearer", "ApiKey", "Certificate"; others as they were written
	Name     string `json:"name,omitempty"`     // ApiKey: of the header, parameter or cookie; only a person can know that it is right
	Location string `json:"location,omitempty"` // ApiKey: header, query or cookie
}

// Kinds of what a person did to a step of a plan, which may have failed by it.
const (
	FaultDeclined = "declined" // said no to it
	FaultStopped  = "stopped"
)

// Wanted reports whether a person did it, so that it is no failure to them.
func (f *Fault) Wanted() bool {
	return f != nil && (f.Kind == FaultDeclined || f.Kind == FaultStopped)
}

func (f *Fault) Error() string { return f.What }

// Where says on whose side a failure lies.
type Where string

const (
	WhereUs      Where = "us"
	WhereNetwork Where = "network"
	WhereAgent   Where = "agent"
	WhereSignIn  Where = "sign-in"
)
