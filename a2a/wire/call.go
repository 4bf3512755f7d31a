package wire

import "parley/a2a"

// Shared reports whether the call's method is one of tasks/get, tasks/cancel and tasks/resubscribe, which OLD and MID
// both have. DecodeCall says MID; AsOLD says otherwise.
func (c *Call) Shared() bool {
	return c.Dialect == MID && !c.REST && (c.Op == OpGet || c.Op == OpCancel || c.Op == OpSubscribe)
}

// AsOLD makes a call with a Shared method one of OLD, and puts task, our id of the task, in the place of the id the
// client gave it. Replies and frames show the client's own.
func (c *Call) AsOLD(task string) {
	if c.Dialect != OLD {
		c.Dialect = OLD
		if c.Get != nil && c.Get.HistoryLength == nil { // without a number, none is wanted
			c.Get.HistoryLength = new(int)
		}
	}
	if c.Index == nil {
		c.Index = NewIndex(c.TaskID())
	}
	if id := c.taskID(); id != nil {
		*id = task
	}
	if c.PushDelete != nil { // the one that there can be
		c.PushDelete.ID = task
	}
}

// TaskID is the id of the task the call names, "" for none.
func (c *Call) TaskID() string {
	if id := c.taskID(); id != nil {
		return *id
	}
	return ""
}

func (c *Call) taskID() *string {
	switch {
	case c.Send != nil:
		return &c.Send.Message.TaskID
	case c.Get != nil:
		return &c.Get.ID
	case c.Cancel != nil:
		return &c.Cancel.ID
	case c.Subscribe != nil:
		return &c.Subscribe.ID
	case c.Push != nil:
		return &c.Push.TaskID
	case c.PushGet != nil:
		return &c.PushGet.TaskID
	case c.PushList != nil:
		return &c.PushList.TaskID
	case c.PushDelete != nil:
		return &c.PushDelete.TaskID
	}
	return nil
}

// Tenant is the tenant the call is for, "" for none.
func (c *Call) Tenant() string {
	if t := c.tenant(); t != nil {
		return *t
	}
	return ""
}

// SetTenant makes the call one for a tenant.
func (c *Call) SetTenant(tenant string) {
	if t := c.tenant(); t != nil {
		*t = tenant
	}
}

func (c *Call) tenant() *string {
	switch {
	case c.Send != nil:
		return &c.Send.Tenant
	case c.Get != nil:
		return &c.Get.Tenant
	case c.List != nil:
		return &c.List.Tenant
	case c.Cancel != nil:
		return &c.Cancel.Tenant
	case c.Subscribe != nil:
		return &c.Subscribe.Tenant
	case c.Push != nil:
		return &c.Push.Tenant
	case c.PushGet != nil:
		return &c.PushGet.Tenant
	case c.PushList != nil:
		return &c.PushList.Tenant
	case c.PushDelete != nil:
		return &c.PushDelete.Tenant
	case c.Card != nil:
		return &c.Card.Tenant
	}
	return nil
}

// begin makes the field that belongs to c.Op.
func (c *Call) begin() {
	switch c.Op {
	case OpSend, OpStream:
		c.Send = new(a2a.SendRequest)
	case OpGet:
		c.Get = new(a2a.GetRequest)
	case OpList:
		c.List = new(a2a.ListRequest)
	case OpCancel:
		c.Cancel = new(a2a.CancelRequest)
	case OpSubscribe:
		c.Subscribe = new(a2a.SubscribeRequest)
	case OpPushSet:
		c.Push = new(a2a.PushConfig)
	case OpPushGet:
		c.PushGet = new(a2a.PushGetRequest)
	case OpPushList:
		c.PushList = new(a2a.PushListRequest)
	case OpPushDelete:
		c.PushDelete = new(a2a.PushDeleteRequest)
	case OpExtendedCard:
		c.Card = new(a2a.ExtendedCardRequest)
	}
}
