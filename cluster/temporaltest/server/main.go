// Command server is a Temporal server for tests: the whole of it, built from its own module, in one process, on loopback,
// everything in memory. It prints one line when it takes calls,
//
//	ready temporal=127.0.0.1:PORT namespace=NAME
//
// and ends with SIGTERM, or when its standard input closes, so that it never outlives the test that started it.
//
// Its task queues have one partition each instead of four: the tests have a queue for each store and a worker or two at it,
// and what lies in a partition where nobody asks is passed on at the cost of a call and of time.
//
// It is in a module of its own because a Temporal server needs some two hundred modules, and neither the program nor the
// cluster's own module shall ever name them.
package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/temporal"
	"go.temporal.io/server/temporaltest"
)

func main() {
	one := []dynamicconfig.ConstrainedValue{{Value: 1}}
	s := temporaltest.NewServer(temporaltest.WithBaseServerOptions(temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): []dynamicconfig.ConstrainedValue{{Value: true}}, // as temporaltest has it
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():      one,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key():     one,
	})))
	fmt.Printf("ready temporal=%s namespace=%s\n", s.GetFrontendHostPort(), s.GetDefaultNamespace())

	end := make(chan os.Signal, 2)
	signal.Notify(end, syscall.SIGTERM, os.Interrupt)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end <- syscall.SIGTERM
	}()
	<-end
	os.Exit(0) // nothing of it is kept: there is nothing to stop in good order
}
