module parley/build/assets

go 1.26.0

toolchain go1.26.10

require github.com/evanw/esbuild v0.28.2

require golang.org/x/sys v0.49.0 // indirect
