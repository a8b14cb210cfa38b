package main

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"rsc.io/qr"
)

// address is a place where a browser finds the page.
type address struct {
	url  string
	here bool // reaches this machine only
}

// addresses lists where a listener answers: this machine first, then the LAN
// by number, since names that end in .local fail on some phones. IPv4 comes
// before IPv6, which is left out where a machine has the shorter IPv4 on the
// same network card. An address of the machine's own that is none of a LAN
// (link-local, multicast) is left out.
func addresses(listener netip.AddrPort, interfaces []net.Interface, addrs func(net.Interface) ([]net.Addr, error)) []address {
	ip := listener.Addr().Unmap()
	if !ip.IsUnspecified() {
		return []address{{pageURL(ip, listener.Port()), ip.IsLoopback()}}
	}
	list := []address{{pageURL(netip.AddrFrom4([4]byte{127, 0, 0, 1}), listener.Port()), true}}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 || isBridge(i.Name) {
			continue
		}
		found, err := addrs(i)
		if err != nil {
			continue // a card that went away meanwhile
		}
		for _, ip := range reachable(found, ip.Is6()) {
			list = append(list, address{pageURL(ip, listener.Port()), false})
		}
	}
	return list
}

// bestFirst lists the URLs with those that others can use in front.
func bestFirst(list []address) []string {
	var network, here []string
	for _, a := range list {
		if a.here {
			here = append(here, a.url)
		} else {
			network = append(network, a.url)
		}
	}
	return append(network, here...)
}

// reachable picks the addresses of a network card that others can use.
func reachable(addrs []net.Addr, v6 bool) []netip.Addr {
	var four, six []netip.Addr
	for _, a := range addrs {
		prefix, err := netip.ParsePrefix(a.String())
		ip := prefix.Addr().Unmap()
		switch {
		case err != nil || !ip.IsGlobalUnicast():
		case ip.Is4():
			four = append(four, ip)
		case v6:
			six = append(six, ip)
		}
	}
	if len(four) > 0 {
		return four
	}
	return six[:min(1, len(six))] // cards often have several, temporary ones too
}

// isBridge tells the cards of containers and virtual machines by their names:
// nobody on the LAN reaches them.
func isBridge(name string) bool {
	return slices.ContainsFunc([]string{"docker", "veth", "br-", "virbr", "cni", "podman"}, func(p string) bool {
		return strings.HasPrefix(name, p)
	})
}

func pageURL(ip netip.Addr, port uint16) string {
	if port == 80 {
		if ip.Is6() {
			return "http://[" + ip.String() + "]/"
		}
		return "http://" + ip.String() + "/"
	}
	return "http://" + netip.AddrPortFrom(ip, port).String() + "/"
}

// qrCode draws text as a QR code out of half blocks, two rows of modules a
// line, with the quiet border that readers need. Light modules are drawn, so
// that it reads on a dark terminal; the colours are set, so that it reads on a
// light one as well.
func qrCode(text string) (string, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", err
	}
	const border = 2
	light := func(x, y int) bool { return !code.Black(x, y) } // outside of the code is light
	blocks := map[[2]bool]string{{true, true}: "█", {true, false}: "▀", {false, true}: "▄", {false, false}: " "}
	var b strings.Builder
	for y := -border; y < code.Size+border; y += 2 {
		b.WriteString("\x1b[97;40m")
		for x := -border; x < code.Size+border; x++ {
			below := light(x, y+1) && y+1 < code.Size+border
			b.WriteString(blocks[[2]bool{light(x, y), below}])
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String(), nil
}
