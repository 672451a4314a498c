//go:build !goclawtest

package testtools_test

var want []string
