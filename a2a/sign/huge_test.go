package sign_test

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"testing"

	"parley/a2a/sign"
)

// A card chooses whose keys are fetched for it. One of half a million bits would cost minutes for each signature.
func TestHugeKey(t *testing.T) {
	t.Parallel()
	for bits, ok := range map[int]bool{2040: false, 2048: true, 8192: true, 8200: false, 1 << 19: false} {
		n := make([]byte, bits/8)
		rand.Read(n)
		n[0], n[len(n)-1] = n[0]|0x80, n[len(n)-1]|1
		set := fmt.Sprintf(`{"keys":[{"kty":"RSA","alg":"RS256","kid":"k","e":"AQAB","n":%q}]}`, base64.RawURLEncoding.EncodeToString(n))
		if _, err := sign.ParseKeys([]byte(set)); (err == nil) != ok {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
}
