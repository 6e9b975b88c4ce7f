import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createForeignCheck } from '../../src/lib/json-schema.ts'
import { withTimeLimit } from '../../src/lib/time-limit.ts'
import { openSite } from '../fixtures/daemon.ts'
import { assertPrompt, inTime } from '../fixtures/in-time.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const MCP_SERVER = join(ROOT, 'test/fixtures/mcp-server.mjs')

/** Patterns for which the native engine would need years on `BAIT`. */
const PATTERNS = ['^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '^(\\w+\\s?)*$', '(.*a){30}$']
/** The same with syntax that RE2 does not support. */
const UNSUPPORTED = ['^(?=a)(a+)+$', '^(a+)+\\1$', '(?<!b)^(a|a)*$']
const BAIT = `${'a'.repeat(60)}!`

/** A schema for each place that can have a pattern, and a value to check. */
const PLACES: Record<string, (pattern: string) => [schema: object, value: object]> = {
  property: (pattern) => [{ properties: { a: { pattern } } }, { a: BAIT }],
  'a list': (pattern) => [{ properties: { a: { items: { pattern } } } }, { a: [BAIT] }],
  'names of properties': (pattern) => [{ propertyNames: { pattern } }, { [BAIT]: 1 }],
  'properties by pattern': (pattern) => [
    { patternProperties: { [pattern]: { type: 'number' } } },
    { [BAIT]: 1 },
  ],
  'a definition': (pattern) => [
    { $defs: { d: { pattern } }, properties: { a: { $ref: '#/$defs/d' } } },
    { a: BAIT },
  ],
  'an alternative': (pattern) => [
    { properties: { a: { anyOf: [{ pattern }, { not: { pattern } }] } } },
    { a: BAIT },
  ],
  'a condition': (pattern) => [{ if: { properties: { a: { pattern } } }, else: {} }, { a: BAIT }],
  'contained items': (pattern) => [{ properties: { a: { contains: { pattern } } } }, { a: [BAIT] }],
  'unevaluated properties': (pattern) => [{ unevaluatedProperties: { pattern } }, { a: BAIT }],
}

const CASES = Object.entries(PLACES).flatMap(([place, make]) =>
  [...PATTERNS, ...UNSUPPORTED].map((pattern) => ({ place, pattern, case: make(pattern) })),
)

describe('an untrusted schema', () => {
  test('is checked quickly, wherever it has a pattern', async () => {
    for (const {
      place,
      pattern,
      case: [schema, value],
    } of CASES) {
      await inTime(`${pattern} in ${place}`, 2_500, () => createForeignCheck(schema)(value))
    }
  })

  test('is checked by RE2, without patterns that RE2 does not support', () => {
    const check = createForeignCheck({ properties: { a: { pattern: '^(a+)+$' }, b: { pattern: '^b' } } })
    assert.deepEqual(
      check({ a: BAIT, b: 'b' })?.map(({ path }) => path),
      [['a']],
    )
    assert.deepEqual(
      check({ a: 'aaa', b: 'c' })?.map(({ path }) => path),
      [['b']],
    )
    assert.equal(check({ a: 'aaa', b: 'b' }), undefined)
    const checkWithoutPattern = createForeignCheck({
      properties: { a: { pattern: '(?=b)b' }, n: { type: 'number' } },
      required: ['n'],
    })
    assert.deepEqual(
      checkWithoutPattern({ a: 'c' })?.map(({ path }) => path),
      [['n']],
    )
    assert.equal(checkWithoutPattern({ a: 'c', n: 1 }), undefined)
  })

  test('is checked quickly if it is large or doubles its references', async () => {
    const doubling = (depth: number) => ({
      $defs: Object.fromEntries(
        Array.from({ length: depth }, (_, level) => {
          const next = { $ref: `#/$defs/d${level + 1}` }
          return [`d${level}`, level + 1 < depth ? { allOf: [next, next] } : { type: 'string' }]
        }),
      ),
      properties: { a: { $ref: '#/$defs/d0' } },
    })
    const distinct = { properties: { a: { uniqueItems: true } } }
    const objects = Array.from({ length: 20_000 }, (_, index) => ({ index }))
    const wide = {
      allOf: Array.from({ length: 20_000 }, (_, n) => ({ properties: { [`p${n}`]: { minLength: n } } })),
    }
    await inTime('doubling references', 2_500, () => createForeignCheck(doubling(40))({ a: 'x' }))
    await inTime('twenty thousand distinct objects', 2_500, () =>
      createForeignCheck(distinct)({ a: objects }),
    )
    await inTime('a large schema', 2_500, () => createForeignCheck(wide)({ a: 1 }))
    const again = createForeignCheck(doubling(40))
    for (let count = 0; count < 3; count++) again({ a: 'x' })
    await inTime('a schema that took too long before', 50, () => again({ a: 'x' }))
  })

  test('withTimeLimit interrupts the native engine, and passes on results and errors', () => {
    assert.throws(() => withTimeLimit(50, () => /^(a+)+$/.test(BAIT)), {
      code: 'ERR_SCRIPT_EXECUTION_TIMEOUT',
    })
    // The limit is by the clock, and a busy machine may pause for longer than 50 ms.
    const LONG = 60_000
    assert.equal(
      withTimeLimit(LONG, () => withTimeLimit(LONG, () => 7)),
      7,
    )
    assert.throws(() => withTimeLimit(LONG, () => JSON.parse('{')), SyntaxError)
  })

  test('is compiled in one file only, also for MCP clients', () => {
    const files = globSync('{src,transports,skills}/**/*.ts', { cwd: ROOT })
    const withText = (pattern: RegExp) =>
      files.filter((file) => pattern.test(readFileSync(join(ROOT, file), 'utf8')))
    assert.deepEqual(withText(/\bajv\b|fromJsonSchema|fromJSONSchema|DefaultJsonSchemaValidator/), [
      'src/lib/json-schema.ts',
    ])
    const clients = withText(/new Client\(/).filter((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8')
      return text.includes('@modelcontextprotocol/client') && !text.includes('jsonSchemaValidator')
    })
    // Its client connects only for a login.
    assert.deepEqual(clients, ['src/cli/commands/mcp.ts'])
    assert.deepEqual(withText(/\.listTools\(/), [])
  })
})

describe('a daemon with a hostile MCP server', { timeout: 300_000 }, async () => {
  const tools = CASES.map(({ case: [schema] }, index) => ({
    name: `say-${index}`,
    inputSchema: { type: 'object', ...schema },
    outputSchema: { type: 'object', ...schema },
  }))
  const site = openSite({ routes: '' })
  site.write('tools.json', JSON.stringify(tools))
  const args = JSON.stringify([MCP_SERVER, join(site.dir, 'tools.json')])
  site.write('routes.yaml', `mcp:\n  hand: { command: ${JSON.stringify(process.execPath)}, args: ${args} }\n`)
  const daemon = await site.start()

  test('answers all calls of its tools within a minute', async () => {
    const began = performance.now()
    for (const [
      index,
      {
        case: [, value],
      },
    ] of CASES.entries()) {
      await daemon.invoke(`hand.say-${index}`, { ...value }).catch((error: unknown) => {
        assert.match(String(error), /skill_args_invalid/)
      })
    }
    await assertPrompt('the calls', performance.now() - began, 60_000)
    assert.ok(await daemon.get('/v1/status'))
  })
})
