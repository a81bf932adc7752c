// Command git serves the bare repositories below a folder over HTTP, so that a GitOps engine in the cluster has something
// to pull from. It is the machine's own git behind a socket: what an engine sees is Git, not a copy of it.
//
// Reading only: tests push by path.
package main

import (
	"log"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: git ADDRESS FOLDER")
	}
	program, err := exec.LookPath("git")
	if err != nil {
		log.Fatal(err)
	}
	server := &cgi.Handler{
		Path: program,
		Args: []string{"http-backend"},
		Env:  []string{"GIT_PROJECT_ROOT=" + os.Args[2], "GIT_HTTP_EXPORT_ALL=1"},
	}
	log.Fatal(http.ListenAndServe(os.Args[1], server))
}
