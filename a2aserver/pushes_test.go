package a2aserver_test

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"parley/a2a"
	"parley/a2aserver"
)

// pushes is a Pusher that keeps configurations and delivers nothing. It refuses addresses that do not begin with https.
type pushes struct {
	mu   sync.Mutex
	kept []a2aserver.PushRegistration
}

func (p *pushes) Check(_ context.Context, r *a2aserver.PushRegistration) error {
	if !strings.HasPrefix(r.Config.URL, "https://") {
		return &a2a.Error{Kind: a2a.KindInvalidParams, Field: "url", Message: "url must be https"}
	}
	return nil
}

func (p *pushes) Set(ctx context.Context, r *a2aserver.PushRegistration) (*a2a.PushConfig, error) {
	if err := p.Check(ctx, r); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := *r
	if c.Config.ID == "" {
		c.Config.ID = uuid.NewString()
	}
	p.kept = slices.DeleteFunc(p.kept, func(k a2aserver.PushRegistration) bool {
		return k.Principal == c.Principal && k.Config.TaskID == c.Config.TaskID && k.Config.ID == c.Config.ID
	})
	p.kept = append(p.kept, c)
	return &c.Config, nil
}

func (p *pushes) of(principal, task string) (list []a2a.PushConfig) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.kept {
		if k.Principal == principal && k.Config.TaskID == task {
			list = append(list, k.Config)
		}
	}
	return list
}

func (p *pushes) Get(_ context.Context, principal string, r *a2a.PushGetRequest) (*a2a.PushConfig, error) {
	all := p.of(principal, r.TaskID)
	slices.Reverse(all) // newest first
	for i := range all {
		if r.ID == "" || all[i].ID == r.ID {
			return &all[i], nil
		}
	}
	return nil, a2a.ErrTaskNotFound
}

func (p *pushes) List(_ context.Context, principal string, r *a2a.PushListRequest) (*a2a.PushConfigPage, error) {
	return &a2a.PushConfigPage{Configs: p.of(principal, r.TaskID)}, nil
}

func (p *pushes) Delete(_ context.Context, principal string, r *a2a.PushDeleteRequest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = slices.DeleteFunc(p.kept, func(k a2aserver.PushRegistration) bool {
		return k.Principal == principal && k.Config.TaskID == r.TaskID && k.Config.ID == r.ID
	})
	return nil
}
