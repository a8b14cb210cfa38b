//go:build carries

package handover

import _ "embed"

// carried is the other program, compressed by gzip. scripts/bundle.sh lays the file
// under this package by -overlay; it never stands in the source tree.
//
//go:embed inner.gz
var carried []byte
