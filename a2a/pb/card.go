package pb

import (
	v03 "github.com/a2aproject/a2a-go/a2apb"
	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"parley/a2a"
	"parley/a2a/wire"
)

// Cards go through the JSON that package wire reads and writes, which for these two services is that of their messages:
// they are asked for seldom, and all that is to be known about older and newer cards is there.

func newCard(c *a2a.AgentCard) (proto.Message, error) {
	out := &lf.AgentCard{}
	return out, fromJSON(out, wire.NEW, c)
}

func v03Card(c *a2a.AgentCard) (proto.Message, error) {
	out := &v03.AgentCard{}
	return out, fromJSON(out, wire.PROTO, c)
}

func fromJSON(m proto.Message, d wire.Dialect, c *a2a.AgentCard) error {
	b := wire.AppendResult(nil, &wire.Call{Dialect: d, Op: wire.OpExtendedCard, REST: true}, c)
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, m); err != nil {
		return a2a.Errorf(a2a.KindInternal, "the card cannot be written: %w", err)
	}
	return nil
}

// readCard reads a card of either service.
func readCard(m proto.Message) (any, error) {
	b, err := protojson.Marshal(m)
	if err != nil {
		return nil, invalidReply(err)
	}
	c, _, err := wire.DecodeCard(b)
	if err != nil {
		return nil, invalidReply(err)
	}
	return c, nil
}
