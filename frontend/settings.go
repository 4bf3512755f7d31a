package frontend

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

const maxRetention = 36500 // days

// editions of A2A v1.0 that differ in the statuses of errors, the usual one first.
var editions = []string{"1.0.1", "1.0.0"}

// sections are the parts of the page; the first is shown at first.
var sections = []string{"general", "model", "network", "storage", "keys", "about"}

// textSize is the size of the text as it was chosen.
func (s *Site) textSize(ctx context.Context) string {
	size, err := s.store.Setting(ctx, orchestrator.TextSize)
	if err != nil || size != "large" && size != "larger" {
		return ""
	}
	return size
}

func (s *Site) settingsPage(w http.ResponseWriter, r *http.Request) error {
	v, err := s.settings(r.Context(), r.FormValue("section"))
	if err != nil {
		return err
	}
	v.Saved = r.Form.Has("saved")
	if v.Upkeep != nil {
		v.Upkeep.Made = r.FormValue("made")
	}
	return s.showSettings(w, r, v)
}

func (s *Site) showSettings(w http.ResponseWriter, r *http.Request, v *view.Settings) error {
	return s.write(w, r, http.StatusOK, view.SettingsPage(s.page(r, view.T(r.Context(), "Settings"), view.Side{Section: "settings"}), *v))
}

// settings reads what a section shows.
func (s *Site) settings(ctx context.Context, section string) (*view.Settings, error) {
	v := &view.Settings{Section: section, Fixed: map[string]string{}, Text: s.textSize(ctx), SignOut: s.opts.SignOut, Limits: limits(ctx), Modules: modules()}
	read := func(name string) string {
		value, err := s.store.Setting(ctx, name)
		if err != nil {
			s.log.WarnContext(ctx, "a setting could not be read", "name", name, "error", err)
		}
		return value
	}
	v.Theme, v.Language, v.Edition = read(themeSetting), read(LanguageSetting), cmp.Or(read(orchestrator.ErrorMapping), editions[0])
	if d := s.opts.Demo; d != nil {
		v.Demo = &view.DemoAgents{On: d.On(), Fixed: d.Fixed()}
	}
	v.Retention, _ = strconv.Atoi(read(orchestrator.RetentionDays))
	if err := s.store.Healthy(); err != nil {
		_, fault := faultOf(ctx, err)
		v.Fault = view.FaultOf(ctx, fault, "")
		v.Fault.Title = view.T(ctx, "Nothing new can be stored now")
	}
	if s.opts.Models != nil {
		var err error
		if v.Model, err = s.opts.Models.Model(ctx); err != nil {
			return nil, err
		}
	}
	if s.opts.Upkeep != nil {
		state, err := s.opts.Upkeep.State(ctx)
		if err != nil {
			return nil, err
		}
		v.Upkeep = s.upkeepOf(ctx, state)
		for _, k := range state.Values {
			if k.Setting != "" && k.By != "" {
				v.Fixed[k.Setting] = k.By
			}
		}
	}
	gone := v.Section == "model" && v.Model == nil || (v.Section == "storage" || v.Section == "keys") && v.Upkeep == nil
	if gone || !slices.Contains(sections, v.Section) {
		v.Section = sections[0]
	}
	return v, nil
}

func (s *Site) upkeepOf(ctx context.Context, u *orchestrator.UpkeepState) *view.Upkeep {
	v := &view.Upkeep{
		Dir: u.Dir, Engine: u.Engine, Secrets: u.Secrets, Database: view.Bytes(u.Database), Files: view.Bytes(u.Files), Restoring: u.Restoring,
		Key: u.Fingerprint, NextKey: u.NextKey, File: u.ConfigFile, Folder: s.opts.Shell != nil,
	}
	if all := u.Database + u.Files; all > 0 {
		v.Share = int(100 * u.Files / all)
	}
	for _, b := range u.Backups {
		v.Backups = append(v.Backups, view.BackupRow{Name: b.Name, Made: s.when(ctx, b.Made), Size: view.Bytes(b.Size)})
	}
	for _, k := range u.Values {
		if k.Setting == "" {
			v.Values = append(v.Values, view.ValueRow{Name: k.Name, Help: k.Help, Value: k.Value, Flag: k.Flag, By: k.By})
		}
	}
	return v
}

// limits are those that people meet, from the one table of them.
func limits(ctx context.Context) [][2]string {
	l := a2a.Limits
	size := func(n int) string { return view.Bytes(int64(n)) }
	return [][2]string{
		{view.T(ctx, "One message, with its files"), size(l.RequestBody)},
		{view.T(ctx, "One text in it"), size(l.TextPart)},
		{view.T(ctx, "One file in it"), size(l.InlineFile)},
		{view.T(ctx, "Parts of a message"), strconv.Itoa(l.Parts)},
		{view.T(ctx, "A file that an agent links"), size(l.File)},
		{view.T(ctx, "One answer, one event of a stream"), size(l.SSEEvent)},
		{view.T(ctx, "A card"), size(l.Card)},
		{view.T(ctx, "Tasks of a caller that run"), strconv.Itoa(l.RunningTasks)},
		{view.T(ctx, "Tasks of a caller that wait for it"), strconv.Itoa(l.InterruptedTasks)},
		{view.T(ctx, "Webhooks of a task"), strconv.Itoa(l.PushConfigs)},
	}
}

// modules are what the program was built with.
func modules() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	out := make([]string, len(info.Deps))
	for i, d := range info.Deps {
		out[i] = d.Path + " " + d.Version
	}
	return out
}

