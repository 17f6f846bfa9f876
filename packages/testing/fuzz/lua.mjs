import { commandForScript } from './commands.mjs'

/** Text of Lua that is this text: each byte by its number. */
const quoted = (text) =>
  `'${[...text].map((sign) => `\\${String(sign.charCodeAt(0)).padStart(3, '0')}`).join('')}'`

const VALUES = [
  ...["'12'", "'1.5'", "' 7 '"],
  ..."'0x1f' 'x' '' 0 1 -1 2.5 -2.5 1e15 2^53 2^63 -2^63".split(' '),
  ..."1/3 123456789012 1e100 true false nil {} {1,2,3} {'a','b'} 1732365600123456".split(' '),
  ...["'a b c'", "'h~a:1'", "'2:grant:ff'", "'\\200\\255'", "'10'", "'1e3'", '#KEYS', 'ARGV[1]', 'KEYS[1]'],
]
const OPERATORS = ['+', '-', '*', '/', '%', '^', '..', '==', '~=', '<', '<=', '>', '>=', 'and', 'or']
const FORMATS = '%d %s %.0f %5.2f %g %.14g %.17g %x %06d %-5d| %5s| %e %q %c %% %i'.split(' ')
const PATTERNS = '%d+ ^(%w+):(%d+)$ (.-)%s [^:]+ %S+ ^%s*(.-)%s*$ () %f[%w]%w+ a* .-b [%a_]+ %b()'.split(' ')

/** An expression, mostly of the kinds that scripts of Holdfast have. @param {import('./words.mjs').Words} w */
const expression = (w, depth = 0) => {
  const inner = () => expression(w, depth + 1)
  if (depth > 2 || w.chance(0.3)) return w.pick(VALUES)
  return w.pick([
    () => `(${inner()} ${w.pick(OPERATORS)} ${inner()})`,
    () => `(${inner()} ${w.pick(OPERATORS)} ${inner()})`,
    // Not of a table: its address is another each time.
    () => `tostring(${w.pick(VALUES.filter((each) => !each.startsWith('{')))})`,
    () => `tonumber(${inner()})`,
    () => `tonumber(${inner()}, ${w.pick(['10', '16', '2', '36'])})`,
    () =>
      `math.${w.pick(['floor', 'ceil', 'abs', 'max', 'min', 'sqrt'])}(${inner()}${w.chance(0.4) ? `, ${inner()}` : ''})`,
    () => `string.format('${w.pick(FORMATS)}', ${inner()})`,
    () =>
      `string.${w.pick(['match', 'find', 'gsub', 'rep', 'byte', 'sub'])}(${inner()}, ${quoted(w.pick(PATTERNS))}${w.chance(0.4) ? `, ${w.pick(["'%0'", '1', '2', "'-'"])}` : ''})`,
    () =>
      `string.${w.pick(['len', 'upper', 'lower', 'reverse', 'byte', 'sub'])}(${inner()}${w.chance(0.5) ? `, ${w.place()}` : ''}${w.chance(0.3) ? `, ${w.place()}` : ''})`,
    () => `#${w.pick(["'abc'", '{1,2}', 'KEYS', inner()])}`,
    () => `-${inner()}`,
    () => `not ${inner()}`,
    () => `type(${inner()})`,
    () => `{${inner()}, ${inner()}}`,
    () => `cjson.encode(${inner()})`,
    () =>
      `cjson.decode(${w.pick(['\'[1,2.5,"a"]\'', '\'{"a":1}\'', "'null'", "'[1,'", "'1e3'", '\'"\\\\u00e9"\'', inner()])})`,
    () => `unpack(${w.pick(['{1,2,3}', 'KEYS', inner()])})`,
    () => `select(${w.pick(["'#'", '1', '2', '-1', '0'])}, ${inner()}, ${inner()})`,
    () => `table.concat(${w.pick(['{1,2,3}', 'KEYS', "{'a',{}}"])}, ${w.pick(["','", "''", inner()])})`,
    () => `redis.sha1hex(${inner()})`,
    () =>
      `redis.${w.pick(['error_reply', 'status_reply'])}(${w.pick(["'ERR no'", "'one'", "'MY error text'", "''", "'-X y'"])})`,
    () => `pcall(function() return ${inner()} end)`,
    () => `({${inner()}, a = ${inner()}})[${w.pick(['1', '2', "'a'", inner()])}]`,
  ])()
}

/** @param {import('./words.mjs').Words} w */
const callOf = (w) => {
  const words = commandForScript(w)
  // A moment has no place in a text that is the same each time.
  const args = words.map((word) => (typeof word === 'string' ? quoted(word) : '12345'))
  return `redis.${w.chance(0.5) ? 'pcall' : 'call'}(${args.join(', ')})`
}

/** The text of a script that does something by chance. @param {import('./words.mjs').Words} w */
export const luaFrom = (w) =>
  w.pick([
    () => `return ${expression(w)}`,
    () => `return {${expression(w)}, ${expression(w)}}`,
    () => `return ${callOf(w)}`,
    () => `return {${callOf(w)}, ${callOf(w)}}`,
    () => `local a = ${callOf(w)} if type(a) == 'table' then return {'table', a} end return {type(a), a}`,
    () => `local a, b = ${expression(w)}, ${expression(w)} if a then return b end return {b, a, #KEYS}`,
    () =>
      `local t = {} for i = ${w.place()}, ${w.place()} do t[#t + 1] = i * ${expression(w, 2)} end return t`,
    () => `local a = pcall(redis.call, 'get', ${quoted(w.key())}) return a`,
    () =>
      `local ok, err = pcall(function() return ${callOf(w)} end) return {ok, type(err) == 'table' and err.err or err}`,
    () =>
      `local n = 0 for _, v in ipairs({${expression(w, 1)}, ${expression(w, 1)}}) do n = n + 1 end return n`,
    () =>
      `for word in string.gmatch('a:1 b:2 c', ${quoted(w.pick(PATTERNS.filter((each) => each !== '()')))}) do redis.call('rpush', 'k:x', word) end return redis.call('lrange', 'k:x', 0, -1)`,
    () =>
      `local t = {3, 1, 2} table.${w.pick(['insert', 'remove'])}(t, ${w.pick(['1', '2', '3', '4'])}${w.chance(0.5) ? ', 9' : ''}) return t`,
    () => `return ${expression(w)} ${w.pick([')', '', 'end', '= 1'])}`,
    // Not a table without `err`: Redis 7.0 crashes. Not a text with line feeds: it sends them as they are.
    () => `error(${w.pick(VALUES.filter((each) => !/^\{|ARGV/.test(each)))})`,
    () => `error(redis.error_reply('${w.pick(['MY text', 'one', ''])}'))`,
  ])()
