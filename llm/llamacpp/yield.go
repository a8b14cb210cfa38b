package llamacpp

import _ "unsafe" // for go:linkname

// goyield is runtime.Gosched without the wake-up of another thread, which would
// cost as much as the yield saves. Of the runtime's internals it is one that Go
// keeps for users by this very name (go.dev/issue/67401).
//
//go:linkname goyield runtime.goyield
func goyield()
