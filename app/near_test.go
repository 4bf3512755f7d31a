package app

import (
	"testing"
)

func TestNear(t *testing.T) {
	t.Parallel()
	known := map[string]string{"writer": "Writer", "slow": "Slow worker", "slow-2": "Slow worker", "東京": "Tokyo", "echo": "Echo", "a": "A"}
	for word, ids := range map[string]string{
		"writr": "writer", "wirter": "writer", "Writer": "writer", "writers": "writer", "wri": "writer", "wrxxer": "writer",
		"wxxxer": "", "slow-1": "slow-2", "slow worker": "slow, or slow-2", "slwo": "slow", "東亰": "東京", "ech": "echo",
		"x": "", "": "", "zzzzzz": "", "e": "",
	} {
		if got := near(word, known); got != ids {
			t.Errorf("%q: %s, want %s", word, got, ids)
		}
	}
}
