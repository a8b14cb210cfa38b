// Package licences holds the licence texts of the software that pichat links,
// which every copy of the program has to carry.
package licences

import _ "embed"

// Text is an inventory of what is linked, followed by each licence in full:
// plain UTF-8 of about 100 kB, for `pichat version --licences`. It is written
// by `make licences`; `make test` fails when the inventory is not current.
//
//go:embed third_party.txt
var Text string
