//go:build !unix

package host

import (
	"context"
	"time"

	"pichat/sysmon"
)

// processTime is not known to us on systems without getrusage.
var processTime func(context.Context) sysmon.Reading[time.Duration]
