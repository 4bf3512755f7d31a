package sqlite

import (
	"go/build"
	"testing"
)

// TestTags: the file that stops a build without full-text search is part of exactly those builds.
func TestTags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tags  []string
		stops bool
	}{{nil, true}, {[]string{"desktop"}, true}, {[]string{"sqlite_fts5"}, false}, {[]string{"fts5"}, false}} {
		c := build.Default
		c.BuildTags = tt.tags
		if stops, err := c.MatchFile(".", "nofts5.go"); stops != tt.stops || err != nil {
			t.Errorf("with tags %v the build stops: %v, %v", tt.tags, stops, err)
		}
	}
}
