// Command goclient is http.Get as the Go tutorial shows it. What it prints:
// see ../../doc.go, "Answers".
package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	for _, url := range os.Args[1:] {
		fmt.Println("url", url)
		if err := get(url); err != nil {
			fmt.Println("error", strings.Join(strings.Fields(err.Error()), " "))
		}
		fmt.Println("end")
	}
}

func get(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	fmt.Println("status", resp.StatusCode)
	_, reason, _ := strings.Cut(resp.Status, " ")
	fmt.Println("reason", reason)
	for name, values := range resp.Header {
		for _, value := range values {
			fmt.Printf("field %s: %s\n", name, value)
		}
	}
	fmt.Println("body", base64.StdEncoding.EncodeToString(body))
	return nil
}
