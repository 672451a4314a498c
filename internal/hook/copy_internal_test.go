package hook

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/llm"
)

// everything is all that handlers of any point are given.
type everything struct {
	Prompt      Prompt
	Call        Call
	Returned    Returned
	Ended       Ended
	Message     Message
	ModelInput  ModelInput
	ModelOutput ModelOutput
	Session     Session
	Gateway     Gateway
	Install     Install
}

// Whatever a handler changes of what it is given, in place and however deep,
// nobody else sees it.
func TestWhatHandlersAreGivenIsTheirOwn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var e everything
		fill(rt, reflect.ValueOf(&e).Elem(), 0)
		before := print(t, &e)
		given := own(&e)
		if got := print(t, given); got != before {
			rt.Fatalf("the copy says %s\ninstead of %s", got, before)
		}
		spoil(reflect.ValueOf(given).Elem())
		if got := print(t, &e); got != before {
			rt.Fatalf("after its copy was changed it says %s\ninstead of %s", got, before)
		}
		if got := print(t, given); got == before {
			rt.Fatal("nothing was changed")
		}
	})
}

// What is told without the bytes of images and files has all else.
func TestLightCopies(t *testing.T) {
	t.Parallel()
	m := Message{Message: llm.Message{Parts: []llm.Part{
		{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Data: []byte("png"), Size: 3}},
		{Kind: llm.KindResult, Result: &llm.ToolResult{Content: []llm.Part{{Kind: llm.KindMedia, Media: &llm.Media{MIME: "a/b", Data: []byte("ab")}}}}},
	}}}
	got := light(&m)
	for _, media := range []*llm.Media{got.Message.Parts[0].Media, got.Message.Parts[1].Result.Content[0].Media} {
		if media.Data != nil || media.MIME == "" {
			t.Errorf("got %+v", media)
		}
	}
	if string(m.Message.Parts[0].Media.Data) != "png" || got.Message.Parts[0].Media.Size != 3 {
		t.Error("the original lost its bytes")
	}
}

// Types whose fields can't be copied are known to change by no method of theirs.
func TestTypesThatAreTakenAsTheyAre(t *testing.T) {
	t.Parallel()
	var met []string
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		if seen[of] {
			return
		}
		seen[of] = true
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			walk(of.Elem())
		case reflect.Map:
			walk(of.Key())
			walk(of.Elem())
		case reflect.Struct:
			if closed(of) {
				met = append(met, of.String())
				return
			}
			for i := range of.NumField() {
				walk(of.Field(i).Type)
			}
		case reflect.Chan, reflect.Func, reflect.UnsafePointer:
			t.Errorf("%s can't be copied", of)
		}
	}
	walk(reflect.TypeFor[everything]())
	slices.Sort(met)
	if want := []string{"time.Time", "tool.Scope"}; !slices.Equal(met, want) {
		t.Errorf("taken as they are: %s; look whether each changes by no method, and list it", met)
	}
}

func print(t *testing.T, e *everything) string {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fill sets v, and all that is reached from it, to something.
func fill(rt *rapid.T, v reflect.Value, depth int) {
	n := 1
	if depth > 8 { // messages hold messages
		n = 0
	}
	switch v.Kind() {
	case reflect.Pointer:
		if n > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(rt, v.Elem(), depth+1)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(json.RawMessage(`{"a":[1,"x"]}`)))
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(rapid.SampledFrom([]string{`{"a":1}`, `[1,2]`, `"x"`}).Draw(rt, "json")))
			return
		}
		n *= rapid.IntRange(0, 2).Draw(rt, "length")
		v.Set(reflect.MakeSlice(v.Type(), n, n+1))
		for i := range n {
			fill(rt, v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range n {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(rt, key, depth+1)
			fill(rt, value, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		if !closed(v.Type()) {
			for i := range v.NumField() {
				fill(rt, v.Field(i), depth+1)
			}
		}
	case reflect.String:
		v.SetString(rapid.StringMatching(`[a-z]{1,3}`).Draw(rt, "text"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.IntRange(1, 9).Draw(rt, "byte")))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(1, 9).Draw(rt, "number"))
	}
}

// spoil changes all that is reached from v in its place.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem())
		}
	case reflect.Interface:
		if b, ok := v.Interface().(json.RawMessage); ok {
			spoil(reflect.ValueOf(b))
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			copy(v.Bytes(), "                "[:v.Len()])
			copy(v.Bytes(), "0")
			return
		}
		for i := range v.Len() {
			spoil(v.Index(i))
		}
		if v.Cap() > v.Len() {
			spoil(v.Slice(0, v.Cap()).Index(v.Len()))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			v.SetMapIndex(k, reflect.Zero(v.Type().Elem()))
		}
	case reflect.Struct:
		if !closed(v.Type()) {
			for i := range v.NumField() {
				spoil(v.Field(i))
			}
		}
	case reflect.String:
		v.SetString("spoiled")
	case reflect.Uint8:
		v.SetUint(0)
	case reflect.Int, reflect.Int64:
		v.SetInt(0)
	}
}
