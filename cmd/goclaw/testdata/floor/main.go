// Command floor is what a one-shot turn with a tool call can't be faster than:
// a bare program that makes the same two model calls with net/http, writes the
// file that the tool would write, and prints the answer.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	url, file := os.Args[1], os.Args[2]
	messages := []map[string]any{{"role": "user", "content": "go"}}
	for {
		body, err := json.Marshal(map[string]any{"model": "m", "stream": true, "messages": messages})
		check(err)
		resp, err := http.Post(url+"/chat/completions", "application/json", bytes.NewReader(body))
		check(err)
		answer, err := io.ReadAll(resp.Body)
		check(err)
		check(resp.Body.Close())
		if !bytes.Contains(answer, []byte("tool_calls")) {
			fmt.Println(len(answer))
			return
		}
		check(os.WriteFile(file, []byte("x"), 0o600))
		messages = append(messages,
			map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": "c", "type": "function", "function": map[string]any{"name": "file_write", "arguments": "{}"}}}},
			map[string]any{"role": "tool", "tool_call_id": "c", "content": "ok"})
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
