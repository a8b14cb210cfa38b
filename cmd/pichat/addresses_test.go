package main

import (
	"errors"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
	up := net.FlagUp
	cards := []net.Interface{
		{Index: 1, Name: "lo", Flags: up | net.FlagLoopback},
		{Index: 2, Name: "eth0", Flags: up},
		{Index: 3, Name: "wlan0", Flags: up},
		{Index: 4, Name: "docker0", Flags: up},
		{Index: 5, Name: "down0"},
		{Index: 6, Name: "gone0", Flags: up},
	}
	on := map[string][]string{
		"lo":      {"127.0.0.1/8", "::1/128"},
		"eth0":    {"192.168.1.20/24", "fe80::1/64", "2001:db8::20/64"},
		"wlan0":   {"fe80::2/64", "2001:db8::30/64", "2001:db8::31/64"},
		"docker0": {"172.17.0.1/16"},
		"down0":   {"192.168.1.21/24"},
	}
	addrs := func(i net.Interface) ([]net.Addr, error) {
		if i.Name == "gone0" {
			return nil, errors.New("gone")
		}
		var list []net.Addr
		for _, s := range on[i.Name] {
			ip, network, err := net.ParseCIDR(s)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, &net.IPNet{IP: ip, Mask: network.Mask})
		}
		return list, nil
	}
	tests := []struct {
		listener string
		want     []address
	}{
		{"[::]:8080", []address{{"http://127.0.0.1:8080/", true}, {"http://192.168.1.20:8080/", false}, {"http://[2001:db8::30]:8080/", false}}},
		{"0.0.0.0:80", []address{{"http://127.0.0.1/", true}, {"http://192.168.1.20/", false}}},
		{"127.0.0.1:9000", []address{{"http://127.0.0.1:9000/", true}}},
		{"192.168.1.20:8080", []address{{"http://192.168.1.20:8080/", false}}},
		{"[2001:db8::20]:80", []address{{"http://[2001:db8::20]/", false}}},
	}
	for _, tt := range tests {
		if got := addresses(netip.MustParseAddrPort(tt.listener), cards, addrs); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\n got %v\nwant %v", tt.listener, got, tt.want)
		}
	}
}

func TestQRCodeIsWhole(t *testing.T) {
	code, err := qrCode("http://192.168.1.20:8080/")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(code, "\n"), "\n")
	// 25 bytes at level M take 25 modules a side, and a border of 2 all around.
	if len(lines) != 15 || strings.Count(lines[0], "█") != 29 {
		t.Errorf("%d lines, first %q", len(lines), lines[0])
	}
}
