// What a script finds beside the language: tools and console. It runs before the script, which may change what it likes
// afterwards, so all that is used later is taken now. Between here and Go all texts are JSON.
(() => {
	'use strict'
	const { ask, wait, log } = globalThis.host
	delete globalThis.host
	const { parse, stringify } = JSON
	const { defineProperty, keys } = Object
	const { isView } = ArrayBuffer
	const { apply } = Reflect
	const { then } = Promise.prototype
	const { get: mapGet, set: mapSet, delete: mapDelete, forEach: mapForEach } = Map.prototype
	const { join } = Array.prototype
	const { indexOf, slice } = String.prototype
	const { has: setHas, add: setAdd } = WeakSet.prototype
	const { forEach: eachOf } = Set.prototype
	const { get: size } = Object.getOwnPropertyDescriptor(Map.prototype, 'size')
	const P = Promise, E = Error, T = TypeError, S = String, M = Map, Several = Set

	const waiting = new Map() // of requests without a reply, by their number
	const unheard = new Map() // from rejected promises that nobody listens to, to what was thrown
	const failures = new WeakSet() // what failed calls throw
	let asked = 0, state = 'pending', outcome

	const hidden = (o, name, value) => defineProperty(o, name, { __proto__: null, value, writable: true, configurable: true })

	const put = (o, name, value) => defineProperty(o, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true })

	// replaced is a value as JSON has it, where that would leave out what matters: errors, maps, sets, large and odd numbers.
	const replaced = (_, v) => {
		if (typeof v === 'bigint' || typeof v === 'number' && (v !== v || v === 1 / 0 || v === -1 / 0)) return S(v)
		if (typeof v !== 'object' || v === null) return v
		if (v instanceof E) {
			const o = { __proto__: null, name: S(v.name), message: S(v.message) }
			const names = keys(v)
			for (let i = 0; i < names.length; i++) put(o, names[i], v[names[i]])
			if (v.errors !== undefined) put(o, 'errors', v.errors)
			return o
		}
		const list = []
		if (v instanceof M) {
			let o = { __proto__: null }
			apply(mapForEach, v, [(value, key) => {
				if (typeof key !== 'string') o = undefined
				else if (o) put(o, key, value)
				put(list, list.length, [key, value])
			}])
			return o ?? list
		}
		if (v instanceof Several) {
			apply(eachOf, v, [(value) => put(list, list.length, value)])
			return list
		}
		if (isView(v) && v.length !== undefined) {
			for (let i = 0; i < v.length; i++) put(list, i, v[i])
			return list
		}
		return v
	}
	const json = (v) => stringify(v, replaced)

	// here is the place in the script that called us.
	const here = () => {
		const stack = S(new E().stack)
		const at = apply(indexOf, stack, ['script:'])
		return at < 0 ? '' : '\n    at ' + apply(slice, stack, [at, apply(indexOf, stack + '\n', ['\n', at])])
	}

	const text = (v, otherwise) => {
		if (typeof v !== 'string') throw new T(otherwise)
		return v
	}

	const request = (op, name, args) => {
		const id = ++asked
		const fault = apply(ask, `{"op":"${op}","id":${id},"name":${stringify(name)}${args === undefined ? '' : ',"args":' + args}}`, [])
		if (fault !== '') throw new T(fault)
		const a = { __proto__: null, call: op === 'call', settled: false, stack: here() }
		apply(mapSet, waiting, [id, a])
		return a
	}

	// settle takes a reply in.
	const settle = (reply) => {
		const r = parse(reply)
		const a = apply(mapGet, waiting, [r.id])
		if (a === undefined) throw new E(`a reply to nothing (${r.id})`)
		apply(mapDelete, waiting, [r.id])
		a.settled = true
		if (r.error !== undefined) {
			a.error = new E(r.error)
			apply(setAdd, failures, [a.error])
			hidden(a.error, 'stack', r.error + a.stack)
			if (a.reject) a.reject(a.error)
			return
		}
		a.value = r.value
		if (a.call) {
			const { text } = a.value
			hidden(a.value, 'toString', () => text)
		}
		if (a.resolve) a.resolve(a.value)
	}

	// now waits for an answer here and now.
	const now = (a) => {
		while (!a.settled) settle(apply(wait, '', []))
		if (a.error) throw a.error
		return a.value
	}

	const call = (name, args) => {
		text(name, 'tools.call takes the name of a tool and its arguments')
		const given = args === undefined || args === null ? '{}' : json(args)
		if (given === undefined) throw new T('the arguments of a tool are an object')
		const a = request('call', name, given)
		const promise = new P((resolve, reject) => {
			a.resolve = resolve
			a.reject = reject
		})
		// Whoever forgets to await it gets what the call returns all the same: its fields wait, and whoever waits there
		// learns of a failure there.
		const field = (name) => () => {
			try {
				return now(a)[name]
			} finally {
				apply(mapDelete, unheard, [promise])
			}
		}
		const getter = (name) => defineProperty(promise, name, { __proto__: null, get: field(name), enumerable: true })
		getter('tool')
		getter('status')
		getter('text')
		getter('data')
		defineProperty(promise, 'toString', { __proto__: null, value: field('text') })
		return promise
	}

	// shown is a value for people: texts as they are, objects as JSON.
	const shown = (v) => {
		if (typeof v !== 'object' || v === null || v instanceof E) return S(v)
		let words
		try {
			words = json(v)
		} catch {}
		return words === undefined ? S(v) : words
	}

	// told is what was thrown, and where. What is thrown may throw when it is asked for its text.
	const told = (v) => {
		const t = { __proto__: null, text: 'something that can\'t be written was thrown', stack: '' }
		try {
			if (typeof v === 'object' && v !== null) {
				t.text = S(apply(setHas, failures, [v]) ? v.message : shown(v))
				t.stack = S(v.stack)
			} else {
				t.text = S(v)
			}
		} catch {}
		return t
	}

	const ours = {
		search: (query) => now(request('search', text(query, 'tools.search takes a text to look for'))),
		describe: (name) => now(request('describe', text(name, 'tools.describe takes the name of a tool'))),
		call,
	}
	// A tool may be called by its name, too: tools.NAME({…}).
	globalThis.tools = new Proxy(ours, {
		__proto__: null,
		get: (_, name) => name in ours || typeof name !== 'string' || name === 'then' || name === 'toJSON' ? ours[name] : (args) => call(name, args),
	})
	const print = (...values) => {
		const words = []
		for (let i = 0; i < values.length; i++) hidden(words, i, shown(values[i]))
		apply(log, stringify(apply(join, words, [' '])), [])
	}
	globalThis.console = { log: print, info: print, warn: print, error: print, debug: print, trace: print, dir: print, table: print, group: print, groupEnd() {} }

	// What follows is called by Go.
	return {
		settle() { settle(S(this)) },
		// begin takes the promise of the script.
		begin() {
			if (!(this instanceof P)) throw new E('the script is no function but ' + typeof this)
			apply(then, this, [
				(v) => { state = 'done'; outcome = v },
				(e) => { state = 'failed'; outcome = e },
			])
		},
		// From a promise of what eval gives, these are promises of the value in it and of nothing.
		unwrap() { return apply(then, this, [(r) => r.value]) },
		drop() { return apply(then, this, [() => {}]) },
		state: () => `${state} ${apply(size, waiting, [])}`,
		rejected() { apply(mapSet, unheard, [this.promise, this.reason]) },
		heard() { apply(mapDelete, unheard, [this.promise]) },
		told() { return stringify(told(this.thrown)) },
		unheard() {
			const list = []
			apply(mapForEach, unheard, [(reason) => { if (list.length < 20) hidden(list, list.length, told(reason)) }])
			return stringify(list)
		},
		error: () => stringify(told(outcome)),
		value() {
			const value = json(outcome)
			return value === undefined ? '' : value
		},
	}
})()
