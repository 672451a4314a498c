// Package pdf knows of PDF files what an estimate of their cost needs. It reads
// no more of a file than that, keeps nothing and waits for nobody. Start reading
// at [Pages].
package pdf

import (
	"bytes"
	"compress/zlib"
	"io"
	"regexp"
)

// maxUnpacked bounds what is unpacked of one file, in bytes: a few thousand
// pages have room in it.
const maxUnpacked = 32 << 20

var (
	// page is the type of the object that each page has (ISO 32000-1, table 30);
	// that of the nodes above them is /Pages.
	page = regexp.MustCompile(`/Type\s*/Page[^0-9A-Za-z]`)
	// packed begins a stream of objects (ISO 32000-1, 7.5.7), which newer files
	// have their pages in.
	packed = regexp.MustCompile(`/Type\s*/ObjStm[^0-9A-Za-z]`)
	stream = regexp.MustCompile(`stream\r?\n`)
)

// Pages counts the pages of a file; 0 when there are none to be found, as in one
// that is encrypted. Pages that a later version of the file replaced count too.
func Pages(data []byte) int {
	n := len(page.FindAllIndex(data, -1))
	left := int64(maxUnpacked)
	for _, at := range packed.FindAllIndex(data, -1) {
		body := stream.FindIndex(data[at[1]-1:])
		if body == nil {
			break
		}
		objects := unpack(data[at[1]-1+body[1]:], left)
		left -= int64(len(objects))
		n += len(page.FindAllIndex(objects, -1))
	}
	return n
}

// unpack is the beginning of what was compressed, at most limit bytes; nothing
// when it is packed in another way.
func unpack(data []byte, limit int64) []byte {
	r, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	objects, _ := io.ReadAll(io.LimitReader(r, limit)) // what can be read of a damaged one counts
	return objects
}
