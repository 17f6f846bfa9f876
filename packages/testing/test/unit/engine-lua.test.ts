import { describe, expect, it } from '@jest/globals'
import { Engine } from '../../src/engine/engine.js'
import { ErrorReply } from '../../src/engine/reply.js'

const engine = (): Engine => new Engine({ clock: { now: () => 1_732_365_600_123.456 }, runId: 'test' })
const run = (script: string, ...args: string[]): unknown =>
  engine().command(['eval', script, '1', 'key', ...args])
const value = (expression: string): unknown => run(`return ${expression}`)

const at = (told: string): string => `user_script:1: ${told}`

// Redis 7.0.15 answers this to the same.
describe('Lua 5.1 in the engine', () => {
  it.each([
    ['tostring(1732365600 * 1000000)', '1.7323656e+15'],
    ['tostring(123456789012345)', '1.2345678901234e+14'],
    ["10 / 2 .. ''", '5'],
    ['tostring(1 / 3)', '0.33333333333333'],
    ["7 % 3 .. ',' .. -7 % 3 .. ',' .. 7 % -3", '1,2,-2'],
    ["'10' + 5", 15],
    ['-2 ^ 2', -4],
    ['2 ^ 3 ^ 2', 512],
    ["1 .. 2 == '12'", 1],
    ["'Z' < 'a'", 1],
    ['not 1 == 2', null],
    ['nil and 1', null],
    ["tonumber('ff', 16)", 255],
    ["tonumber('12a')", null],
    ["string.format('%.0f %.0f %.0f', 0.5, 1.5, 2.5)", '0 2 2'],
    ["string.format('%06d', '123')", '000123'],
    ["string.format('%5.1f|%-4s|%x', 3.14159, 'ab', 255)", '  3.1|ab  |ff'],
    ["string.format('%d', 1e100)", '-9223372036854775808'],
    ["string.format('%x', -1e19)", '8000000000000000'],
    ["string.format('%u %u', 2^63, 2^64)", '9223372036854775808 0'],
    ["#string.format('%c', 0)", 0],
    ["#string.format('%s', 'a\\0b')", 1],
    ["#string.format('%s', string.rep('\\0', 100))", 100],
    ["#string.format('%c', 2^40 + 64)", 0],
    ['#{nil, 2}', 2],
    ['#{1, nil, 3, nil}', 1],
    ["tonumber('0x1f', 16)", 31],
    ["tonumber('6\\0x')", 6],
    ["tonumber('0x1f.8p2')", 126],
    ['tonumber(-1, 16)', -(2n ** 63n)],
    ["math.max(0, tonumber('nan'))", 0],
    ['math.abs(unpack({}) or -1, redis.sha1hex(1))', 1],
    ['redis.sha1hex(-2^63)', 'bc11feac22fa00807b79fc788a21302272ed3b8b'],
    ['redis.sha1hex(true)', 'da39a3ee5e6b4b0d3255bfef95601890afd80709'],
    ["string.match('', '^(x*)$', 9)", ''],
    ["#string.gsub(string.gmatch('a b', '^a')() or '', 'a', '')", 0],
    ["cjson.encode({[3] = 1, [5] = 'é'})", '[null,null,1,null,"Ã©"]'],
    ['cjson.encode({[1.5] = 1})', '{"1.5":1}'],
    ["cjson.decode('0x10') + cjson.decode('[1e2]')[1]", 116],
  ])('%s', (expression, answer) => {
    expect(value(expression)).toEqual(answer)
  })

  it.each([
    ["{string.find('hello', '(l)(.)')}", [3, 4, 'l', 'l']],
    ["{string.match('2:grant:ab', '^(%d+):(%a+):()')}", ['2', 'grant', 9]],
    ["{string.match('  x y ', '^%s*(.-)%s*$')}", ['x y']],
    ["{string.gsub('abc', '%w', '%0%0')}", ['aabbcc', 3]],
    ["{string.gsub('hello', '', '-')}", ['-h-e-l-l-o-', 6]],
    ["{string.match('THE (quick) fox', '%f[%a]%a+', 5)}", ['quick']],
    ["{string.match('f(a(b))', '%b()')}", ['(a(b))']],
    ["{string.byte('\\200a', 1, -1)}", [200, 97]],
    ['{unpack({1, 2, 3})}', [1, 2, 3]],
    ["{select('#', 1, nil, nil)}", [3]],
    ['{1, 2.9, -2.9, false, 3}', [1, 2, -2, null, 3]],
    ['{1, nil, 3}', [1]],
    ['{true, {2, {3}}}', [1, [2, [3]]]],
    ["{pcall(error, 'x')}", [null, 'x']],
    ["{pcall(function() error('x') end)}", [null, 'user_script:1: x']],
    ["{pcall(redis.call, 'get')}", [null, 'ERR Wrong number of args calling Redis command from script']],
  ])('%s', (expression, answer) => {
    expect(value(expression)).toEqual(answer)
  })

  it('has bytes for characters: an accent is two of them', () => {
    expect(value("#'é'")).toBe(2)
    expect(value("redis.sha1hex('é')")).toBe('bf15be717ac1b080b4f1c456692825891ff5073d')
  })

  it.each([
    ['local a, b = 1, 2 a, b = b, a return a .. b', '21'],
    ['local f = {} for i = 1, 3 do f[i] = function() return i end end return f[1]() + f[3]()', 4],
    ['local i = 0 repeat local j = i i = i + 1 until j >= 3 return i', 4],
    ["local s = '' for i = 10, 1, -3 do s = s .. i .. ',' end return s", '10,7,4,1,'],
    ['local t = {} function t:b(n) return self, n end return select(2, t:b(7))', 7],
    ['local function f(...) local a, b = ... return b end return f(1, 2)', 2],
    ['local n = 0 for _, v in pairs({a = 1, b = 2, 3}) do n = n + v end return n', 6],
    ['local t = {1, 2, 3} t[#t] = nil table.insert(t, 1, 9) return #t', 3],
    ['return #KEYS + #ARGV', 1],
  ])('%s', (script, answer) => {
    expect(run(script)).toEqual(answer)
  })

  it.each([
    ['local a = nil return a.b', at("attempt to index local 'a' (a nil value)")],
    ['local t = {} t.x.y()', at("attempt to index field 'x' (a nil value)")],
    ['return 1 + {}', at('attempt to perform arithmetic on a table value')],
    ["return 1 < 'a'", at('attempt to compare number with string')],
    ["return ('x'):foo()", at("attempt to call method 'foo' (a nil value)")],
    ['return 1 * (0 and ARGV[1])', at("attempt to perform arithmetic on field '?' (a nil value)")],
    ['local a return 1 * (a)', at("attempt to perform arithmetic on local 'a' (a nil value)")],
    ['error(1/3)', at('0.33333333333333')],
    ['error(not 1)', 'false'],
    ["return math.abs(unpack({}), 'x')", at("bad argument #1 to 'abs' (number expected, got nil)")],
    ["cjson.decode('[1,')", at('Expected value but found T_END at character 4')],
    ['cjson.decode(\'{"a" 1}\')', at('Expected colon but found T_NUMBER at character 6')],
    ['cjson.decode(\'"\\\\x"\')', at('Expected value but found invalid escape code at character 2')],
    ["unpack(cjson.decode('null'))", at("bad argument #1 to 'unpack' (table expected, got userdata)")],
    ["return cjson.decode('null').a", at('attempt to index a userdata value')],
    ["table.concat({1}, ',', 1e15)", at("invalid value (nil) at index -1530494976 in table for 'concat'")],
    ['unpack({}, 1, 9000)', at('too many results to unpack')],
    ['cjson.encode({[20] = 1})', at('Cannot serialise table: excessively sparse array')],
    ['\nfoo = 1', 'user_script:2: Attempt to modify a readonly table'],
    ['return foo', at("Script attempted to access nonexistent global variable 'foo'")],
  ])('%s fails as in Redis, with the line', (script, told) => {
    const answer = run(script) as ErrorReply
    expect(answer).toBeInstanceOf(ErrorReply)
    expect(answer.message).toContain(`ERR ${told} script: `)
    expect(answer.message).toMatch(/ script: [0-9a-f]{40}, on @user_script:\d\.$/)
  })

  it.each([
    ['return x +', "unexpected symbol near '<eof>'"],
    ['for', "'<name>' expected near '<eof>'"],
    ['break', "no loop to break near '<eof>'"],
    ['local a <const> = 1', "unexpected symbol near '<'"],
  ])('%s is refused when it is compiled', (script, told) => {
    expect(run(script)).toEqual(
      new ErrorReply(`ERR Error compiling script (new function): user_script:1: ${told}`),
    )
  })

  it('says so where a script uses what the engine does not have', () => {
    expect((run("return struct.pack('i', 1)") as ErrorReply).message).toContain(
      "The engine for tests has no 'struct'",
    )
  })
})
