package wirelog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMaskBody(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                            ``,
		`plain text`:                  `plain text`,
		`{"a":"b","n":1.50}`:          `{"a":"b","n":1.50}`,
		`{"token":"s"}`:               `{"token":"[masked]"}`,
		`{ "Token" : "s" , "a":"b" }`: `{ "Token" : "[masked]" , "a":"b" }`,
		`{"accessToken":{"x":["s",{"y":"s"}]},"a":"b"}`: `{"accessToken":{"x":["[masked]",{"y":"[masked]"}]},"a":"b"}`,
		`{"password":null,"a":"b"}`:                     `{"password":null,"a":"b"}`,
		`{"token_count":7,"a":["b"]}`:                   `{"token_count":7,"a":["b"]}`,
		`{"client_secret":"a\"b\\","x":"y"}`:            `{"client_secret":"[masked]","x":"y"}`,
		`{"credentials":"s`:                             `{"credentials":"[masked]"`,
		`data: {"api_key":"s"}`:                         `data: {"api_key":"[masked]"}`,
		`{"x":"Bearer abcdefgh1"}`:                      `{"x":"[masked]"}`,
		`{"x":"Bearer of news"}`:                        `{"x":"Bearer of news"}`,
		`{"x":"Basic abcdefgh"}`:                        `{"x":"[masked]"}`,
		`grant_type=a&client_secret=s&x=1`:              `grant_type=a&client_secret=%5Bmasked%5D&x=1`,
		`["token","s"]`:                                 `["token","s"]`,
		`{"token":"s"}{"a":"b"}`:                        `{"token":"[masked]"}{"a":"b"}`,
		`{"text":"my token is \"x\" ok"}`:               `{"text":"my token is \"x\" ok"}`,
		`{"token":["s"],"a":{"b":"c"}}`:                 `{"token":["[masked]"],"a":{"b":"c"}}`,
		`{"url":"https:\/\/u:p@a.test\/h","a":"b"}`:     `{"url":"https://%5Bmasked%5D@a.test/h","a":"b"}`,
		`{"url":"https://a.test/h?n=1&token=s"}`:        `{"url":"https://a.test/h?n=1\u0026token=%5Bmasked%5D"}`,
		`{"url":"https://a.test/h?sig=s","b":"\u0041"}`: `{"url":"https://a.test/h?sig=%5Bmasked%5D","b":"\u0041"}`,
		`{"url":"https:\/\/a.test/?n=%41&m=<"}`:         `{"url":"https:\/\/a.test/?n=%41&m=<"}`,
		`code=s&x=1`:                                    `code=%5Bmasked%5D&x=1`,
	} {
		if got := string(maskBody([]byte(in))); got != want {
			t.Errorf("maskBody(%s)\n got %s\nwant %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"https://a.test/b?c=d":          "https://a.test/b?c=d",
		"https://u:p@a.test/":           "https://%5Bmasked%5D@a.test/",
		"https://a.test/?x=1&Api-Key=s": "https://a.test/?x=1&Api-Key=%5Bmasked%5D",
		"https://a.test/%zz?token=s":    "https://a.test/%zz",
		"%zz://u:p@a.test":              "a.test",
	} {
		if got := maskURL(in); got != want {
			t.Errorf("maskURL(%s) = %s, want %s", in, got, want)
		}
	}
	if d := cmp.Diff(`{"Accept":["1","2"],"X-Chosen":["[masked]"],"x-api-key":["[masked]"]}`, string(maskHeader(map[string][]string{"Accept": {"1", "2"}, "X-Chosen": {"s"}, "Unsent": nil, "x-api-key": {"s"}}))); d != "" {
		t.Errorf("header:\n%s", d)
	}
}

// FuzzMaskBody: whatever the bytes, what follows a secret name is gone, and JSON stays JSON of the same shape.
func FuzzMaskBody(f *testing.F) {
	for _, s := range []string{`{"a":"b"}`, `{"a":[`, `"`, `\`, `{"a":"\`, `a=b`, `[[[`, `}}}`, `{"token":{`, `,`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		kept := string(b)
		out := maskBody(b)
		if string(b) != kept {
			t.Fatal("the body of the record was changed")
		}
		if again := maskBody(out); string(again) != string(out) {
			t.Fatalf("masked %q, again %q", out, again)
		}
		const canary = "canary0123456789"
		body := `{"x":` + quoted(string(b)) + `,"password":"` + canary + `"}`
		if strings.Contains(string(maskBody([]byte(body))), canary) && !strings.Contains(string(b), canary) {
			t.Fatalf("a secret is left in %q", maskBody([]byte(body)))
		}
	})
}

// quoted is s as a JSON string.
func quoted(s string) string {
	b, _ := json.Marshal(s) // of a string
	return string(b)
}
