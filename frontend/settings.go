package frontend

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"parley/frontend/view"
	"parley/orchestrator"
)

const maxRetention = 36500 // days

// editions of A2A v1.0 that differ in the statuses of errors, the usual one first.
var editions = []string{"1.0.1", "1.0.0"}

func (s *Site) settingsPage(w http.ResponseWriter, r *http.Request) error {
	days, err := s.store.Setting(r.Context(), orchestrator.RetentionDays)
	if err != nil {
		return err
	}
	p := s.page(r, "Settings", view.Side{Section: "settings"})
	v := view.Settings{Theme: p.Theme, Saved: r.URL.Query().Has("saved")}
	v.Retention, _ = strconv.Atoi(days)
	mapping, err := s.store.Setting(r.Context(), orchestrator.ErrorMapping)
	if err != nil {
		return err
	}
	v.Edition = cmp.Or(mapping, editions[0])
	if err := s.store.Healthy(); err != nil {
		_, fault := faultOf(r.Context(), err)
		v.Fault = view.FaultOf(r.Context(), fault, "")
		v.Fault.Title = "Nothing new can be stored now"
	}
	return s.write(w, r, http.StatusOK, view.SettingsPage(p, v))
}

func (s *Site) saveSettings(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	theme := r.FormValue("theme")
	if theme != "" && theme != "light" && theme != "dark" {
		return badRequest("There is no such theme.")
	}
	days := 0
	if v := strings.TrimSpace(r.FormValue("retention")); v != "" {
		var err error
		if days, err = strconv.Atoi(v); err != nil || days < 0 || days > maxRetention {
			return badRequest("Days are a whole number from 0 to " + strconv.Itoa(maxRetention) + ".")
		}
	}
	mapping := cmp.Or(r.FormValue("edition"), editions[0])
	if !slices.Contains(editions, mapping) {
		return badRequest("There is no such edition.")
	}
	if err := s.store.Write(r.Context(), &orchestrator.Batch{Settings: map[string]string{
		themeSetting: theme, orchestrator.RetentionDays: strconv.Itoa(days), orchestrator.ErrorMapping: mapping,
	}}); err != nil {
		return err
	}
	return moved(w, r, "/settings?saved")
}
