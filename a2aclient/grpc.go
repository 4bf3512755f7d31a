package a2aclient

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"parley/a2a"
	"parley/a2a/pb"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

// rpc is gRPC: one path for each operation, protocol buffers with a length before each, and the outcome in trailers. It goes
// by HTTP/2 through the same HTTP client as everything else, so that the same rules hold for where it may lead and which
// credentials it may carry; the client must speak HTTP/2, in plain text too where the interface's URL is http.
type rpc struct{ web }

func newRPC(c *Client, w *way) (*rpc, error) {
	t := &rpc{web{grpc: true}}
	return t, t.init(c, w)
}

// Values of headers, shared by all requests.
var (
	typeGRPC = []string{"application/grpc"}
	trailers = []string{"trailers"}
)

func (t *rpc) begin(ctx context.Context, q *request) (answer, error) {
	m, msg, err := pb.Request(q.dialect, q.op, q.params)
	if err != nil {
		return nil, t.unwritten(q.op, err)
	}
	body := make([]byte, prefix, prefix+proto.Size(msg))
	if body, err = (proto.MarshalOptions{}).MarshalAppend(body, msg); err != nil {
		return nil, fmt.Errorf("a2aclient: the request cannot be encoded: %w", err)
	}
	binary.BigEndian.PutUint32(body[1:], uint32(len(body)-prefix))
	x := &rpcAnswer{exchange: t.exchange(ctx, q, nil), m: m}
	x.method, x.sent = m.Name, body
	if t.c.o.Tap != nil {
		x.shown = pb.JSON(msg)
	}
	u := *t.url.Load()
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/")+m.Path(), ""
	if _, err := x.open(http.MethodPost, &u); err != nil {
		return nil, err
	}
	if err := x.judge(); err != nil {
		x.finish(nil, err)
		return nil, err
	}
	return x, nil
}

// prefix is what stands before a message: a byte that says whether it is compressed, and its length.
const prefix = 5

// rpcAnswer is the answer to a gRPC call.
type rpcAnswer struct {
	*exchange
	m *pb.Method
}

// judge refuses what is no answer to a gRPC call at all.
func (x *rpcAnswer) judge() error {
	isGRPC := strings.HasPrefix(strings.ToLower(x.resp.Header.Get("Content-Type")), "application/grpc")
	if x.resp.StatusCode == http.StatusOK && isGRPC {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(x.resp.Body, 2000))
	if x.resp.StatusCode != http.StatusOK {
		return card.Refused(x.url, x.resp, body)
	}
	e := x.web.c.garbage(x.q.op, "the answer is not one of gRPC")
	e.Raw, _ = card.Text(string(body), 500)
	return e
}

func (x *rpcAnswer) streams() bool { return x.m.Streams() }

func (x *rpcAnswer) result() (any, error) {
	defer time.AfterFunc(bodyTime, func() { x.kill(card.ErrSlow) }).Stop()
	var v any
	var shown []byte
	reply, err := x.next()
	if err == nil {
		if x.web.c.o.Tap != nil {
			shown = pb.JSON(reply)
		}
		if v, err = pb.Result(x.m, reply); err != nil {
			err = x.unreadable(err)
		} else if _, err = x.next(); err == io.EOF {
			err = nil
		} else if err == nil {
			err = x.web.c.garbage(x.q.op, "two answers came where one was due")
		}
	} else if err == io.EOF {
		err = x.web.c.garbage(x.q.op, "the call ended without an answer")
	}
	x.finish(shown, err)
	if err != nil {
		return nil, err
	}
	if x.m.Dialect != wire.NEW && wantsNoHistory(x.q.params) {
		if t, ok := v.(*a2a.Task); ok {
			t.History = nil // a2a.v1 cannot be asked for none
		}
	}
	return v, nil
}

func wantsNoHistory(params any) bool {
	var n *int
	switch p := params.(type) {
	case *a2a.SendRequest:
		n = p.Configuration.HistoryLength
	case *a2a.GetRequest:
		n = p.HistoryLength
	}
	return n != nil && *n == 0
}

func (x *rpcAnswer) events() iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		for {
			reply, err := x.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(frame{}, err)
				return
			}
			f := frame{final: pb.Final(reply)}
			v, err := pb.Result(x.m, reply)
			switch e, ok := v.(a2a.Event); {
			case err != nil:
				f.bad = x.unreadable(err)
			case !ok:
				f.bad = x.web.c.garbage(x.q.op, "a message of the stream holds no event")
			default:
				f.event = e
			}
			if !yield(f, nil) {
				return
			}
		}
	}
}

// next reads one message. io.EOF means that the call is over and went well.
func (x *rpcAnswer) next() (proto.Message, error) {
	var head [prefix]byte
	r := pulse{x.resp.Body, x.exchange}
	if _, err := io.ReadFull(r, head[:]); err == io.EOF {
		return nil, x.outcome()
	} else if err != nil {
		return nil, x.interrupted(err)
	}
	n := binary.BigEndian.Uint32(head[1:])
	switch {
	case head[0] != 0:
		return nil, x.web.c.garbage(x.q.op, "the answer is compressed, which was not asked for")
	case n > uint32(a2a.Limits.Response):
		return nil, x.unreadable(a2a.Errorf(a2a.KindTooLarge, "the answer has more than %d bytes", a2a.Limits.Response))
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(n))) // which grows as the bytes come, whatever was announced
	if err == nil && len(b) < int(n) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, x.interrupted(err)
	}
	reply := x.m.NewReply()
	if err := proto.Unmarshal(b, reply); err != nil {
		return nil, x.web.c.garbage(x.q.op, "the answer holds no message of the protocol")
	}
	return reply, nil
}

// outcome reads what the agent said at the end: io.EOF when all went well.
func (x *rpcAnswer) outcome() error {
	h := x.resp.Trailer
	if h.Get("Grpc-Status") == "" {
		h = x.resp.Header // nothing but an end
	}
	text := h.Get("Grpc-Status")
	if text == "" {
		return x.interrupted(io.ErrUnexpectedEOF)
	}
	code, err := strconv.ParseUint(text, 10, 16)
	if err == nil && code == uint64(codes.OK) {
		return io.EOF
	}
	if err != nil {
		code = uint64(codes.Unknown)
	}
	s := status.New(codes.Code(code), unescape(h.Get("Grpc-Message")))
	if raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(h.Get("Grpc-Status-Details-Bin"), "=")); err == nil && len(raw) > 0 {
		p := s.Proto()
		if proto.Unmarshal(raw, p) == nil {
			p.Code, p.Message = int32(code), s.Message()
			s = status.FromProto(p)
		}
	}
	ae := pb.Error(x.q.op, s)
	e := x.web.c.answered(x.q.op, likeHTTP(ae.Kind), h, ae)
	if s.Code() == codes.Unavailable && len(s.Details()) == 0 {
		e.MayHaveRun = x.q.acts() // it may be a server in front of the agent that says so
	}
	return e
}

// likeHTTP is the HTTP status that an error would have had there.
func likeHTTP(k a2a.ErrorKind) int {
	switch k {
	case a2a.KindUnauthenticated:
		return http.StatusUnauthorized
	case a2a.KindForbidden:
		return http.StatusForbidden
	case a2a.KindRateLimited:
		return http.StatusTooManyRequests
	case a2a.KindUnavailable:
		return http.StatusServiceUnavailable
	case a2a.KindInternal:
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

// unescape reads a Grpc-Message, which is percent-encoded. What is no encoding stays as it is.
func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}
