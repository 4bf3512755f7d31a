package planner

import (
	"context"
	"errors"
	"fmt"

	"parley/orchestrator"
	"parley/orchestrator/planner/completions"
)

// faultOf tells a person why a model was of no use.
func faultOf(err error, model string) *orchestrator.Fault {
	f := &orchestrator.Fault{Where: orchestrator.WhereAgent}
	var wrong problem
	var e *completions.Error
	switch {
	case errors.As(err, &wrong):
		f.Kind, f.Raw = "model-answer", string(wrong)
		f.What, f.Do = "The model "+model+" gave no plan that can be carried out, also when it was told what was wrong.", "If it happens often, choose a larger model."
		return f
	case !errors.As(err, &e):
		f.Kind, f.What, f.Where = "model-timeout", "The model "+model+" took too long to decide.", orchestrator.WhereNetwork
		if !errors.Is(err, context.DeadlineExceeded) {
			f.Kind, f.What, f.Raw, f.Where = "model", "The model could not be asked.", err.Error(), orchestrator.WhereUs
		}
		return f
	}
	f.Kind, f.Raw = "model-"+string(e.Kind), e.Said
	if f.Raw == "" && e.Err != nil {
		f.Raw = e.Err.Error()
	}
	switch e.Kind {
	case completions.Unreachable:
		f.Where, f.What, f.Do = orchestrator.WhereNetwork, "The model's endpoint cannot be reached.", "Check its URL, and that its server is running."
	case completions.Blocked:
		f.Where, f.What, f.Do = orchestrator.WhereUs, "Parley does not let requests out to the model's endpoint.", "Check its URL."
		var why interface {
			Blocked() (reason, advice string)
		}
		if errors.As(e.Err, &why) {
			reason, _ := why.Blocked()
			f.What = "Parley does not let requests out to the model's endpoint: " + reason + "."
		}
	case completions.Timeout:
		f.Where, f.What, f.Do = orchestrator.WhereNetwork, "The model "+model+" took too long to answer.", "Try again once it is loaded, or choose a smaller one."
	case completions.BadKey:
		f.Where, f.What, f.Do = orchestrator.WhereSignIn, fmt.Sprintf("The model's endpoint does not accept the key (HTTP %d).", e.Status), "Give it a key that is valid there."
	case completions.NoModel:
		f.What, f.Do = "The endpoint has no model "+model+".", "Choose one that it has, or install this one there."
	case completions.NoAPI:
		f.What, f.Do = fmt.Sprintf("There is no OpenAI-compatible API at this URL (HTTP %d).", e.Status), "Check the path of the URL; most end with /v1."
	case completions.NoTools:
		f.What, f.Do = "The model "+model+" calls no tools here.", "Choose a model that does."
	case completions.TooLong:
		f.What, f.Do = "What there is to read does not fit into the context of the model "+model+".", "Give it a larger context, or choose another model."
	case completions.RateLimited:
		f.What, f.Do = "The model's endpoint takes no more requests for now.", "Wait a while."
	case completions.NoCredit:
		f.Where, f.What, f.Do = orchestrator.WhereSignIn, "The account at the model's endpoint has no credit left.", "Look at the account."
	case completions.BadRequest:
		f.What, f.Do = fmt.Sprintf("The model's endpoint refused the request (HTTP %d).", e.Status), "See what it said."
	case completions.Failed:
		f.What, f.Do = "The model's endpoint failed.", "Look at its log, or try again later."
	case completions.Garbage:
		f.What, f.Do = "What the model's endpoint answered cannot be read.", "Check that the URL is that of an OpenAI-compatible API."
	case completions.Cut:
		f.Where, f.What, f.Do = orchestrator.WhereNetwork, "The model's answer ended before its end.", "Try again."
	}
	f.Retry = e.Kind == completions.RateLimited || e.Kind == completions.Failed || e.Kind == completions.Cut || e.Kind == completions.Timeout
	return f
}
