package sqlite

// syncDir does nothing: Windows has no way to sync a directory, and NTFS journals renames.
func syncDir(string) error { return nil }
