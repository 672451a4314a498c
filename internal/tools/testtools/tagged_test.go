//go:build goclawtest

package testtools_test

var want = []string{"db_query", "db_schema", "db_write", "test_fail", "test_hang", "test_panic", "test_sleep"}
