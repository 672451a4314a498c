package hook

import (
	"reflect"
	"sync"

	"github.com/goclaw/goclaw/internal/llm"
)

// own is a copy of e for one handler alone: nothing that is reached from it can
// be changed through the other. Structs with fields of their own package, such
// as [tool.Scope] and [time.Time], are taken as they are: their methods change
// nothing.
func own[E any](e *E) *E { return copier{}.of(reflect.ValueOf(e)).Interface().(*E) }

// light is the same without the bytes of images and files.
func light[E any](e *E) *E { return copier{light: true}.of(reflect.ValueOf(e)).Interface().(*E) }

type copier struct{ light bool }

func (c copier) of(v reflect.Value) reflect.Value {
	if !shares(v.Type()) {
		return v
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		to := reflect.New(v.Type().Elem())
		to.Elem().Set(c.of(v.Elem()))
		return to
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		to := reflect.New(v.Type()).Elem()
		to.Set(c.of(v.Elem()))
		return to
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		c.elements(to, v)
		return to
	case reflect.Array:
		to := reflect.New(v.Type()).Elem()
		c.elements(to, v)
		return to
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		to := reflect.MakeMapWithSize(v.Type(), v.Len())
		for i := v.MapRange(); i.Next(); {
			to.SetMapIndex(i.Key(), c.of(i.Value()))
		}
		return to
	case reflect.Struct:
		to := reflect.New(v.Type()).Elem()
		to.Set(v)
		if m, ok := to.Addr().Interface().(*llm.Media); ok && c.light {
			m.Data = nil
		}
		for i := range v.NumField() {
			to.Field(i).Set(c.of(to.Field(i)))
		}
		return to
	}
	return v // a channel or a function, which no event has
}

// elements copies those of a slice or an array.
func (c copier) elements(to, from reflect.Value) {
	reflect.Copy(to, from)
	if !shares(from.Type().Elem()) {
		return
	}
	for i := range from.Len() {
		to.Index(i).Set(c.of(from.Index(i)))
	}
}

// sharing remembers, by type, what [shares] found out.
var sharing sync.Map

// shares reports whether two values of a type may reach the same memory that
// can be changed, so that assigning one is not enough to copy it.
func shares(t reflect.Type) bool {
	if known, ok := sharing.Load(t); ok {
		return known.(bool)
	}
	yes := false
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		yes = true
	case reflect.Array:
		yes = shares(t.Elem())
	case reflect.Struct:
		yes = !closed(t)
		if yes {
			yes = false
			for i := range t.NumField() {
				yes = yes || shares(t.Field(i).Type)
			}
		}
	}
	sharing.Store(t, yes)
	return yes
}

// closed reports whether a struct has fields that only its package can change.
func closed(t reflect.Type) bool {
	for i := range t.NumField() {
		if !t.Field(i).IsExported() {
			return true
		}
	}
	return false
}
