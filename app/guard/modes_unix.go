//go:build unix

package guard

// unixModes says that file modes keep other users out.
const unixModes = true
