package engine

import (
	"parley/a2a"
	"parley/orchestrator"
)

// Apply folds one event of the run into s. An event that does not fit where the run stands changes nothing but the
// count of events, so a log with a repeated or late event folds to the same decisions.
func (s *State) Apply(b Body) {
	s.Events++
	if s.Ended {
		return
	}
	switch b := b.(type) {
	case *Planned:
		if len(s.Steps) == 0 && len(b.Agents) > 0 {
			s.Steps = []Step{step(FirstStep, b.Agents[0])}
		}
	case *Sending:
		s.sending(b)
	case *Sent:
		if st := s.Step(b.Step); st != nil && st.State == orchestrator.StepSending {
			if b.Task != "" {
				st.Task = b.Task
			}
			if b.Context != "" {
				st.Context = b.Context
			}
			st.await()
		}
	case *Asked:
		s.asked(b)
	case *Answered:
		s.answered(b)
	case *Stopping:
		s.stopping()
	case *Faulted:
		s.fault(b)
	case *Report:
		s.report(b)
	}
}

func (st *Step) await() {
	st.State, st.Wants, st.Asking = orchestrator.StepAwaiting, "", ""
	st.Phase++
}

func (st *Step) want(k orchestrator.AskKind) {
	st.State, st.Wants = orchestrator.StepAsking, k
	if k == orchestrator.AskResend {
		st.State = orchestrator.StepLost
	}
	st.Phase++
}

// again makes the step send: its next message, or the same one once more.
func (st *Step) again() {
	st.State, st.Wants, st.Asking = orchestrator.StepPlanned, "", ""
}

func (s *State) end(state a2a.TaskState, f *orchestrator.Fault) {
	if s.End == a2a.TaskStateUnspecified {
		s.End, s.Fault = state, f
	}
}

func (s *State) sending(b *Sending) {
	st := s.Step(b.Step)
	if st == nil || st.State == orchestrator.StepDone {
		return
	}
	due := st.State == orchestrator.StepPlanned && b.Turn == st.Turn && b.Attempt == st.Attempt && b.Repeat == st.Repeat
	if !due && b.Turn <= st.Turn {
		return // it is on its way already
	}
	st.again()
	st.State = orchestrator.StepSending
	st.Turn, st.Attempt, st.Repeat = b.Turn, b.Attempt, b.Repeat

	kept := s.Calls[:0:0]
	for _, c := range s.Calls {
		if b.At-c.At < IdenticalWindow {
			kept = append(kept, c)
		}
	}
	s.Calls = append(kept, Call{Agent: b.Agent, Digest: b.Digest, At: b.At})
}

func (s *State) asked(b *Asked) {
	if s.Open(b.Ask) != nil {
		return
	}
	s.Asks = append(s.Asks, Ask{ID: b.Ask, Step: b.Step, Kind: b.AskKind})
	if st := s.Step(b.Step); st != nil {
		st.Wants, st.Asking = "", b.AskKind
	}
}

func (s *State) answered(b *Answered) {
	i := 0
	for i < len(s.Asks) && s.Asks[i].ID != b.Ask {
		i++
	}
	if i == len(s.Asks) {
		return
	}
	ask := s.Asks[i]
	s.Asks = append(s.Asks[:i:i], s.Asks[i+1:]...)
	st := s.Step(ask.Step)
	switch {
	case b.State == orchestrator.AskDeclined:
		s.Declined = true
		s.stopping()
	case b.State == orchestrator.AskGone:
		if ask.Kind == orchestrator.AskChoice {
			s.Planning++ // there is nothing to choose from any more
		}
	case ask.Kind == orchestrator.AskChoice:
		s.Chosen = b.Choice
		s.Planning++
	case st == nil:
	case ask.Kind == orchestrator.AskResend && b.Choice == ResendAgain:
		st.again()
		st.Repeat++
	case ask.Kind == orchestrator.AskResend:
		s.end(a2a.TaskStateFailed, s.Fault)
	default:
		st.again()
		st.Turn, st.Attempt, st.Repeat = st.Turn+1, 1, 0
		if ask.Kind == orchestrator.AskSignIn {
			s.SignIn = ask.ID
		}
	}
}

// The choices of an ask of kind resend.
const (
	ResendAgain = "again"
	ResendLeave = "leave"
)

// stopping makes the run stop: at once where there is no task at an agent that could be canceled.
func (s *State) stopping() {
	s.Stops++
	s.Stopping = true
	st := s.Active()
	if st == nil || st.Task == "" && st.State != orchestrator.StepSending && st.State != orchestrator.StepAwaiting {
		s.end(a2a.TaskStateCanceled, nil)
	}
}

