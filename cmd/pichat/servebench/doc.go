// Package servebench measures what the served program costs beside the
// engine: time to listen, memory above a bare program with the same model, CPU
// while idle with a page open, and CPU while it answers. "make bench" runs it
// on bin/pichat.
package servebench
