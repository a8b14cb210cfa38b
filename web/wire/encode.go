package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode writes a frame as JSON. Markup keeps its angle brackets: in a
// websocket nothing reads JSON as HTML, and escaping them would make most
// frames half as large again.
func Encode(frame any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(frame); err != nil {
		return nil, fmt.Errorf("encode %T: %w", frame, err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
