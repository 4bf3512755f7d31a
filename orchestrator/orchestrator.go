// Package orchestrator is the domain of Parley: the agents we know, the conversations a person has, the runs that carry
// requests out, their steps, the asks that only somebody else can answer, and the one log everything is appended to.
//
// It holds nouns and ports, no behaviour that does I/O. The arrows point down: a Run is carried out by a driver
// (package local), which decides with the pure reducer (engine), acts through steps, plans with planner and keeps
// everything in a Store (sqlite). Whatever is shown to anybody was committed before.
package orchestrator
