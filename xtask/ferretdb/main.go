// A FerretDB server with its SQLite backend, for tests of the MongoDB client: no mongod is a Go module.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

const module = "github.com/FerretDB/FerretDB"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var config, bind, port, prefix, data, user, password string
	var version bool
	// Those of mongod, so that it is started as that is.
	flags := flag.NewFlagSet("ferretdb", flag.ContinueOnError)
	flags.StringVar(&config, "config", "", "configuration `FILE`, of which only setParameter is looked at")
	flags.Bool("nounixsocket", false, "make no socket by the port; it makes none")
	flags.StringVar(&bind, "bind_ip", "127.0.0.1", "`ADDRESS` to listen at, or the path of a Unix socket")
	flags.StringVar(&port, "port", "27017", "`PORT`; 0 takes a free one")
	flags.StringVar(&prefix, "unixSocketPrefix", "", "`DIR` of a Unix socket beside the port")
	flags.StringVar(&data, "dbpath", "", "`DIR` of the SQLite files")
	flags.StringVar(&user, "auth-user", "", "demand SCRAM authentication; create `NAME` in an empty DIR")
	flags.StringVar(&password, "auth-password", "", "that user's `PASSWORD`")
	flags.BoolVar(&version, "version", false, "print the version and end")
	if err := flags.Parse(os.Args[1:]); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}

	if version {
		fmt.Println("ferretdb", moduleVersion())
		return nil
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if data == "" {
		return errors.New("--dbpath is needed")
	}
	if err := checkParameters(config); err != nil {
		return err
	}
	listen, unix := net.JoinHostPort(bind, port), ""
	if strings.HasPrefix(bind, "/") {
		listen, unix = "", bind
	} else if prefix != "" {
		unix = filepath.Join(prefix, "mongodb-"+port+".sock")
	}
	if (user == "") != (password == "") {
		return errors.New("--auth-user and --auth-password go together")
	}
	dir, err := filepath.Abs(data)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}

	// Before the line that tells the caller it may signal.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: listen, Unix: unix},
		Handler:   "sqlite",
		SQLiteURL: (&url.URL{Scheme: "file", Path: dir + "/"}).String(),
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	if user != "" {
		if err := enableAuth(server, user, password); err != nil {
			return err
		}
	}

	address := unix
	if listen != "" {
		address = strings.Trim(strings.TrimPrefix(server.MongoDBURI(), "mongodb:"), "/")
	}
	fmt.Println("listening on", address)
	return server.Run(ctx)
}

// Those that mongod has and this server needs not.
var known = map[string]bool{"diagnosticDataCollectionEnabled": true, "ttlMonitorEnabled": true}

// A parameter that is not known is refused in mongod's words.
func checkParameters(config string) error {
	if config == "" {
		return nil
	}
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	var file struct {
		SetParameter map[string]string `json:"setParameter"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return err
	}
	for name := range file.SetParameter {
		if !known[name] {
			return fmt.Errorf("BadValue: Unknown --setParameter '%s'", name)
		}
	}
	return nil
}

func moduleVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version
		}
	}
	return "unknown"
}
