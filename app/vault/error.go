package vault

import "fmt"

// ErrorKind is what went wrong.
type ErrorKind string

const (
	NotFound        ErrorKind = "not found"
	Locked          ErrorKind = "locked"           // the key cannot be had now
	WrongPassphrase ErrorKind = "wrong passphrase" // try another
	Damaged         ErrorKind = "damaged"          // a file is not what it was
	NotStored       ErrorKind = "not stored"       // the disk refused
	TooLarge        ErrorKind = "too large"
)

// Error is what the functions of this package fail with. Message is for people and names no secret.
type Error struct {
	Kind    ErrorKind
	Message string
	Err     error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + " (" + e.Err.Error() + ")"
}

func (e *Error) Unwrap() error { return e.Err }

func notFound(agent, origin string) error {
	return &Error{Kind: NotFound, Message: fmt.Sprintf("There is no credential of %s for %s.", agent, origin)}
}
