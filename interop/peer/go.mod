module parley/interop/peer

go 1.23.0
