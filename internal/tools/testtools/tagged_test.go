//go:build goclawtest

package testtools_test

var want = []string{"test_fail", "test_hang", "test_panic", "test_sleep"}
