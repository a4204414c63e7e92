package main

import (
	"reflect"
	"unsafe"

	"github.com/FerretDB/FerretDB/ferretdb"
)

// The embeddable package keeps its authentication to itself; the server's own command line sets these same fields
// before the handler is made. Between New and Run nobody is connected, so it is not too late.
func enableAuth(server *ferretdb.FerretDB, user, password string) error {
	listener := reflect.ValueOf(server).Elem().FieldByName("l").Elem()
	field := listener.FieldByName("NewListenerOpts").Elem().FieldByName("Handler")
	handler := field.UnsafePointer()
	opts := reflect.NewAt(field.Type().Elem(), handler).Elem().FieldByName("NewOpts").Elem()

	opts.FieldByName("EnableNewAuth").SetBool(true)
	opts.FieldByName("SetupDatabase").SetString("admin")
	opts.FieldByName("SetupUsername").SetString(user)
	// A struct of one private string.
	*(*string)(opts.FieldByName("SetupPassword").Addr().UnsafePointer()) = password

	initCommands(handler)
	return setup(handler)
}

//go:linkname initCommands github.com/FerretDB/FerretDB/internal/handler.(*Handler).initCommands
func initCommands(handler unsafe.Pointer)

//go:linkname setup github.com/FerretDB/FerretDB/internal/handler.(*Handler).setup
func setup(handler unsafe.Pointer) error
