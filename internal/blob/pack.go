package blob

import (
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/s2"
)

// Packed content begins with a byte that says how it was packed.
const (
	packedRaw = 'r'
	packedS2  = 's'
)

// smallest is the size in bytes below which packing isn't worth its time.
const smallest = 256

// Pack is data as a [Store] keeps it: it compresses data where that makes it smaller. S2 was measured against
// Zstandard and Deflate at their fastest, on JSON: it takes a third of the time
// of the one and a twentieth of the other's (7 µs for 10 KB, 6 ms for 5 MB),
// for a quarter of the size where they come to a seventh; and it keeps neither
// memory nor state, so that a process which stores nothing pays nothing.
func Pack(data []byte) []byte {
	if n := s2.MaxEncodedLen(len(data)); len(data) >= smallest && n > 0 && n < math.MaxInt32 {
		out := make([]byte, 1+n)
		out[0] = packedS2
		out = out[:1+len(s2.Encode(out[1:], data))]
		if len(out) < len(data) {
			return out
		}
	}
	return append(append(make([]byte, 0, len(data)+1), packedRaw), data...)
}

// Unpack is the inverse of [Pack]; size is what comes out.
func Unpack(packed []byte, size int64) ([]byte, error) {
	if len(packed) == 0 {
		return nil, errors.New("unpack content: nothing is stored")
	}
	data := packed[1:]
	switch packed[0] {
	case packedRaw:
	case packedS2:
		n, err := s2.DecodedLen(data)
		if err != nil || int64(n) != size {
			return nil, fmt.Errorf("unpack content: %d bytes, expected %d, %v", n, size, err)
		}
		if data, err = s2.Decode(nil, data); err != nil {
			return nil, fmt.Errorf("unpack content: %w", err)
		}
	default:
		return nil, fmt.Errorf("unpack content: unknown packing %q", packed[0])
	}
	if int64(len(data)) != size {
		return nil, fmt.Errorf("unpack content: %d bytes, expected %d", len(data), size)
	}
	return data, nil
}
