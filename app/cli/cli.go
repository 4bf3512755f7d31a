// Package cli is the command line of Parley.
package cli

import (
	"context"
	"fmt"
	"io"
)

// Main runs the program with the arguments after its name and returns its exit status.
func Main(_ context.Context, _ []string, _ io.Reader, _, stderr io.Writer) int {
	fmt.Fprintln(stderr, "parley: no commands yet")
	return 2
}
