package files

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is how the text of a file is stored.
type encoding uint8

const (
	utf8Text  encoding = iota
	utf16LE            // with a byte order mark
	utf16BE            // likewise
	binaryish          // no text
)

func (e encoding) String() string {
	return [...]string{"UTF-8", "UTF-16LE", "UTF-16BE", "binary"}[e]
}

// sniffed is how much of a file is looked at to tell text from other data.
const sniffed = 8 << 10

const bom = "\ufeff"

// sniff tells the encoding of a file from its beginning. Bytes that are no
// UTF-8 are let pass when they are few, as in older encodings, where only the
// letters with accents are strange.
func sniff(head []byte) encoding {
	head = head[:min(len(head), sniffed)]
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}) && !bytes.HasPrefix(head, []byte{0xff, 0xfe, 0, 0}):
		return utf16LE
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return utf16BE
	case bytes.IndexByte(head, 0) >= 0:
		return binaryish
	}
	strange := 0
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		cut := len(head)-i < utf8.UTFMax && !utf8.FullRune(head[i:])
		if r == utf8.RuneError && n == 1 && !cut || r < ' ' && !strings.ContainsRune("\t\n\r\f\b\x1b", r) {
			strange++
		}
		i += n
	}
	if strange > 3 && strange*10 > len(head) {
		return binaryish
	}
	return utf8Text
}

// decode gives the text of data. Of UTF-8 these are the bytes as they are, the
// mark at the beginning included. ok is false when it is no text, or when
// encoding the text again would not give the same bytes.
func decode(data []byte) (text string, enc encoding, ok bool) {
	enc = sniff(data)
	switch enc {
	case utf8Text:
		return string(data), enc, true
	case binaryish:
		return "", enc, false
	}
	order := enc.order()
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	text = string(utf16.Decode(units))
	return text, enc, bytes.Equal(enc.encode(text), data)
}

func (e encoding) order() binary.ByteOrder {
	if e == utf16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// encode is the inverse of decode.
func (e encoding) encode(text string) []byte {
	if e == utf8Text {
		return []byte(text)
	}
	units := utf16.Encode([]rune(text))
	out := make([]byte, 2, 2+2*len(units))
	e.order().PutUint16(out, 0xfeff)
	for _, u := range units {
		out = e.append(out, u)
	}
	return out
}

func (e encoding) append(out []byte, u uint16) []byte {
	if e == utf16BE {
		return binary.BigEndian.AppendUint16(out, u)
	}
	return binary.LittleEndian.AppendUint16(out, u)
}

// isCRLF reports whether all lines of text end in CR LF.
func isCRLF(text string) bool {
	n := strings.Count(text, "\n")
	return n > 0 && n == strings.Count(text, "\r\n")
}

// toCRLF ends the lines of text in CR LF, if none does yet.
func toCRLF(text string) string {
	if strings.Contains(text, "\r") {
		return text
	}
	return strings.ReplaceAll(text, "\n", "\r\n")
}

// splitLines cuts text after each line feed. The last line may have none; an
// empty text has no lines.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// countLines is len(splitLines(text)).
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// lineAt is the number of the line, from 1, that holds the byte at offset.
func lineAt(text string, offset int) int { return strings.Count(text[:offset], "\n") + 1 }
