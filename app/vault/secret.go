package vault

import (
	"fmt"
	"log/slog"
)

// Secret is a string that does not print itself. The zero value is empty.
type Secret struct {
	value *string // a pointer: also a dump that ignores methods shows an address
}

// NewSecret returns a Secret that holds value.
func NewSecret(value string) Secret { return Secret{&value} }

// Reveal returns the value itself.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

const redacted = "[secret]"

// None of these shows the value.
func (Secret) String() string               { return redacted }
func (Secret) GoString() string             { return redacted }
func (Secret) Format(f fmt.State, _ rune)   { fmt.Fprint(f, redacted) }
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
