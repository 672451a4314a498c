package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// MaxWhole is the size in bytes up to which a file is read as a whole.
const MaxWhole = 10 << 20

// TooLarge says that a file is larger than [MaxWhole].
type TooLarge struct {
	Path string
	Size int64
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%s has %.1f MB, more than the %d MB that can be handled as a whole", quote(e.Path), float64(e.Size)/(1<<20), MaxWhole>>20)
}

// File is an open file of a workspace, for reading.
type File struct {
	*os.File
	Path string      // where it really is: relative to the workspace, without links
	Info fs.FileInfo // when it was opened
}

// Open opens the file name for reading; the caller closes it. It is a regular
// file within the workspace. Errors are [*NotFound], [*IsFolder], a
// [*tool.Refusal], or of the file system.
func (w *Workspace) Open(name string) (*File, error) {
	clean, err := w.Clean(name)
	if err != nil {
		return nil, err
	}
	for range maxTries {
		var p *place
		if p, err = w.locate(clean, true); err != nil {
			return nil, err
		}
		var f *os.File
		f, err = p.open()
		path, info := p.path(), p.info
		p.close()
		if err == nil {
			return &File{File: f, Path: path, Info: info}, nil
		}
		if !errors.Is(err, errMoved) {
			break
		}
	}
	return nil, err
}

// Content is a file read as a whole.
type Content struct {
	Path   string // where it really is
	Data   []byte
	Digest string
	Mode   fs.FileMode
}

// ReadFile reads the file name, which may have up to [MaxWhole] bytes; a larger
// one is a [*TooLarge].
func (w *Workspace) ReadFile(name string) (Content, error) {
	f, err := w.Open(name)
	if err != nil {
		return Content{}, err
	}
	defer f.Close()
	data, err := f.Whole()
	if err != nil {
		return Content{}, err
	}
	return Content{Path: f.Path, Data: data, Digest: digestBytes(data, f.Info), Mode: f.Info.Mode()}, nil
}

// Whole reads the rest of a file that was just opened; see [Workspace.ReadFile].
func (f *File) Whole() ([]byte, error) { return f.Append(nil) }

// Append is Whole into buf, which may be used again.
func (f *File) Append(buf []byte) ([]byte, error) {
	if f.Info.Size() > MaxWhole {
		return buf, &TooLarge{Path: f.Path, Size: f.Info.Size()}
	}
	b := bytes.NewBuffer(slices.Grow(buf, int(f.Info.Size())+bytes.MinRead))
	n, err := b.ReadFrom(io.LimitReader(f, MaxWhole+1))
	if err == nil && n > MaxWhole {
		err = &TooLarge{Path: f.Path, Size: n}
	}
	return b.Bytes(), err
}

// Digest identifies what the file holds. A file of up to [MaxWhole] bytes is
// read from the start and known by its content; a larger one is known by size
// and time of change. The position in the file is lost.
func (f *File) Digest() (string, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return digestOf(f.File, f.Info)
}

// Digest identifies content of up to [MaxWhole] bytes.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

func digestBytes(data []byte, info fs.FileInfo) string {
	if len(data) > MaxWhole {
		return stamp(info)
	}
	return Digest(data)
}

func digestOf(r io.Reader, info fs.FileInfo) (string, error) {
	if info.Size() > MaxWhole {
		return stamp(info), nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(r, MaxWhole+1)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func stamp(info fs.FileInfo) string {
	return fmt.Sprintf("stat:%d:%d", info.Size(), info.ModTime().UnixNano())
}

// Resolve tells where name really is: relative to the workspace, without links.
// It need not exist.
func (w *Workspace) Resolve(name string) (string, error) {
	clean, err := w.Clean(name)
	if err != nil {
		return "", err
	}
	p, err := w.locate(clean, true)
	if err != nil {
		return "", err
	}
	defer p.close()
	return p.path(), nil
}
