package code

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// boundMemory has the system refuse this process more memory than three times
// limit, in bytes, and room for a stack, beyond what it has now. That ends the process, and is for
// what asks for so much at once that nobody can look in between.
func boundMemory(limit int64) {
	now, ok := dataSize()
	if !ok {
		return
	}
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_DATA, &r) != nil {
		return
	}
	most := uint64(now + 3*limit + maxStack)
	if r.Max < most {
		most = r.Max
	}
	r.Cur, r.Max = most, most
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &r) // what is looked at in between bounds it as well
}

// dataSize is how much memory of its own the process has.
func dataSize() (int64, bool) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmData:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			return kb << 10, err == nil
		}
	}
	return 0, false
}
