package frontend

import "net/http"

// routes is the one table of what the page serves.
func (s *Site) routes() http.Handler {
	mux := http.NewServeMux()
	page := func(pattern string, h func(http.ResponseWriter, *http.Request) error) {
		mux.Handle(pattern, s.handle(h))
	}

	page("GET /{$}", s.newChat)
	page("GET /c/{id}", s.chat)
	page("GET /c/{id}/export.md", s.exportMarkdown)
	page("GET /c/{id}/export.json", s.exportJSON)
	page("GET /c/{id}/export.html", s.exportHTML)
	page("GET /c/{id}/find", s.findInChat)
	page("POST /c/{id}/name", s.renameChat)
	page("POST /c/{id}/pin", s.pinChat)
	page("POST /c/{id}/delete", s.deleteChat)
	page("POST /c/{id}/undelete", s.undelete)
	page("POST /c/{id}/branch/{item}", s.branchChat)
	page("POST /c/{id}/queue/{message}", s.queued)
	page("GET /import", s.importPage)
	page("POST /import", s.importChat)
	page("GET /palette", s.palette)
	page("GET /complete", s.complete)
	page("GET /diagram", s.diagram)
	page("POST /say", s.say)

	page("POST /runs/{id}/stop", s.stop)
	page("POST /runs/{id}/retry", s.retry)
	page("GET /runs/{id}/artifacts/{artifact}/{part}", s.artifactFile)
	page("GET /runs/{id}/files/{n}", s.saidFile)

	page("GET /runs/{id}", s.runPage)
	page("POST /runs/{id}/steps/{step}/stop", s.stopStep)
	page("POST /runs/{id}/steps/{step}/retry", s.retryStep)

	page("GET /workflows", s.workflowsPage)
	page("GET /workflows/new", s.newWorkflow)
	page("POST /workflows/check", s.checkWorkflow)
	page("GET /workflows/{id}", s.workflowPage)
	page("GET /workflows/{id}/compare", s.compareRuns)
	page("POST /workflows/{id}", s.saveWorkflow)
	page("POST /workflows/{id}/run", s.runWorkflow)
	page("POST /workflows/{id}/remove", s.removeWorkflow)

	page("POST /asks/{id}", s.answer)
	page("GET /asks/{id}/links/{n}", s.askLink)

	page("GET /inbox", s.inboxPage)
	page("POST /inbox/mute/{agent}", s.muteAgent)

	page("GET /tasks", s.tasksPage)
	page("POST /tasks/cancel", s.cancelTasks)
	page("GET /tasks/{id}", s.taskPage)
	page("POST /tasks/{id}/push/{push}/test", s.testPush)
	page("GET /tasks/at/{agent}", s.taskAtPage)
	page("GET /tasks/at/{agent}/{task}", s.taskAtPage)
	page("POST /tasks/at/{agent}/{task}/watch", s.watchTask)
	page("POST /tasks/at/{agent}/{task}/cancel", s.cancelAt)

	page("GET /wire", s.wirePage)
	page("GET /wire/export.json", s.exportWire)
	page("GET /wire/export.har", s.exportWire)
	page("POST /wire/{id}/replay", s.replay)

	page("GET /agents", s.agentsPage)
	page("GET /agents/{id}", s.agentPage)
	page("POST /agents/{id}/remove", s.removeAgent)
	page("POST /agents/{id}/credential", s.setCredential)
	page("POST /agents/{id}/speaks", s.setSpeaks)
	s.keeperRoutes(page)
	s.myAgentRoutes(page)

	page("GET /connect", s.connectPage)
	page("POST /connect", s.preview)
	page("GET /connect/{preview}", s.previewed)
	page("POST /connect/approve", s.approve)

	page("GET /search", s.searchPage)
	page("GET /settings", s.settingsPage)
	page("POST /settings", s.saveSettings)
	page("POST /demo", s.setDemo)
	s.upkeepRoutes(page)
	page("POST /open", s.openURL)
	page("POST /title", s.setTitle)
	page("POST /looked", s.setLooked)
	page("POST /download", s.download)

	mux.Handle("GET /static/{name}", s.assets)
	page("GET /ws", s.socket)
	for pattern, h := range s.opts.Handle {
		mux.Handle(pattern, h)
	}
	page("/", func(http.ResponseWriter, *http.Request) error { return errNoPage })
	return mux
}
