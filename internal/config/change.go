package config

import (
	"errors"
	"fmt"
	"strings"
)

// Change is one of several changes that are made together.
type Change struct {
	Key, Value string // as for [Set]
	Unset      bool   // the key is removed
}

// Edit makes changes one after the other under the guarantees of [Set], as one:
// only what they come to in the end may have no fault that was not there before.
func Edit(o Options, changes ...Change) error {
	_, err := rewrite(o, func(data []byte) ([]byte, error) {
		now := data
		for _, c := range changes {
			change := func() ([]byte, error) { return placeIn(o, now, c.Key, c.Value) }
			if c.Unset {
				change = func() ([]byte, error) { return takeOut(o, now, c.Key) }
			}
			next, err := change()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Key, err)
			}
			now = next
		}
		return now, freshFaults(o, data, now)
	})
	if err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	return nil
}

// freshFaults refuses a result that has a fault which was not there before.
func freshFaults(o Options, old, out []byte) error {
	known := make(map[string]bool)
	for _, f := range faultsOf(o, old) {
		known[f.Pos.Key+"\x00"+f.Message] = true
	}
	var fresh Faults
	for _, f := range faultsOf(o, out) {
		if !known[f.Pos.Key+"\x00"+f.Message] {
			fresh = append(fresh, f)
		}
	}
	if len(fresh) > 0 {
		return fresh
	}
	return nil
}

// faultsOf checks a file as if no GOCLAW_ variable were set: they would hide
// what stands in it.
func faultsOf(o Options, data []byte) Faults {
	plain := o
	plain.Environ = Environ{}
	for _, v := range o.Environ.vars {
		if !strings.HasPrefix(v, varPrefix) {
			plain.Environ.vars = append(plain.Environ.vars, v)
		}
	}
	_, err := Parse(plain, data)
	var fs Faults
	if errors.As(err, &fs) {
		return fs
	}
	return nil
}
