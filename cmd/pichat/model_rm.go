package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pichat/cmd/pichat/boot"
	"pichat/cmd/pichat/catalogue"
	"pichat/cmd/pichat/config"
	"pichat/cmd/pichat/fetch"
)

// modelRemove deletes a model file, in the folder of models alone.
func (a *app) modelRemove(c *config.ModelRm) error {
	dir, name := modelFolder(c.Folder), c.Name
	if e, ok := catalogue.Find(name); ok {
		name = e.File
	} else if in, base := filepath.Split(name); in != "" {
		if !sameFolder(in, dir) {
			return fmt.Errorf("%s is not in the folder of models, %s: only what is there is removed; --dir names another", c.Name, dir)
		}
		name = base
	}
	freed, err := fetch.Remove(dir, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no %s in %s: --dir names another folder", name, dir)
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s: removed, %s freed\n", filepath.Join(dir, name), boot.Bytes(freed))
	return err
}

// sameFolder reports whether two paths lead to one folder.
func sameFolder(a, b string) bool {
	real := func(p string) string {
		p, err := filepath.EvalSymlinks(p)
		if err == nil {
			p, err = filepath.Abs(p)
		}
		if err != nil {
			return ""
		}
		return p
	}
	return real(a) != "" && real(a) == real(b)
}
