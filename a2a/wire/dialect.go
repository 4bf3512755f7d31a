package wire

// Dialect is one JSON family of A2A.
type Dialect uint8

const (
	NEW   Dialect = iota // v1.0
	MID                  // v0.2 and v0.3 over JSON-RPC
	OLD                  // v0.1 and the first drafts
	PROTO                // v0.2 and v0.3 over HTTP+JSON: ProtoJSON of a2a.v1
)

func (d Dialect) String() string {
	switch d {
	case NEW:
		return "v1.0"
	case MID, PROTO:
		return "v0.3"
	}
	return "v0.1"
}
