// Command sbom prints what a Go binary is made of, as CycloneDX in JSON: the
// modules that the linker has written into it, with the checksums of go.sum, and
// the Go that it was built with.
//
//	go -C tools run ./sbom heed 0.1.0 linux/amd64 /path/to/heed > heed.cdx.json
//
// There is neither a time nor a random number in it: the same binary has the same
// list.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 4 {
		return fmt.Errorf("usage: sbom NAME VERSION OS/ARCH BINARY")
	}
	bom, err := describe(args[0], args[1], args[2], args[3])
	if err != nil {
		return err
	}
	return cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
}

// describe reads a binary.
func describe(name, version, platform, path string) (*cdx.BOM, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading what %s was built of: %w", path, err)
	}
	octets, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the binary: %w", err)
	}
	sum := sha256.Sum256(octets)
	main := cdx.Component{
		BOMRef: "pkg:generic/" + name + "@" + version, Type: cdx.ComponentTypeApplication, Name: name, Version: version,
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Properties: &[]cdx.Property{{Name: "platform", Value: platform}},
	}
	std := cdx.Component{
		BOMRef: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"), Type: cdx.ComponentTypeLibrary,
		Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"),
	}
	std.PackageURL = std.BOMRef
	components := []cdx.Component{std}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := cdx.Component{
			BOMRef: "pkg:golang/" + m.Path + "@" + m.Version, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version,
		}
		c.PackageURL = c.BOMRef
		// go.sum's checksum is one of a list of files' checksums (h1), not of a file.
		if h1, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
			if raw, err := base64.StdEncoding.DecodeString(h1); err == nil {
				c.Properties = &[]cdx.Property{{Name: "go.sum:h1", Value: hex.EncodeToString(raw)}}
			}
		}
		components = append(components, c)
	}
	refs := make([]string, 0, len(components))
	for _, c := range components {
		refs = append(refs, c.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return bom, nil
}
