package frontend

import "strings"

const maxFilename = 120 // characters

// CleanName makes a file name that is safe to write to a disk and to show: no folders, no control or direction
// characters, no leading dot, none of the characters and names that Windows keeps for itself, at most 120 characters.
func CleanName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		switch {
		case r < ' ', r == 0x7f, r >= 0x80 && r < 0xa0, r == '\u200e', r == '\u200f', r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\ufeff', r >= '\u200b' && r <= '\u200d', r == '\ufffd':
			return -1
		case strings.ContainsRune(`<>:"|?*`, r):
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	name = strings.Trim(name, ". ")
	if runes := []rune(name); len(runes) > maxFilename {
		stem, ext := name, ""
		if dot := strings.LastIndexByte(name, '.'); dot > 0 && len([]rune(name[dot:])) <= 16 {
			stem, ext = name[:dot], name[dot:]
		}
		name = string([]rune(stem)[:maxFilename-len([]rune(ext))]) + ext
	}
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	switch {
	case name == "":
		return "file"
	case stem == "CON", stem == "PRN", stem == "AUX", stem == "NUL", len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")):
		return "_" + name
	}
	return name
}
