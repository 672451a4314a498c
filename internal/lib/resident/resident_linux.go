package resident

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dropFilePages drops the pages of the program's file from memory, but not those
// of mappings in which something was written: they have no other copy.
func dropFilePages() error {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer f.Close()
	clean, err := cleanMappings(f, exe)
	if err != nil {
		return err
	}
	for _, m := range clean {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("drop pages of %s: %w", exe, errno)
		}
	}
	return nil
}

// mapping is a range of addresses.
type mapping struct{ start, end uintptr }

// cleanMappings are the mappings of the file exe, of those that smaps tells,
// that can't be written and hold nothing but what stands in the file.
// https://docs.kernel.org/filesystems/proc.html
func cleanMappings(smaps io.Reader, exe string) (clean []mapping, err error) {
	var m mapping // that is being read; empty when it is not one of these
	for lines := bufio.NewScanner(smaps); ; {
		if !lines.Scan() {
			return clean, lines.Err()
		}
		line := lines.Text()
		if key, value, _ := strings.Cut(line, ":"); strings.IndexByte(key, ' ') < 0 { // of the mapping: "Anonymous:  0 kB"
			if key == "Anonymous" && m != (mapping{}) && strings.TrimSpace(value) == "0 kB" {
				clean = append(clean, m)
			}
			continue
		}
		// A mapping begins: "00401000-01e6d000 r-xp 00001000 fe:00 1234  /usr/bin/goclaw"
		m = mapping{}
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasSuffix(line, " "+exe) || strings.Contains(fields[1], "w") {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 == nil && err2 == nil && start < end {
			m = mapping{uintptr(start), uintptr(end)}
		}
	}
}
