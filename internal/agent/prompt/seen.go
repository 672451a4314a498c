package prompt

import (
	"io/fs"
	"os"
	"sync"
	"time"
)

// seen keeps the text of files whose state is what it was when they were read.
// Opening and reading a file takes ten system calls, looking at it takes one.
type seen struct {
	mu    sync.Mutex
	files map[string]seenFile
}

type seenFile struct {
	info fs.FileInfo // as it was before the reading
	text string
}

// settled is for how long a file must have rested before it was read, so that
// any later change shows in its time: the coarsest clock of a file system in
// use (FAT) ticks every two seconds.
const settled = 3 * time.Second

// text returns what is kept of the file, if it is still the same file with the
// same time and size. Who sets those back on purpose is not found out.
func (s *seen) text(name string, now fs.FileInfo) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.files[name]
	if !ok || !os.SameFile(f.info, now) || !f.info.ModTime().Equal(now.ModTime()) || f.info.Size() != now.Size() || f.info.Mode() != now.Mode() {
		return "", false
	}
	return f.text, true
}

// keep remembers the text of a file that was read at a time after info was
// taken. A file that changed shortly before that, or in the future, is not
// kept.
func (s *seen) keep(name string, info fs.FileInfo, read time.Time, text string) {
	if read.Sub(info.ModTime()) < settled {
		s.forget(name)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]seenFile{}
	}
	s.files[name] = seenFile{info, text}
}

// forget drops what is kept of a file: the next one of that name may look the
// same from outside.
func (s *seen) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, name)
}
