package spill

import (
	"strings"
	"unicode/utf8"
)

// sniffBinary is how many bytes decide whether something is text.
const sniffBinary = 4096

// isBinary reports whether s is no text: of its first bytes one in ten is a
// control character, or three in ten are no UTF-8 (text in an old encoding of
// Western Europe has fewer), or it begins as a known format does and has such
// bytes at all.
func isBinary(s string) bool {
	head := s[:min(len(s), sniffBinary)]
	controls, invalid := 0, 0
	for i := 0; i < len(head); {
		c := head[i]
		if c < utf8.RuneSelf {
			if c < ' ' && !strings.ContainsRune("\t\n\r\f\b\a\x1b", rune(c)) || c == 0x7f {
				controls++
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(head[i:])
		if r == utf8.RuneError && n == 1 && (len(head) == len(s) || i+utf8.UTFMax <= len(head)) {
			invalid++
		}
		i += n
	}
	if controls+invalid == 0 {
		return false
	}
	return controls*10 >= len(head) || invalid*10 >= 3*len(head) || binaryKind(s) != ""
}

// magic lists how formats begin. The names are for people and models.
var magic = []struct {
	at           int
	bytes, named string
}{
	{0, "\x89PNG\r\n\x1a\n", "PNG image"},
	{0, "\xff\xd8\xff", "JPEG image"},
	{0, "GIF87a", "GIF image"},
	{0, "GIF89a", "GIF image"},
	{8, "WEBP", "WebP image"},
	{0, "BM", "BMP image"},
	{0, "II*\x00", "TIFF image"},
	{0, "MM\x00*", "TIFF image"},
	{0, "\x00\x00\x01\x00", "icon"},
	{0, "%PDF-", "PDF document"},
	{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Microsoft Office document (old format)"},
	{30, "[Content_Types].xml", "Microsoft Office document"},
	{0, "PK\x03\x04", "ZIP archive"},
	{0, "PK\x05\x06", "ZIP archive (empty)"},
	{0, "\x1f\x8b", "gzip data"},
	{0, "\x28\xb5\x2f\xfd", "Zstandard data"},
	{0, "BZh", "bzip2 data"},
	{0, "\xfd7zXZ\x00", "xz data"},
	{0, "7z\xbc\xaf\x27\x1c", "7z archive"},
	{0, "Rar!\x1a\x07", "RAR archive"},
	{257, "ustar", "tar archive"},
	{0, "\x7fELF", "ELF program"},
	{0, "MZ", "Windows program"},
	{0, "\xcf\xfa\xed\xfe", "Mach-O program"},
	{0, "\xca\xfe\xba\xbe", "Java class or Mach-O program"},
	{0, "\x00asm", "WebAssembly module"},
	{0, "SQLite format 3\x00", "SQLite database"},
	{0, "ID3", "MP3 audio"},
	{0, "OggS", "Ogg audio or video"},
	{0, "fLaC", "FLAC audio"},
	{8, "WAVE", "WAV audio"},
	{8, "AVI ", "AVI video"},
	{4, "ftyp", "MP4 audio or video"},
	{0, "\x1aE\xdf\xa3", "Matroska or WebM video"},
	{0, "wOFF", "WOFF font"},
	{0, "wOF2", "WOFF2 font"},
	{0, "\xff\xfe\x00\x00", "UTF-32 text"},
	{0, "\xff\xfe", "UTF-16 text"},
	{0, "\xfe\xff", "UTF-16 text"},
}

// binaryKind names the format that s begins as, or is empty.
func binaryKind(s string) string {
	for _, m := range magic {
		if len(s) >= m.at && strings.HasPrefix(s[m.at:], m.bytes) {
			return m.named
		}
	}
	return ""
}

// describeBinary says what binary data is.
func describeBinary(s string) string {
	if kind := binaryKind(s); kind != "" {
		return kind
	}
	head := s[:min(len(s), sniffBinary)]
	controls := 0
	for i := range len(head) {
		if c := head[i]; c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			controls++
		}
	}
	if controls == 0 {
		return "text in an encoding that is not UTF-8"
	}
	return "of no recognised kind"
}

// dumpRow is how many bytes a line of a dump shows.
const dumpRow = 16

// dump writes bytes as hexadecimal numbers and as the ASCII they may be, 16 to
// a line, each line beginning with the offset of its first byte.
func dump(b *strings.Builder, data string, offset int) {
	const digits = "0123456789abcdef"
	for len(data) > 0 {
		row := data[:min(len(data), dumpRow)]
		data = data[len(row):]
		for shift := 28; shift >= 0; shift -= 4 {
			b.WriteByte(digits[offset>>shift&15])
		}
		b.WriteByte(' ')
		for i := range dumpRow {
			if i%8 == 0 {
				b.WriteByte(' ')
			}
			if i < len(row) {
				b.WriteByte(digits[row[i]>>4])
				b.WriteByte(digits[row[i]&15])
				b.WriteByte(' ')
			} else {
				b.WriteString("   ")
			}
		}
		b.WriteByte('|')
		for i := range len(row) {
			if c := row[i]; c >= ' ' && c < 0x7f {
				b.WriteByte(c)
			} else {
				b.WriteByte('.')
			}
		}
		b.WriteString("|\n")
		offset += len(row)
	}
}

// dumpWidth is the length of a full line of a dump, line feed included.
const dumpWidth = 8 + 1 + 2 + 3*dumpRow + 1 + dumpRow + 1 + 1
