package sign

import (
	"errors"
	"fmt"
)

// Kind says why a card is not verified.
type Kind string

const (
	KindCard       Kind = "card"        // the card itself cannot be read without doubt
	KindUnsigned   Kind = "unsigned"    // there is no signature
	KindUnknownKey Kind = "unknown-key" // none of the keys given is one it was signed with
	KindAlgorithm  Kind = "algorithm"   // signed in a way that proves nothing: none, a symmetric algorithm
	KindSignature  Kind = "signature"   // a signature by a key that was given does not fit the card
	KindKey        Kind = "key"         // a key cannot be read or used
)

// Error is what the functions of this package fail with.
type Error struct {
	Kind    Kind
	Message string // for people
}

func (e *Error) Error() string { return e.Message }

func errorf(k Kind, format string, args ...any) *Error {
	return &Error{k, fmt.Sprintf(format, args...)}
}

// KindOf returns the kind of an error, "" for one of another package.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