// saveSettings stores a section of the form. What something else decides is left as it is.
func (s *Site) saveSettings(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	set := map[string]string{}
	section := r.FormValue("section")
	if section != "network" {
		theme, text, language := r.FormValue("theme"), r.FormValue("text"), r.FormValue("language")
		if !slices.Contains([]string{"", "light", "dark"}, theme) {
			return badRequest("There is no such theme.")
		}
		if !slices.Contains([]string{"", "large", "larger"}, text) {
			return badRequest("There is no such size.")
		}
		if language != "" && !slices.ContainsFunc(view.Tongues(), func(t view.Tongue) bool { return t.Code == language }) {
			return badRequest("There is no such language.")
		}
		days := 0
		if v := strings.TrimSpace(r.FormValue("retention")); v != "" {
			var err error
			if days, err = strconv.Atoi(v); err != nil || days < 0 || days > maxRetention {
				return badRequest("Days are a whole number from 0 to 36500.")
			}
		}
		set[themeSetting], set[orchestrator.TextSize], set[LanguageSetting], set[orchestrator.RetentionDays] = theme, text, language, strconv.Itoa(days)
	}
	if section != "general" {
		mapping := cmp.Or(r.FormValue("edition"), editions[0])
		if !slices.Contains(editions, mapping) {
			return badRequest("There is no such edition.")
		}
		set[orchestrator.ErrorMapping] = mapping
	}
	if s.opts.Upkeep != nil {
		state, err := s.opts.Upkeep.State(ctx)
		if err != nil {
			return err
		}
		maps.DeleteFunc(set, func(name, _ string) bool {
			return slices.ContainsFunc(state.Values, func(k orchestrator.ConfigValue) bool { return k.Setting == name && k.By != "" })
		})
	}
	if len(set) > 0 {
		if err := s.store.Write(ctx, &orchestrator.Batch{Settings: set}); err != nil {
			return err
		}
		if code, ok := set[LanguageSetting]; ok {
			s.tongue.Store(view.Negotiate(code, r.Header.Get("Accept-Language")))
			s.pages.clear()
			s.lobby.forget()
			s.boards.touch()
		}
	}
	to := "/settings?saved"
	if section != "" {
		to += "&section=" + section
	}
	return moved(w, r, to)
}

// upkeepRoutes are what a person does about the model and the program, where it can be done.
func (s *Site) upkeepRoutes(page func(string, func(http.ResponseWriter, *http.Request) error)) {
	if s.opts.Models != nil {
		page("POST /settings/model", s.saveModel)
	}
	u := s.opts.Upkeep
	if u == nil {
		return
	}
	page("POST /settings/backup", func(w http.ResponseWriter, r *http.Request) error {
		b, err := u.Backup(r.Context())
		if err != nil {
			return err
		}
		return moved(w, r, "/settings?section=storage&made="+b.Name+"#backups")
	})
	page("POST /settings/restore", func(w http.ResponseWriter, r *http.Request) error {
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		if err := u.Restore(r.Context(), r.FormValue("name")); err != nil {
			return err
		}
		return moved(w, r, "/settings?section=storage#backups")
	})
	page("POST /settings/rotate", func(w http.ResponseWriter, r *http.Request) error {
		if _, err := u.RotateKey(r.Context()); err != nil {
			return err
		}
		return moved(w, r, "/settings?section=keys")
	})
	page("POST /settings/folder", func(w http.ResponseWriter, r *http.Request) error {
		state, err := u.State(r.Context())
		if err != nil {
			return err
		}
		if s.opts.Shell == nil {
			return errNoPage
		}
		if err := s.opts.Shell.OpenFolder(state.Dir); err != nil {
			return err
		}
		return done(w, r, "/settings?section=storage")
	})
	export := func(format, kind string) {
		page("GET /settings/export."+format, func(w http.ResponseWriter, r *http.Request) error {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Disposition", `attachment; filename="parley-`+s.now().Format("2006-01-02")+`.`+format+`"`)
			w.Header().Set("Cache-Control", "no-store")
			return u.Export(r.Context(), format, w)
		})
	}
	export("json", "application/x-ndjson")
	export("md", "text/markdown; charset=utf-8")
}

// saveModel stores what is set up, or asks it and stores nothing.
func (s *Site) saveModel(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	address, name, on := strings.TrimSpace(r.FormValue("url")), strings.TrimSpace(r.FormValue("name")), r.FormValue("on") != ""
	c := &orchestrator.ModelChange{URL: &address, Name: &name, On: &on}
	if key := orchestrator.Secret(strings.TrimSpace(r.FormValue("key"))); key != "" || r.FormValue("forget") != "" {
		c.Key = &key
	}
	if r.FormValue("test") == "" {
		if _, err := s.opts.Models.SetModel(ctx, c); err != nil {
			return err
		}
		return moved(w, r, "/settings?saved&section=model")
	}
	t, err := s.opts.Models.TestModel(ctx, c)
	if err != nil {
		return err
	}
	v, err := s.settings(ctx, "model")
	if err != nil {
		return err
	}
	m := *v.Model // with what stands in the form
	m.URL, m.Name, m.On, m.Fault = address, name, on, nil
	v.Model = &m
	v.ModelSaid = &view.ModelSaid{State: good(ctx), What: view.Tv(ctx, t.What), Do: view.Tv(ctx, t.Do), Raw: t.Raw, Models: t.Models}
	if !t.OK {
		v.ModelSaid.State = amiss(ctx)
	} else if t.Took > 0 {
		v.ModelSaid.What += " " + view.T(ctx, "It answered after %s.", took(ctx, t.Took))
	}
	return s.showSettings(w, r, v)
}
