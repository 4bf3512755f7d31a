package wire

// Dialect is one JSON family of A2A.
type Dialect uint8

const (
	NEW Dialect = iota // v1.0
	MID                // v0.2 and v0.3
	OLD                // v0.1 and the first drafts
)

func (d Dialect) String() string {
	switch d {
	case NEW:
		return "v1.0"
	case MID:
		return "v0.3"
	}
	return "v0.1"
}
