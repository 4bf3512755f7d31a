package frontend

import (
	"fmt"
	"strings"

	"rsc.io/qr"

	"parley/frontend/view"
)

// quiet is the margin around a code, in modules (ISO/IEC 18004 asks for four).
const quiet = 4

// qrOf draws a text as a QR code; the zero value when it is too long for one.
func qrOf(text string) view.QR {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return view.QR{}
	}
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			n := 0
			for x+n < code.Size && code.Black(x+n, y) {
				n++
			}
			if n > 0 {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x+quiet, y+quiet, n, n)
				x += n
			}
		}
	}
	return view.QR{Size: code.Size + 2*quiet, Path: path.String()}
}
