package guard

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

// neverOpened are strings that must not reach the program that opens links.
var neverOpened = []string{
	"", " ", "/", "//", "///", "//evil.example", "evil.example", "www.evil.example", "-", "-h", "--help", "-a Calculator", "--new-window=x",
	"file:///etc/passwd", "FILE:///etc/passwd", "file:C:/x", "smb://host/share", "nfs://host", "afp://host", "ftp://host", "sftp://host", "ssh://host", "telnet://host",
	`\\host\share`, `\\?\C:\x`, "//host/share", `C:\Windows\System32\calc.exe`, "C:/x", "/usr/bin/xcalc", "./x", "../x", "~/x",
	"javascript:alert(1)", "JavaScript:alert(1)", "vbscript:x", "data:text/html,x", "blob:http://x", "about:blank", "view-source:http://x", "chrome://settings", "ms-msdt:/id", "ms-settings:", "ms-word:ofe|u|http://x",
	"search-ms:query=x", "shell:startup", "mailto:a@b", "tel:1", "steam://run", "vscode://file/x", "x-apple.systempreferences:", "intent://x", "jar:http://x!/", "res://x", "mhtml:http://x", "wails://wails",
	"http:", "http:/", "http://", "http:evil.example", "https:///x", "http://:80", "http://?x", "http://#x", "http://-evil.example", "http://user@evil.example", "http://user:pass@evil.example",
	"http://evil.example\n", "\nhttp://evil.example", "http://evil.example\r\nX", "http://evil.example\x00", "http://evil.example\t", " http://evil.example", "http://evil.example ", "http://evil example", "http://evil.example\\@x", "http:\\\\evil.example",
	`http://evil.example"`, "http://evil.example'", "http://evil.example`id`", "http://$(id)", "http://evil.example;id", "http://evil.example|id", "http://evil.example&id", "http://<x>", "http://%2e%2e", "http://a%00b", "http://[::1", "http://a:b:c", "http://a:x", "HTTP//x",
}

func TestNeverOpened(t *testing.T) {
	t.Parallel()
	for _, s := range neverOpened {
		if got, err := SafeURL(s); !errors.Is(err, ErrURL) || got != "" {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	if len(neverOpened) < 60 {
		t.Errorf("only %d strings", len(neverOpened))
	}
}

func TestOpened(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://a.example":                    "https://a.example",
		"HTTPS://A.Example/X?q=1&r=2#f":        "https://a.example/X?q=1&r=2#f",
		"http://127.0.0.1:7420/#token=abc-_":   "http://127.0.0.1:7420/#token=abc-_",
		"http://[::1]:8080/":                   "http://[::1]:8080/",
		"https://bücher.example/ä":             "https://xn--bcher-kva.example/%C3%A4",
		"https://a.example/a%20b":              "https://a.example/a%20b",
		"https://a.example/$(id)?x=`id`":       "https://a.example/%24%28id%29?x=%60id%60",
		`https://a.example/?x="a"`:             "https://a.example/?x=%22a%22",
		"https://a.example/?x='a'&y=a|b;c!<d>": "https://a.example/?x=%27a%27&y=a%7Cb%3Bc%21%3Cd%3E",
		"https://a.example/{x}^":               "https://a.example/%7Bx%7D%5E",
	} {
		got, err := SafeURL(in)
		if err != nil || got != want {
			t.Errorf("SafeURL(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func FuzzSafeURL(f *testing.F) {
	for _, s := range neverOpened {
		f.Add(s)
	}
	f.Add("https://a.example/$(id)?x=`id`#y")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := SafeURL(s)
		if err != nil {
			return
		}
		u, err := url.Parse(got)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			t.Errorf("SafeURL(%q) = %q: %v", s, got, err)
		}
		if strings.ContainsAny(got, " \t\r\n\"'`<>|^{}$();\\\x00") {
			t.Errorf("SafeURL(%q) = %q", s, got)
		}
		if again, err := SafeURL(got); err != nil || again != got {
			t.Errorf("SafeURL(%q) = %q, and of that %q, %v", s, got, again, err)
		}
	})
}
