import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatProblems } from '../../src/config/problem.ts'
import { createSource, MAX_FILE } from '../../src/config/source.ts'
import { isRecord, parseTree } from '../../src/config/yaml-tree.ts'
import fc from '../fixtures/fast-check.ts'
import { givenFile, read, told } from './given.ts'

const tooDeep = 'the file is nested deeper than 40 levels'
const laughs = ['a: &a0 [x, x, x, x, x, x, x, x, x, x]']
for (let i = 1; i < 9; i++) laughs.push(`b${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}*a${i - 1}]`)

describe('a broken file is told with its place', () => {
  const cases: [what: string, text: string | Buffer, expected: string[]][] = [
    [
      'tabs as indentation',
      'daemon:\n\tgrace: 1s\n',
      ['2:1 tabs are not allowed as indentation; use spaces'],
    ],
    [
      'a bracket that stays open',
      'gateways: [a\n',
      ['2:1 flow sequence in block collection must be sufficiently indented and end with a ]'],
    ],
    ['a quote that stays open', 'gateways: "a\n', ['2:1 missing closing "quote']],
    [
      'a colon inside a text',
      'model: a: b\n',
      ['1:8 a mapping cannot start in the middle of a line; is a ": " in an unquoted text?'],
    ],
    ['a tag', 'model: !!js/function x\n', ['1:8 unresolved tag: tag:yaml.org,2002:js/function']],
    [
      'a second document',
      'daemon: {}\n---\nroutes: []\n',
      ['2:1 a second document; the file must hold only one'],
    ],
    ['a key that is a list', '? [a]\n: b\n', ['1:3 a key must be plain text']],
    [
      'the key __proto__',
      'gateways:\n  __proto__: { transport: webhook, path: /p }\n',
      ['2:3 the key "__proto__" is not allowed'],
    ],
    ['an alias of nothing', 'routes: [*gone]\n', ['1:10 "*gone" refers to no anchor before it']],
    ['an alias of itself', 'routes: &r [*r]\n', ['1:13 "*r" refers to itself']],
    ['a merge of a text', 'daemon: { <<: x }\n', ['1:15 "<<" merges mappings only']],
    ['an alias bomb', laughs.join('\n'), ['5:20 the file holds more than 50000 values, aliases counted']],
    [
      'more values than a configuration has',
      `routes:\n${'- a\n'.repeat(60_000)}`,
      ['50000:3 the file holds more than 50000 values, aliases counted'],
    ],
    ['lists nested deeply', `routes: ${'['.repeat(41)}${']'.repeat(41)}`, [`1:49 ${tooDeep}`]],
    ['lists nested beyond the stack', `routes: ${'['.repeat(100_000)}${']'.repeat(100_000)}`, [tooDeep]],
    ['lists nested on one line', '- '.repeat(50_000), [tooDeep]],
    [
      'bytes that are not UTF-8',
      Buffer.from('daemon:\n  # caf\xe9\n', 'latin1'),
      ['2:8 the file is not UTF-8; save it as UTF-8 text'],
    ],
    [
      'UTF-16',
      Buffer.from('\ufeffdaemon:\n', 'utf16le'),
      ['1:1 the file is not UTF-8; save it as UTF-8 text'],
    ],
    [
      'a file over the limit',
      '#'.repeat(MAX_FILE + 1),
      [`is ${MAX_FILE + 1} bytes long; the limit is ${MAX_FILE}`],
    ],
    ['more routes than anybody writes', `routes:\n${'- {}\n'.repeat(501)}`, ['502:3 more than 500 routes']],
  ]
  for (const [what, text, expected] of cases) {
    test(what, async (t) => {
      const { problems, config } = await read(t, text)
      // Where the stack gives out is up to the machine.
      assert.deepEqual(
        told(problems).map((each) => (each.endsWith(tooDeep) && !expected.includes(each) ? tooDeep : each)),
        expected,
      )
      assert.equal(config, undefined)
    })
  }

  test('a folder in place of a file', async (t) => {
    const cwd = await givenFile(t, '')
    const { problems } = await read(t, '', { path: cwd })
    assert.deepEqual(told(problems), ['is not a file'])
  })
})

