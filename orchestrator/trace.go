package orchestrator

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"
)

// Trace is what the calls of a run have in common for those who trace them (W3C Trace Context): the trace id and the
// flags, "4bf92f3577b34da6a3ce929d0e0e4736-01". It is kept with a run, so that a run which is taken up goes on with it.
// "" = none.
type Trace string

// ReadTrace reads the value of a traceparent header; "" when it is not one.
func ReadTrace(traceparent string) Trace {
	// version "-" trace-id "-" parent-id "-" flags, with more behind it in later versions
	if len(traceparent) < 55 || traceparent[2] != '-' || traceparent[35] != '-' || traceparent[52] != '-' ||
		traceparent[:2] == "ff" || len(traceparent) > 55 && (traceparent[:2] == "00" || traceparent[55] != '-') {
		return ""
	}
	id, parent, flags := traceparent[3:35], traceparent[36:52], traceparent[53:55]
	if !lowerHex(traceparent[:2]) || !lowerHex(id) || !lowerHex(parent) || !lowerHex(flags) ||
		strings.Trim(id, "0") == "" || strings.Trim(parent, "0") == "" {
		return ""
	}
	return Trace(id + "-" + flags)
}

func lowerHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// TraceOfRun is the trace of a run that came with none: its id follows from the run's.
func TraceOfRun(run string) Trace {
	if id := strings.ReplaceAll(run, "-", ""); len(id) == 32 && lowerHex(id) && strings.Trim(id, "0") != "" {
		return Trace(id + "-01")
	}
	sum := sha256.Sum256([]byte(run))
	return Trace(hex.EncodeToString(sum[:16]) + "-01")
}

// Parent returns the traceparent header of one call: the trace under a new parent id. "" for no trace.
func (t Trace) Parent() string {
	id, flags, ok := strings.Cut(string(t), "-")
	if !ok {
		return ""
	}
	var span [8]byte
	binary.BigEndian.PutUint64(span[:], rand.Uint64()|1)
	return "00-" + id + "-" + hex.EncodeToString(span[:]) + "-" + flags
}

type traceKey struct{}

// WithTrace returns a context that carries the trace of whoever calls us.
func WithTrace(ctx context.Context, t Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceOf returns the trace that ctx carries; "" when there is none.
func TraceOf(ctx context.Context) Trace {
	t, _ := ctx.Value(traceKey{}).(Trace)
	return t
}
