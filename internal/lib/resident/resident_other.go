//go:build !linux

package resident

// dropFilePages does nothing where it isn't known which pages have a copy.
func dropFilePages() error { return nil }
