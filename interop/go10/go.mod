module parley/interop/go10

go 1.26.0

toolchain go1.26.10

require (
	github.com/a2aproject/a2a-go/v2 v2.4.0
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/mod v0.35.0 // indirect
	golang.org/x/sync v0.20.0 // indirect
)

require parley/interop/check v0.0.0

replace parley/interop/check => ../check
