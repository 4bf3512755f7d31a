package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/app/config"
	"parley/orchestrator"
)

// upkeep is what a person does about the program itself.
type upkeep struct{ app *App }

var _ orchestrator.Upkeep = upkeep{}

// backups is a store that can be copied.
type backups interface {
	Backup(ctx context.Context) (path string, err error)
	Restore(ctx context.Context, path string) error
	Restoring() bool
}

var errNoBackups = &orchestrator.Fault{
	Kind: "backup", Where: orchestrator.WhereUs, What: "This store is not copied from here.", Do: "Use what its own server offers.",
}

func (u upkeep) dir() string { return filepath.Join(u.app.data, "backups") }

func (u upkeep) State(context.Context) (*orchestrator.UpkeepState, error) {
	a := u.app
	s := &orchestrator.UpkeepState{
		Dir: a.data, Version: a.cfg.Version, Engine: a.store.Version(), Secrets: a.vault.Kind().String(),
		Fingerprint: a.keys.fingerprint(), NextKey: a.keys.nextFingerprint(), ConfigFile: a.cfg.File,
	}
	for _, name := range []string{"parley.db", "parley.db-wal"} {
		if info, err := os.Stat(filepath.Join(a.data, name)); err == nil {
			s.Database += info.Size()
		}
	}
	_ = filepath.WalkDir(filepath.Join(a.data, "blobs"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				s.Files += info.Size()
			}
		}
		return nil
	})
	entries, err := os.ReadDir(u.dir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".db") {
			s.Backups = append(s.Backups, orchestrator.Backup{Name: e.Name(), Made: info.ModTime(), Size: info.Size()})
		}
	}
	slices.SortFunc(s.Backups, func(x, y orchestrator.Backup) int { return y.Made.Compare(x.Made) })
	if b, ok := a.store.Storage.(backups); ok {
		s.Restoring = b.Restoring()
	}
	for _, k := range config.Keys {
		v := orchestrator.ConfigValue{Name: k.Name, Help: k.Help, Setting: k.Setting, By: a.cfg.From[k.Name], Value: a.cfg.Values[k.Name]}
		if k.Flag != "" {
			v.Flag = "--" + k.Flag
		}
		s.Values = append(s.Values, v)
	}
	return s, nil
}

func (u upkeep) Backup(ctx context.Context) (orchestrator.Backup, error) {
	b, ok := u.app.store.Storage.(backups)
	if !ok {
		return orchestrator.Backup{}, errNoBackups
	}
	path, err := b.Backup(ctx)
	if err != nil {
		return orchestrator.Backup{}, &orchestrator.Fault{
			Kind: "backup", Where: orchestrator.WhereUs, What: "The copy could not be made.", Do: "See whether the disk has room for it.", Raw: err.Error(), Retry: true,
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return orchestrator.Backup{}, err
	}
	return orchestrator.Backup{Name: info.Name(), Made: info.ModTime(), Size: info.Size()}, nil
}

func (u upkeep) Restore(ctx context.Context, name string) error {
	b, ok := u.app.store.Storage.(backups)
	if !ok {
		return errNoBackups
	}
	if name == "" {
		return b.Restore(ctx, "")
	}
	if filepath.Base(name) != name || !strings.HasSuffix(name, ".db") {
		return orchestrator.ErrNotFound
	}
	path := filepath.Join(u.dir(), name)
	if _, err := os.Stat(path); err != nil {
		return orchestrator.ErrNotFound
	}
	if err := b.Restore(ctx, path); err != nil {
		return &orchestrator.Fault{
			Kind: "backup", Where: orchestrator.WhereUs, What: "This backup cannot be used.", Do: "Choose another one. Nothing was changed.", Raw: err.Error(),
		}
	}
	return nil
}

func (u upkeep) Export(ctx context.Context, format string, w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return u.app.export(ctx, ExportQuery{Format: format}, func(line any) error {
		if text, ok := line.(string); ok {
			_, err := io.WriteString(w, text)
			return err
		}
		return enc.Encode(line)
	})
}

func (u upkeep) RotateKey(ctx context.Context) (string, error) { return u.app.keys.rotate(ctx) }

// configured puts what the configuration file says of settings in their place, where it says something else than they do.
func (a *App) configured(ctx context.Context) error {
	b := &orchestrator.Batch{Settings: map[string]string{}}
	for name, want := range a.cfg.Settings {
		is, err := a.store.Setting(ctx, name)
		if err != nil {
			return err
		}
		if is != want {
			b.Settings[name] = want
		}
	}
	if len(b.Settings) == 0 {
		return nil
	}
	return a.store.Write(ctx, b)
}
