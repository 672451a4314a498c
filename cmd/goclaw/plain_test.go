//go:build !goclawtest

package main

const testTools = false
