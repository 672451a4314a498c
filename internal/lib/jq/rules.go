package jq

import "strings"

// rule says what guards a call of a function.
type rule uint8

const (
	unknown  rule = iota
	free          // in proportion to one instruction
	outer         // goes through its input once, the parts aside
	whole         // works on all of its input and arguments
	render        // makes a text of all of its input and arguments
	order         // sorts its input
	orderBy       // sorts its input by what its argument gives
	adding        // add
	pairing       // compares all of its input with all of its argument
	joining       // join
	matching      // the first argument is a regular expression
	global        // and all its matches are sought
	putting       // and the second argument's results are put in
	letters       // explode
	fields        // split by a string
	rows          // transpose
	decoding      // reads a number or JSON
	index         // the first argument is an index
	path          // the first argument is a path
	stream        // the argument gives paths and values
	looking       // JOIN: an argument gives indexes
	format        // the first argument is the format of a time
)

// rules has every function of the language; one that is not here is refused,
// as is one that can't be guarded or has no meaning here: debug, halt_error,
// modulemeta.
var rules = func() map[string]rule {
	table := map[string]rule{}
	for r, names := range map[rule]string{
		free: `abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2 expm1
			fabs fdim floor fma fmax fmin fmod frexp gamma hypot j0 j1 jn ldexp lgamma log log10 log1p log2 logb modf
			nearbyint nextafter nexttoward pow remainder rint round scalb scalbln significand sin sinh sqrt tan tanh
			tgamma trunc y0 y1 yn infinite nan isfinite isinfinite isnan isnormal
			arrays booleans finites iterables normals nulls numbers objects scalars strings values type not toboolean
			all any first last isempty limit skip until while repeat range recurse select path empty halt builtins env
			has in startswith endswith input inputs
			gmtime localtime mktime now fromdate fromdateiso8601 todate todateiso8601`,
		outer: `length utf8bytelength keys reverse map map_values to_entries with_entries from_entries walk paths pick del
			tostream truncate_stream implode ascii_downcase ascii_upcase
			ltrim rtrim trim ltrimstr rtrimstr trimstr`,
		whole:    `flatten error bsearch min max IN INDEX delpaths combinations`,
		render:   `tojson tostring format`,
		order:    `sort unique`,
		orderBy:  `sort_by group_by unique_by min_by max_by`,
		adding:   `add`,
		pairing:  `contains inside index rindex indices`,
		joining:  `join`,
		matching: `test match capture`,
		global:   `scan splits`,
		putting:  `sub gsub`,
		letters:  `explode`,
		fields:   `split`,
		rows:     `transpose`,
		decoding: `tonumber fromjson`,
		index:    `nth`,
		path:     `getpath setpath`,
		stream:   `fromstream`,
		looking:  `JOIN`,
		format:   `strftime strflocaltime strptime`,
	} {
		for name := range strings.FieldsSeq(names) {
			table[name] = r
		}
	}
	return table
}()
