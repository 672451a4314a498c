//go:build !linux

package session

func newLocker(dir string) locker { return files{dir} }