describe('a file as large as may be', () => {
  const fill = (line: (index: number) => string) => {
    let text = ''
    for (let i = 0; text.length < MAX_FILE - 100; i++) text += line(i)
    return text
  }
  for (const [what, text] of [
    ['of comments is fine', fill(() => '# nothing to see here\n')],
    ['of one text is read', `model: a:${'b'.repeat(MAX_FILE - 100)}\n`],
    ['of gateways is told briefly', `gateways:\n${fill((i) => `  g${i}: { transport: x }\n`)}`],
    ['of unknown keys is told briefly', fill((i) => `key${i}: value\n`)],
    ['of one key is told briefly', `${'k'.repeat(MAX_FILE - 100)}: 1\n`],
    ['of quotes is told briefly', '"'.repeat(MAX_FILE - 100)],
    ['of commas is told briefly', `[${','.repeat(MAX_FILE - 100)}`],
    ['of variables is told briefly', `model: "${fill(() => `\${A}`)}"\n`],
    ['of open variables is told briefly', `model: "${fill(() => `\${`)}"\n`],
  ] as const) {
    test(what, async (t) => {
      const { problems } = await read(t, text.slice(0, MAX_FILE))
      assert.ok(formatProblems(problems).length < 20_000)
    })
  }
})

test('duplicate keys are found in one pass, however many there are', () => {
  const { problems } = parseTree(createSource('x', 'a: 1\n'.repeat(20_000)))
  assert.equal(problems.length, 19_999)
  assert.equal(problems.at(-1)?.line, 20_000)
})

test('any text is read or refused with places inside of it, and nothing is thrown', async (t) => {
  const piece = fc.oneof(
    fc.constantFrom(
      ...[
        'gateways',
        'routes',
        'daemon',
        'model',
        'match',
        'name',
        'skill',
        'transport',
        'webhook',
        '__proto__',
      ],
      ...[
        ': ',
        ':\n  ',
        '\n',
        '\n  - ',
        '- ',
        '{',
        '}',
        '[',
        ']',
        ', ',
        '&a ',
        '*a',
        '<<: ',
        '? ',
        '| \n',
        '> ',
        '\t',
      ],
      ...[
        '"',
        "'",
        '#',
        '!!x ',
        '---\n',
        '...\n',
        '%YAML 1.1\n',
        `\${A}`,
        `$\${`,
        `\${`,
        '\0',
        '\r',
        '\u2028',
        '\ud800',
      ],
    ),
    fc.string({ unit: 'binary', maxLength: 8 }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
      const text = pieces.join('')
      const { config, problems } = await read(t, text)
      const lines = text.split('\n').length
      for (const { line = 1, column = 1 } of problems) assert.ok(line >= 1 && line <= lines && column >= 1)
      assert.equal(
        config === undefined,
        problems.some(({ severity }) => severity === 'error'),
      )
    }),
    { numRuns: 300 },
  )
})

test('any bytes are read or refused, and nothing is thrown', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), async (bytes) => {
      const { problems } = await read(t, bytes)
      assert.ok(problems.length > 0)
    }),
    { numRuns: 200 },
  )
})

test('any structure in the right sections is read or refused, and nothing is thrown', async (t) => {
  const key = fc.constantFrom(
    ...[
      'name',
      'match',
      'skill',
      'retry',
      'timeout',
      'args',
      'gateway',
      'transport',
      'path',
      'verify',
      'scheme',
    ],
    ...[
      'enabled',
      'constructor',
      'toString',
      '__proto__',
      'header.x',
      'data.a',
      'data.',
      'roles',
      'folders',
      'topics',
    ],
  )
  const leaf = fc.oneof(
    fc.constantFrom('webhook', 'github', 'auto', `\${A}`, '/(/', '*', '5s', '', null, true, 0, -1, 1e308),
    fc.string(),
  )
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      leaf,
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(key, tie('tree')),
    ),
  }))
  const section = fc.constantFrom('daemon', 'gateways', 'routes', 'access', 'model', 'skills')
  await fc.assert(
    fc.asyncProperty(fc.dictionary(section, tree), async (value) => {
      const { problems } = await read(t, JSON.stringify(value))
      for (const { message } of problems) assert.ok(message.length > 0 && !message.includes('[object'))
    }),
    { numRuns: 500 },
  )
})

test('what YAML holds is what comes out, own keys only', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value)
      const { tree, problems } = parseTree(createSource('x', text))
      if (text.includes('__proto__') || text.includes('"<<"')) return
      assert.deepEqual(problems, [])
      assert.deepEqual(plain(tree?.value), JSON.parse(text))
    }),
  )
})

/** -0 is 0 in JSON text. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (isRecord(value))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
  return Object.is(value, -0) ? 0 : value
}
