package wire

import (
	"strings"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// Push configurations. v1.0 has one flat object; before, the configuration lies in a holder that names the task: {taskId,
// pushNotificationConfig} in MID, {id, …} in OLD, {name: "tasks/T/pushNotificationConfigs/C", …} in PROTO.

// appendNewPush appends a configuration as v1.0 writes it; secret says whether its credentials go along.
func appendNewPush(b []byte, p *a2a.PushConfig, secret bool) []byte {
	b = append(b, '{')
	b = jsontext.AppendText(b, "tenant", p.Tenant)
	b = jsontext.AppendText(b, "id", p.ID)
	b = jsontext.AppendText(b, "taskId", p.TaskID)
	b = jsontext.AppendString(jsontext.AppendName(b, "url"), p.URL)
	b = jsontext.AppendText(b, "token", p.Token)
	if a := p.Authentication; a != nil {
		b = jsontext.AppendString(append(b, `,"authentication":{"scheme":`...), a.Scheme)
		if secret {
			b = jsontext.AppendText(b, "credentials", a.Credentials)
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// appendMidPush appends a configuration as every version before v1.0 writes it.
func appendMidPush(b []byte, p *a2a.PushConfig, secret bool) []byte {
	b = append(b, '{')
	b = jsontext.AppendText(b, "id", p.ID)
	b = jsontext.AppendString(jsontext.AppendName(b, "url"), p.URL)
	b = jsontext.AppendText(b, "token", p.Token)
	if a := p.Authentication; a != nil {
		b = append(b, `,"authentication":{"schemes":[`...)
		b = jsontext.AppendString(b, a.Scheme)
		for _, scheme := range a.MoreSchemes {
			b = jsontext.AppendString(append(b, ','), scheme)
		}
		b = append(b, ']')
		if secret {
			b = jsontext.AppendText(b, "credentials", a.Credentials)
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

func appendMidHolder(b []byte, p *a2a.PushConfig, secret bool) []byte {
	b = jsontext.AppendString(append(b, `{"taskId":`...), p.TaskID)
	b = appendMidPush(append(b, `,"pushNotificationConfig":`...), p, secret)
	return append(b, '}')
}

func appendProtoHolder(b []byte, p *a2a.PushConfig, secret bool) []byte {
	b = jsontext.AppendString(append(b, `{"name":`...), "tasks/"+p.TaskID+configs+p.ID)
	b = appendMidPush(append(b, `,"pushNotificationConfig":`...), p, secret)
	return append(b, '}')
}

const configs = "/pushNotificationConfigs/"

// splitName reads "tasks/T/pushNotificationConfigs/C", "tasks/T" and bare ids.
func splitName(name string) (task, config string) {
	name = strings.TrimPrefix(name, "tasks/")
	if i := strings.LastIndex(name, configs); i >= 0 {
		return name[:i], name[i+len(configs):]
	}
	return name, ""
}

// readPush reads a configuration in any form, in any holder. In a holder id is the task.
func readPush(r *jsontext.Reader, p *a2a.PushConfig) {
	var inner, outer a2a.PushConfig
	var held bool
	var name, parent, configID string
	outer = *p
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "tenant":
			outer.Tenant = r.String()
		case "id":
			outer.ID = r.String()
		case "taskId":
			outer.TaskID = r.String()
		case "url":
			outer.URL = r.String()
		case "token":
			outer.Token = r.String()
		case "authentication":
			outer.Authentication = readPushAuthentication(r)
		case "name":
			name = r.String()
		case "parent":
			parent = r.String()
		case "configId":
			configID = r.String()
		case "pushNotificationConfig", "taskPushNotificationConfig", "config":
			inner = a2a.PushConfig{}
			readPush(r, &inner)
			held = true
		default:
			r.Skip()
		}
	}
	if held {
		if outer.TaskID == "" {
			outer.TaskID = outer.ID
		}
		inner.Tenant = first(inner.Tenant, outer.Tenant)
		inner.TaskID = first(inner.TaskID, outer.TaskID)
		outer = inner
	}
	task, config := splitName(name)
	parent, _ = splitName(parent)
	outer.TaskID = first(outer.TaskID, parent, task)
	outer.ID = first(outer.ID, configID, config)
	*p = outer
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

func readPushAuthentication(r *jsontext.Reader) *a2a.PushAuthentication {
	a := new(a2a.PushAuthentication)
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "scheme":
			a.Scheme = r.String()
		case "schemes":
			if all := r.Strings(); len(all) > 0 {
				a.Scheme, a.MoreSchemes = all[0], all[1:]
			}
		case "credentials":
			if r.Peek() == '{' {
				a.Credentials = string(r.Raw())
			} else {
				a.Credentials = r.String()
			}
		default:
			r.Skip()
		}
	}
	return a
}

// readPushParams reads the params of c.Op, which is a push operation. NEW calls the task taskId and the configuration id;
// before, id was the task.
func readPushParams(r *jsontext.Reader, c *Call) {
	if c.Op == OpPushSet {
		readPush(r, c.Push)
		return
	}
	var tenant, id, task, config, token string
	size := 0
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "tenant":
			tenant = r.String()
		case "id":
			id = r.String()
		case "taskId":
			task = r.String()
		case "pushNotificationConfigId":
			config = r.String()
		case "pageSize":
			if start := r.Offset(); c.Op == OpPushList {
				if size = r.Int(); size < 0 || size > a2a.Limits.PageSize {
					r.Fail(start, mustBePage)
				}
				continue
			}
			r.Skip()
		case "pageToken":
			token = r.String()
		default:
			r.Skip()
		}
	}
	switch {
	case c.Dialect == NEW:
		config = first(id, config)
	case task == "":
		task = id
	default:
		config = first(config, id)
	}
	switch c.Op {
	case OpPushGet:
		*c.PushGet = a2a.PushGetRequest{Tenant: tenant, TaskID: task, ID: config}
	case OpPushList:
		*c.PushList = a2a.PushListRequest{Tenant: tenant, TaskID: task, PageSize: size, PageToken: token}
	case OpPushDelete:
		*c.PushDelete = a2a.PushDeleteRequest{Tenant: tenant, TaskID: task, ID: config}
	}
}

func readPushConfig(r *jsontext.Reader) *a2a.PushConfig {
	p := new(a2a.PushConfig)
	readPush(r, p)
	return p
}

// readPushPage reads {"configs":[…]} or, as MID has it, the bare list.
func readPushPage(r *jsontext.Reader) *a2a.PushConfigPage {
	p := new(a2a.PushConfigPage)
	list := func() {
		for r.Array(); r.Element(); {
			p.Configs = append(p.Configs, a2a.PushConfig{})
			readPush(r, &p.Configs[len(p.Configs)-1])
		}
	}
	if r.Peek() == '[' {
		list()
		return p
	}
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "configs":
			list()
		case "nextPageToken":
			p.NextPageToken = r.String()
		default:
			r.Skip()
		}
	}
	return p
}
