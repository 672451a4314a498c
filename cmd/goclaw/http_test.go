package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// The program "http" of the scripts asks the gateway of GOCLAW_HOME:
//
//	exec http [-token T] [-H 'Name: value'] [-d BODY | -f FILE] [-until TEXT] [-begun FILE] METHOD PATH
//
// It shows GOCLAW_TOKEN unless -token names another one, prints status, headers
// and body as they come, and fails for a status from 400 on. With -until it
// leaves as soon as a line holds TEXT, and fails when none does. With -begun it writes
// FILE when the answer has begun.

// httpMain runs it and returns the exit status.
func httpMain() int {
	if err := ask(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "http:", err)
		return 1
	}
	return 0
}

// headers is a flag that may be given several times.
type headers struct{ http.Header }

func (h headers) String() string { return "" }

func (h headers) Set(s string) error {
	name, value, ok := strings.Cut(s, ":")
	if !ok {
		return errors.New("want NAME: VALUE")
	}
	if strings.EqualFold(name, "Host") {
		name = "Host"
	}
	h.Add(name, strings.TrimSpace(value))
	return nil
}

func ask(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("http", flag.ContinueOnError)
	token := fs.String("token", os.Getenv("GOCLAW_TOKEN"), "the token; none when empty")
	data := fs.String("d", "", "the body")
	file := fs.String("f", "", "the file that is the body")
	until := fs.String("until", "", "leave at the line that holds this")
	begun := fs.String("begun", "", "the file to write when the answer has begun")
	h := headers{http.Header{}}
	fs.Var(h, "H", "a header")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() != 2 {
		return errors.New("want METHOD PATH")
	}
	at, err := gatewayAt(os.Getenv("GOCLAW_HOME"))
	if err != nil {
		return err
	}
	body := []byte(*data)
	if *file != "" {
		if body, err = os.ReadFile(*file); err != nil {
			return err
		}
	}
	r, err := http.NewRequest(fs.Arg(0), "http://"+at+fs.Arg(1), strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	if *token != "" {
		r.Header.Set("Authorization", "Bearer "+*token)
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range h.Header {
		r.Header[name] = values
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if *begun != "" {
		if err := os.WriteFile(*begun, nil, 0o600); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, resp.Proto, resp.Status)
	if err := resp.Header.Write(out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		fmt.Fprint(out, line)
		switch {
		case *until != "" && strings.Contains(line, *until):
			return nil
		case errors.Is(err, io.EOF) && *until != "":
			return fmt.Errorf("no line holds %q", *until)
		case errors.Is(err, io.EOF) && resp.StatusCode >= 400:
			return errors.New(resp.Status)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
