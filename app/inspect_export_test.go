package app

import "parley/orchestrator"

// Inspector is what the pages of tasks and of the wire act through.
func (a *App) Inspector() orchestrator.Inspector { return inspector{a} }
