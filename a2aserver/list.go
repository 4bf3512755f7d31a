package a2aserver

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"parley/a2a"
)

// List implements Tasks.
func (a *Agent) List(ctx context.Context, principal string, r *a2a.ListRequest) (*a2a.TaskPage, error) {
	size := r.PageSize
	if size == 0 {
		size = a2a.DefaultPageSize
	}
	if size < 1 || size > a2a.Limits.PageSize {
		return nil, &a2a.Error{Kind: a2a.KindInvalidParams, Field: "pageSize", Message: "pageSize must be 1 to 100"}
	}
	var before *Head
	if r.PageToken != "" {
		var ok bool
		if before, ok = readPageToken(r.PageToken); !ok {
			return nil, &a2a.Error{Kind: a2a.KindInvalidParams, Field: "pageToken", Message: "the pageToken is not one of ours"}
		}
	}
	heads, total, err := a.log.List(ctx, principal, r, before, size+1)
	if err != nil {
		return nil, err
	}
	page := &a2a.TaskPage{Tasks: []a2a.Task{}, PageSize: size, TotalSize: total}
	if len(heads) > size {
		heads = heads[:size]
		page.NextPageToken = pageToken(&heads[size-1])
	}
	for _, h := range heads {
		t, err := a.Task(ctx, principal, &a2a.GetRequest{ID: h.ID, HistoryLength: r.HistoryLength})
		if errors.Is(err, a2a.ErrTaskNotFound) { // erased meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		if !r.IncludeArtifacts {
			t.Artifacts = nil
		}
		page.Tasks = append(page.Tasks, *t)
	}
	return page, nil
}

// pageToken says where the next page begins.
func pageToken(h *Head) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(h.Updated.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(append(b, h.ID...))
}

func readPageToken(s string) (*Head, bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) <= 8 {
		return nil, false
	}
	return &Head{ID: string(b[8:]), Updated: time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC()}, true
}
