package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pichat/cmd/pichat/catalogue"
	"pichat/cmd/pichat/config"
)

// modelFolder is the folder in which the commands about models work: the one
// that was asked for, else the installed service's where this user may write
// there, else models/ here. serve looks into all of these.
func modelFolder(f config.Folder) string {
	switch {
	case f.Dir != "":
		return f.Dir
	case f.Models != "" && unix.Access(f.Models, unix.W_OK|unix.X_OK) == nil:
		return f.Models
	}
	return "models"
}

// unknownModel says that no model bears the name, and which come near it.
func unknownModel(name string) error {
	near := ""
	for _, e := range catalogue.All() {
		if strings.Contains(e.Name, strings.ToLower(name)) || strings.HasPrefix(strings.ToLower(name), e.Name) {
			near += " " + e.Name
		}
	}
	if near != "" {
		near = "; near it are" + near
	}
	return fmt.Errorf("no model is called %q%s: `pichat model list` shows the names, and an address begins with https://", name, near)
}

// howToServe is what makes a server use a model file.
func howToServe(path string, f config.Folder) string {
	text := fmt.Sprintf("serve it:      pichat serve --model %s\n", shellWord(path))
	if f.Models != "" && filepath.Dir(path) == filepath.Clean(f.Models) {
		text += fmt.Sprintf("as a service:  set PICHAT_MODEL=%s in %s, then\n               sudo systemctl restart pichat\n", path, config.DefaultFile)
	}
	return text
}

// shellWord quotes a word where a shell would take it apart.
func shellWord(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:@%", r)
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