func (s *State) fault(b *Faulted) {
	st := s.Step(b.Step)
	if st == nil {
		if b.Class == Refused {
			s.end(a2a.TaskStateFailed, b.Fault)
		}
		return
	}
	switch b.Class {
	case Unsent:
		switch {
		case s.Stopping:
			s.end(a2a.TaskStateCanceled, nil)
		case st.Attempt < MaxAttempts && st.State == orchestrator.StepSending:
			st.again()
			st.Attempt++
		default:
			s.end(a2a.TaskStateFailed, b.Fault)
		}
	case Repeat:
		if st.Repeat < MaxRepeats && st.State == orchestrator.StepSending {
			st.again()
			st.Repeat++
			return
		}
		s.lost(st, b.Fault)
	case Lost:
		s.lost(st, b.Fault)
	case Refused:
		s.end(a2a.TaskStateFailed, b.Fault)
	case Ignored:
		if st.State == orchestrator.StepSending && st.Task != "" {
			st.await()
		}
	case Cancel:
		if s.Declined || s.Part && s.Rules > 2 {
			s.end(a2a.TaskStateCanceled, b.Fault)
		}
		s.Stopping, s.Declined = false, false
	case Silent:
		s.end(a2a.TaskStateCanceled, b.Fault)
	}
}

// lost asks the local person whether to send again. Others can send again themselves, so their run ends.
func (s *State) lost(st *Step, f *orchestrator.Fault) {
	switch {
	case s.Stopping:
		s.end(a2a.TaskStateCanceled, f)
	case !s.Person:
		s.end(a2a.TaskStateFailed, f)
	default:
		s.Fault = f
		st.want(orchestrator.AskResend)
	}
}

func (s *State) report(r *Report) {
	st := s.Active()
	switch kind := kindOf(r.State); {
	case r.Ends():
		s.Ended, s.Stopping, s.Asks = true, false, nil
		s.End = r.State
		if r.Message {
			s.End = a2a.TaskStateCompleted
		}
		if st != nil {
			st.State, st.Wants, st.Asking = orchestrator.StepDone, "", ""
		}
	case st == nil, r.State == a2a.TaskStateUnspecified:
	case kind != "":
		if st.State == orchestrator.StepAwaiting || st.State == orchestrator.StepAsking && st.Asking != kind && st.Wants != kind {
			st.want(kind)
		}
	case st.State == orchestrator.StepAsking && st.Asking != orchestrator.AskResend:
		st.await()
	}
}

// Next returns what follows from s. What needs no waiting comes first: asks to open, the end.
func (s *State) Next() []Command {
	if s.Ended {
		return nil
	}
	if s.End != a2a.TaskStateUnspecified {
		return []Command{&Finish{State: s.End, Fault: s.Fault}}
	}
	if len(s.Steps) == 0 {
		if len(s.Asks) > 0 {
			return nil
		}
		return []Command{&Plan{Round: s.Planning + 1, Agent: s.Chosen}}
	}
	var cs []Command
	for i := range s.Steps {
		cs = s.Steps[i].next(cs)
		if s.Stopping && s.Steps[i].stoppable() {
			cs = append(cs, &Stop{Step: s.Steps[i].ID, Agent: s.Steps[i].Agent, Task: s.Steps[i].Task, N: s.Stops})
		}
	}
	return cs
}

func (st *Step) next(cs []Command) []Command {
	switch st.State {
	case orchestrator.StepPlanned, orchestrator.StepSending:
		return append(cs, &Send{
			Step: st.ID, Agent: st.Agent, Turn: st.Turn, Attempt: st.Attempt, Repeat: st.Repeat,
			Task: st.Task, Context: st.Context, Known: st.State == orchestrator.StepSending,
		})
	case orchestrator.StepAsking, orchestrator.StepLost:
		if st.Wants != "" {
			return append(cs, &Open{Step: st.ID, Agent: st.Agent, Phase: st.Phase, Kind: st.Wants})
		}
		if st.Asking != orchestrator.AskSignIn {
			return cs
		}
		return append(cs, &Await{Step: st.ID, Agent: st.Agent, Phase: st.Phase, Task: st.Task, Watching: true})
	case orchestrator.StepAwaiting:
		return append(cs, &Await{Step: st.ID, Agent: st.Agent, Phase: st.Phase, Task: st.Task})
	}
	return cs
}

func (st *Step) stoppable() bool {
	return st.Task != "" && st.State != orchestrator.StepDone
}
