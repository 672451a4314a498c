package files

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
)

// picture describes an image that models can see.
type picture struct {
	MIME          string
	Width, Height int // 0 when the file is damaged
}

// readPicture recognises an image by its first bytes.
func readPicture(data []byte) (picture, bool) {
	for _, kind := range []struct {
		magic, mime string
		config      func(io.Reader) (image.Config, error)
	}{
		{"\x89PNG\r\n\x1a\n", "image/png", png.DecodeConfig},
		{"\xff\xd8\xff", "image/jpeg", jpeg.DecodeConfig},
		{"GIF87a", "image/gif", gif.DecodeConfig},
		{"GIF89a", "image/gif", gif.DecodeConfig},
		{"RIFF????WEBP", "image/webp", webpConfig},
	} {
		if !hasMagic(data, kind.magic) {
			continue
		}
		p := picture{MIME: kind.mime}
		if c, err := kind.config(bytes.NewReader(data)); err == nil {
			p.Width, p.Height = c.Width, c.Height
		}
		return p, true
	}
	return picture{}, false
}

// hasMagic reports whether data begins with magic, where ? stands for any byte.
func hasMagic(data []byte, magic string) bool {
	if len(data) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && data[i] != magic[i] {
			return false
		}
	}
	return true
}

// webpConfig reads the size of a WebP image (RFC 9649, sections 2.5 to 2.7).
func webpConfig(r io.Reader) (image.Config, error) {
	var head [30]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return image.Config{}, err
	}
	le := binary.LittleEndian
	switch string(head[12:16]) {
	case "VP8 ": // lossy: a frame header with two 14-bit numbers
		return image.Config{Width: int(le.Uint16(head[26:]) & 0x3fff), Height: int(le.Uint16(head[28:]) & 0x3fff)}, nil
	case "VP8L": // lossless: two 14-bit numbers, less one, after a signature byte
		bits := le.Uint32(head[21:])
		return image.Config{Width: int(bits&0x3fff) + 1, Height: int(bits>>14&0x3fff) + 1}, nil
	case "VP8X": // extended: two 24-bit numbers, less one
		w := int(head[24]) | int(head[25])<<8 | int(head[26])<<16
		h := int(head[27]) | int(head[28])<<8 | int(head[29])<<16
		return image.Config{Width: w + 1, Height: h + 1}, nil
	}
	return image.Config{}, image.ErrFormat
}

// magics name common kinds of files that are no text.
var magics = []struct{ magic, kind string }{
	{"%PDF-", "PDF document"},
	{"PK\x03\x04", "ZIP archive (or a document in one: docx, xlsx, odt, jar)"},
	{"\x1f\x8b", "gzip data"},
	{"BZh", "bzip2 data"},
	{"\xfd7zXZ\x00", "xz data"},
	{"\x28\xb5\x2f\xfd", "zstd data"},
	{"7z\xbc\xaf\x27\x1c", "7z archive"},
	{"\x7fELF", "ELF program"},
	{"MZ", "Windows program"},
	{"\xcf\xfa\xed\xfe", "macOS program"},
	{"\x00asm", "WebAssembly module"},
	{"SQLite format 3\x00", "SQLite database"},
	{"\xd0\xcf\x11\xe0", "old Office document"},
	{"OggS", "Ogg audio or video"},
	{"ID3", "MP3 audio"},
	{"fLaC", "FLAC audio"},
	{"RIFF????WAVE", "WAV audio"},
	{"RIFF????AVI ", "AVI video"},
	{"????ftyp", "MP4 or HEIF media"},
	{"\x1a\x45\xdf\xa3", "Matroska or WebM video"},
	{"BM", "BMP image"},
	{"II*\x00", "TIFF image"},
	{"MM\x00*", "TIFF image"},
	{"\x00\x00\x01\x00", "icon"},
	{"wOF2", "font"},
	{"wOFF", "font"},
}

// describe tells what a file that is no text seems to be.
func describe(path string, head []byte, bytes int64) string {
	kind := "binary data"
	for _, m := range magics {
		if hasMagic(head, m.magic) {
			kind = m.kind
			break
		}
	}
	head = head[:min(len(head), 32)]
	return fmt.Sprintf("%s is no text: %s, %s. It begins with the bytes % x.", path, kind, size(bytes), head)
}
