//go:build !unix

package guard

// unixModes says that file modes keep other users out. Here the access list that a folder of the user hands down does.
const unixModes = false
