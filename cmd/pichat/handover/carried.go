//go:build pi_outer

package handover

import _ "embed"

// carried is the other program, compressed by gzip. scripts/pi.sh lays the file
// under this package by -overlay; it never stands in the source tree.
//
//go:embed inner.gz
var carried []byte
