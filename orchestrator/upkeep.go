package orchestrator

import (
	"context"
	"io"
	"time"
)

// Upkeep is what a person does about the program itself.
type Upkeep interface {
	// State says how the program stands.
	State(ctx context.Context) (*UpkeepState, error)

	// Backup copies the database as it is now, checked, and returns the copy.
	Backup(ctx context.Context) (Backup, error)

	// Restore sees to it that a backup (by its name) takes the place of the database at the next start; "" calls it off.
	// What is there then is kept as a backup.
	Restore(ctx context.Context, name string) error

	// Export writes all conversations: as JSON, an object a line, or as Markdown ("json", "md").
	Export(ctx context.Context, format string, w io.Writer) error

	// RotateKey makes a new signing key, in force from the next start on, and returns its fingerprint.
	RotateKey(ctx context.Context) (fingerprint string, err error)
}

// UpkeepState is how the program stands.
type UpkeepState struct {
	Dir         string // the data directory
	Version     string
	Engine      string // of the store
	Secrets     string // a sentence on where credentials are kept
	Database    int64  // bytes of the database, and of the files beside it
	Files       int64
	Backups     []Backup // the newest first
	Restoring   bool     // one takes the place of the database at the next start
	Fingerprint string   // of the signing key
	NextKey     string   // that of the key from the next start on; "" for the same
	ConfigFile  string   // the path, whether it is there or not
	Values      []ConfigValue
}

// Backup is a copy of the database.
type Backup struct {
	Name string
	Made time.Time
	Size int64
}

// ConfigValue is a thing that can be set, as it is set.
type ConfigValue struct {
	Name    string // "a2a.publicUrl", as the configuration file has it
	Help    string
	Value   string
	Setting string // under which the page may change it; "" when it counts from the start on
	Flag    string // of the command line, with its dashes; "" for none
	By      string // what decided: "--public-url", "…/parley.yaml, line 3"; "" for the page or the default
}

// TextSize is the setting for the size of the page's text: "", "large" or "larger".
const TextSize = "ui.textSize"
