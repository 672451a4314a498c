package cache

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goclaw/goclaw/internal/tool"
)

const files = "file:"

// everywhere names touches so that they mean the same for all agents: paths of
// files begin at the root of the file system, since workspaces may be shared
// and lie within each other.
func everywhere(workspace string, touches []tool.Touch) []tool.Touch {
	all := slices.Clone(touches)
	for i, t := range all {
		if rest, ok := strings.CutPrefix(t.Name, files); ok {
			all[i].Name = files + path.Join(filepath.ToSlash(workspace), rest)
		}
	}
	return all
}

// canonical writes arguments so that equal ones are equal text: members by
// name, numbers in one form, no white space. It is not usable when that can't
// be told, as when a name comes twice.
func canonical(args json.RawMessage) (text string, usable bool) {
	if len(args) == 0 {
		return "{}", true
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var b strings.Builder
	if err := write(&b, dec); err != nil {
		return "", false
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return "", false
	}
	return b.String(), true
}

var errTwice = errors.New("a name comes twice")

// write writes the next value of dec.
func write(b *strings.Builder, dec *json.Decoder) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return writeObject(b, dec)
		}
		return writeArray(b, dec)
	case json.Number:
		b.WriteString(number(v.String()))
	case string:
		b.WriteString(strconv.Quote(v))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case nil:
		b.WriteString("null")
	}
	return nil
}

func writeArray(b *strings.Builder, dec *json.Decoder) error {
	b.WriteByte('[')
	for dec.More() {
		if err := write(b, dec); err != nil {
			return err
		}
		b.WriteByte(',')
	}
	b.WriteByte(']')
	_, err := dec.Token()
	return err
}

func writeObject(b *strings.Builder, dec *json.Decoder) error {
	members := map[string]string{}
	var names []string
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // what stands before a value in an object is one
		if _, twice := members[name]; twice {
			return errTwice
		}
		var value strings.Builder
		if err := write(&value, dec); err != nil {
			return err
		}
		members[name] = value.String()
		names = append(names, name)
	}
	slices.Sort(names)
	b.WriteByte('{')
	for _, name := range names {
		b.WriteString(strconv.Quote(name))
		b.WriteByte(':')
		b.WriteString(members[name])
		b.WriteByte(',')
	}
	b.WriteByte('}')
	_, err := dec.Token()
	return err
}

// number writes a numeral of JSON as its digits without zeros at the ends and a
// power of ten, so that 10, 1e1 and 10.0 are one. Nothing is rounded.
func number(s string) string {
	digits, negative := strings.CutPrefix(s, "-")
	digits, power, _ := strings.Cut(strings.ToLower(digits), "e")
	exp, err := strconv.Atoi(cmp.Or(strings.TrimPrefix(power, "+"), "0"))
	if err != nil {
		return s // a power beyond all reason stays as it is written
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	all := strings.TrimLeft(whole+fraction, "0")
	exp -= len(fraction)
	short := strings.TrimRight(all, "0")
	exp += len(all) - len(short)
	if short == "" {
		short, exp = "0", 0
	}
	if negative {
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(exp)
}
