package planner

// Data is data, for tests of what it promises.
var Data = data
