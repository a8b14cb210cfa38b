// Package static holds the page's stylesheet, modules and icons.
//
// The page loads them from /static/ and nothing from anywhere else.
package static

import "embed"

// Files are served as they are, by their names, under /static/. It may be
// read from any goroutine.
//
//go:embed *.css *.js *.svg
var Files embed.FS
