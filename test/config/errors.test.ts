import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { secretsOf, withMaskedSecrets } from '../../src/config/environment.ts'
import { loadConfig, readConfig } from '../../src/config/load-config.ts'
import { TriviumError } from '../../src/core/errors.ts'
import fc from '../fixtures/fast-check.ts'
import { read, textsOf, transports, writeConfig } from './given.ts'

const greeting = z.strictObject({
  text: z.string(),
  name: z.string().optional(),
  times: z.number(),
  lang: z.enum(['de', 'en']),
})
const skills = [
  { name: 'echo' },
  { name: 'greet', args: greeting },
  { name: 'pay', metadata: { approval: true } },
]

describe('an error in the configuration has a place and a suggestion', () => {
  // The format of the cases is at the top of mistakes.txt: indented lines are the configuration,
  // and `> ` has the beginning of an error.
  const [, ...cases] = readFileSync(new URL('mistakes.txt', import.meta.url), 'utf8').split(/\n\n(?=\S)/)
  for (const [title = '', ...lines] of cases.map((text) => text.trimEnd().split('\n'))) {
    test(title, async (t) => {
      const linesAfter = (prefix: string) =>
        lines.filter((line) => line.startsWith(prefix)).map((line) => line.slice(prefix.length))
      const { config, problems } = await read(t, `${linesAfter('    ').join('\n')}\n`, {
        skills,
        env: { EMPTY: '' },
      })
      const expected = linesAfter('> ')
      const shortened = textsOf(problems).map((line, index) => line.slice(0, expected[index]?.length))
      assert.deepEqual(shortened, expected)
      assert.equal(config, undefined)
    })
  }

  test('or the name of the variable, if it is in the environment', async (t) => {
    const env = { TRIVIUM_LISTEN: 'x', TRIVIUM_LOG_LEVEL: 'warning', TRIVIUM_MODEL: 'd' }
    const { problems } = await read(t, '', { env })
    const [listen, level, model] = textsOf(problems)
    assert.match(listen ?? '', /^TRIVIUM_LISTEN: expected host:port/)
    assert.match(level ?? '', /^TRIVIUM_LOG_LEVEL: expected one of .*; did you mean "warn"\?/)
    assert.match(model ?? '', /^TRIVIUM_MODEL: expected provider:model/)
  })

  test('and never the value of a variable, which may be a secret', async (t) => {
    const text = `gateways:\n  a: { transport: slack, mode: "\${S}", botToken: x }\n`
    const { problems } = await read(t, text, { env: { S: 'hunter2hunter2' } })
    assert.deepEqual(textsOf(problems), ['2:32 expected one of socket, http'])
  })

  test('and the text of a variable counts as a text where no number or boolean is expected', async (t) => {
    for (const value of ['7', 'true']) {
      const { problems } = await read(t, `routes:\n  - { name: a, skill: echo, retry: "\${R}" }\n`, {
        env: { R: value },
      })
      assert.deepEqual(textsOf(problems), ['2:36 expected object, received string'])
    }
  })
})

describe('unreachable routes', () => {
  const gateway = 'gateways:\n  demo: { transport: webhook, path: /d }\n'
  for (const [situation, first, second, isUnreachable] of [
    ['after a route without match', '{}', '{ event: push }', true],
    ['after a list with its values', '{ event: [push, tag] }', '{ event: tag }', true],
    ['after a wider glob', '{ from: "*@a.b" }', '{ from: ["Bob@a.b", "a*@A.b"] }', true],
    ['after the transport of its gateway', '{ transport: webhook }', '{ gateway: demo }', true],
    ['after a regex that matches its text', '{ text: /^re/ }', '{ text: refund }', true],
    ['after the same flag', '{ mention: true }', '{ mention: true, channel: c }', true],
    ['after a route with other keys', '{ gateway: demo, event: push }', '{ gateway: demo }', false],
    ['after a narrower glob', '{ from: "a*@a.b" }', '{ from: "*@a.b" }', false],
    ['after a glob that only overlaps', '{ from: "a*" }', '{ from: "*b" }', false],
    ['after one of its values', '{ event: push }', '{ event: [push, tag] }', false],
    ['after the other flag', '{ mention: true }', '{ mention: false }', false],
    ['after a longer prefix', '{ prefix: deploy now }', '{ prefix: deploy }', false],
    ['after one that excludes some', '{ not: { from: bot } }', '{ event: push }', false],
    ['after one that excludes the same', '{ not: { from: bot } }', '{ not: { from: bot }, event: a }', true],
    ['after one with hours', '{ hours: Mon-Fri }', '{ event: push }', false],
    ['after one with its hours', '{ hours: [Mon, Tue] }', '{ hours: Tue }', true],
  ] as const) {
    test(`a route is ${isUnreachable ? 'unreachable' : 'reachable'} ${situation}`, async (t) => {
      const text = `${gateway}routes:\n  - { name: a, skill: s, match: ${first} }\n  - { name: b, skill: s, match: ${second} }\n`
      const { problems } = await read(t, text)
      const expected = '5:13 unreachable route "b": "a" (line 4) already takes everything it matches'
      assert.deepEqual(textsOf(problems), isUnreachable ? [expected] : [])
    })
  }

  for (const [situation, first, last, unreachable] of [
    [
      'a last route without match, below a fallback for everything,',
      'fallback: true',
      '',
      '5:13 unreachable route "b": "a" (line 4)',
    ],
    [
      'a fallback below another for everything',
      'fallback: true',
      'fallback: true',
      '5:13 unreachable route "b": "a" (line 4)',
    ],
  ] as const) {
    test(`${situation} is unreachable`, async (t) => {
      const text = `${gateway}routes:\n  - { name: a, skill: s, ${first} }\n  - { name: b, skill: s, ${last} }\n`
      const { problems } = await read(t, text)
      assert.deepEqual(textsOf(problems), [`${unreachable} already takes everything it matches`])
    })
  }

  test('a fallback above a route for everything is unreachable, which is only a warning', async (t) => {
    const text = `${gateway}routes:\n  - { name: a, skill: s, fallback: true }\n  - { name: b, skill: s, fallback: false }\n`
    const { problems } = await read(t, text)
    assert.deepEqual(textsOf(problems), [])
    const expected = '4:13 unreachable route "a": "b" (line 5) already takes everything it matches'
    assert.deepEqual(textsOf(problems, 'warning'), [expected])
  })

  test('a fallback above a narrower route is reachable', async (t) => {
    const text = `${gateway}routes:\n  - { name: a, skill: s, fallback: true }\n  - { name: b, skill: s, match: { event: x } }\n`
    assert.deepEqual(textsOf((await read(t, text)).problems), [])
  })
})

test('warns about routes of a disabled gateway, and about a configuration without gateways or routes', async (t) => {
  const text = `gateways:\n  a: { transport: slack, botToken: "\${T}", enabled: auto }\nroutes:\n  - { name: r, match: { gateway: a }, skill: echo }\n`
  const { config, problems } = await read(t, text)
  assert.deepEqual(textsOf(problems, 'warning'), [
    '1:1 no gateway is started: messages can only come from the command line',
    '4:34 gateway "a" is not started: T is not set (enabled: auto)',
  ])
  assert.deepEqual(config?.warnings, problems)
  for (const empty of ['', '# nothing\n', 'gateways:\n']) {
    const [noGateway, noRoutes, ...others] = textsOf((await read(t, empty)).problems, 'warning')
    assert.match(noGateway ?? '', /no gateway is started/, empty)
    assert.match(noRoutes ?? '', /there are no routes/, empty)
    assert.deepEqual(others, [])
  }
})

test('an error hides warnings that it may have caused, and is in plain words', async (t) => {
  for (const [text, expected] of [
    ['gatways: {}\n', '1:1 unknown key "gatways"; did you mean "gateways"?'],
    ['- a\n', '1:1 expected a mapping with sections such as `gateways:` and `routes:`'],
    ['routes: []\nroutes: []\n', '2:1 this key exists above already: write each key once'],
    [
      'gateways:\n  a: { transport: webhook, path: /x\nroutes: []\n',
      '3:1 a "{" above is not closed, or this line must be indented more',
    ],
  ] as const) {
    const { problems } = await read(t, text)
    assert.deepEqual(textsOf(problems), [expected])
    assert.deepEqual(textsOf(problems, 'warning'), [])
  }
})

test('an error shows the file, the line and a caret under the column, for several mistakes', async (t) => {
  const cwd = await writeConfig(
    t,
    'daemon:\n  liste: x\nroutes:\n  - name: a\n    mach: {}\n    skill: echo\n',
  )
  await assert.rejects(loadConfig({ env: {}, cwd, transports }), (error) => {
    assert.ok(error instanceof TriviumError)
    assert.equal(error.code, 'config_invalid')
    const lines = [
      '  2 |   liste: x',
      '    |   ^',
      'routes.yaml:5:5  unknown key "mach"',
      '  5 |     mach: {}',
    ]
    for (const line of lines) assert.ok(error.message.includes(`\n${line}`), error.message)
    return true
  })
})

test('no error shows a secret from the file', async (t) => {
  const gateway = (verify: string) => `gateways:\n  a: { transport: webhook, path: /a, verify: ${verify} }\n`
  for (const [text, shown] of [
    [gateway('{ scheme: githb, secret: hunter2hunter2 }'), 'scheme: githb, secret: (secret) }'],
    [gateway('{ scheme: none, secret: "hunter2, hunter2", x: 1 }'), 'secret: "(secret)", x: 1'],
    [gateway('{ scheme: github, secret: [hunter2], x: 1 }'), 'secret: [(secret)], x: 1'],
    [gateway(`{ scheme: githb, secret: ["\${S}", "\${S}"] }`), `secret: ["\${S}", "\${S}"] }`],
    [gateway(`{ scheme: githb, secret: ["\${S}", hunter2] }`), `secret: ["\${S}", (secret)] }`],
    [gateway(`{ scheme: githb, secret: ["\${S:-hunter2}", "\${S}"] }`), `secret: ["(secret)", "\${S}"] }`],
    [
      gateway('{ scheme: githb }, api-url: "http://127.0.0.1:34709/api/", x: 1'),
      '"http://127.0.0.1:34709/api/"',
    ],
    ['model: { api-key: hunter2: hunter2 }\n', 'api-key: (secret) }'],
    ['daemon: { token: *hunter2 }\n', 'token: (secret) }'],
    ['daemon: { token: !hunter2 }\n', 'token: (secret) }'],
    ['daemon:\n  token: |hunter2\n', 'token: (secret)'],
    ['daemon:\n  token: > hunter2\n', 'token: (secret)'],
    ['daemon: { redis-url: "rediss:/redis://me:hunter2@host" }\n', '//me:(secret)@host'],
    ['gateways:\n  a:\n    transport: slack\n    botToken:\n      - hunter2\n', '- (secret)'],
    ['daemon:\n  token: ab,hunter2: x\n', 'token: (secret)'],
    ['tokens: [{ tokn: hunter2, token: "a\\"b,hunter2" }]\n', '[{ tokn: (secret), token: "(secret)" }]'],
    [`gateways:\n  a:\n    secret: |\n      a\n     ${'hunter2'.repeat(9)}\n`, '5 |      (secret)'],
    ['a: { headers: { authorization: Bearer hunter2, b: *c } }\n', 'authorization: (secret), b: *c'],
    [gateway('{ scheme: github, secret: [hunter2, hunter2 }'), 'secret: [(secret), (secret) }'],
    [
      gateway(`{ scheme: github, secret: ['hunter2', "hunter2", hunter2}`),
      `['(secret)', "(secret)", (secret)}`,
    ],
    [gateway('{ scheme: githb, secret: "hunter2"hunter2 }'), 'secret: "(secret)"(secret) }'],
    [gateway(`{ scheme: githb, secret: "\${S}" }`), `secret: "\${S}" }`],
  ] as const) {
    await assert.rejects(
      loadConfig({ env: { S: 's' }, cwd: await writeConfig(t, text), transports }),
      (error) => {
        const { message } = error instanceof TriviumError ? error : new Error()
        assert.ok(message.includes(shown) && !message.includes('hunter2'), message)
        return true
      },
    )
  }
})

test('errors that follow from one in the syntax are not listed beside it', async (t) => {
  const text = [
    'gateways:',
    '  a: { transport: webhook, path: /a, verify: { scheme: github, secret: [old, new } }',
    '  b: { transport: webhook, path: /b, verify: { scheme: none } }',
    '  c: { transport: webhook, path: /c, verify: { scheme: none } }',
    'routes:',
    '  - { name: a, match: { gateway: a }, skill: echo }',
    '',
  ]
  const { problems } = await read(t, text.join('\n'))
  const [{ line, message = '', excerpt = '' } = {}, ...others] = problems
  assert.deepEqual([line, others], [2, []])
  assert.match(message, /must be indented more \(what follows, lines? 3.*, may be due to this\)$/)
  assert.match(excerpt, /secret: \[\(secret\), \(secret\) \} \}\n/)
})

test('secrets among the arguments of a command are recognised and masked', () => {
  const file = {
    mcp: {
      a: {
        args: ['-v', '--token=hunter2', '--api-key', 'hunter3', 'plain-words'],
        env: { MY_KEY: 'hunter4' },
      },
    },
  }
  assert.deepEqual(secretsOf([], file).sort(), ['hunter2', 'hunter3', 'hunter4'])
  const shown = {
    a: {
      args: ['-v', '--token=[secret]', '--api-key', '[secret]', 'plain-words'],
      env: { MY_KEY: '[secret]' },
    },
  }
  assert.deepEqual(withMaskedSecrets(file), { mcp: shown })
})

describe('an unreadable file is an error', () => {
  // The "billion laughs" attack: few lines that expand to 10^9 values.
  const laughs = ['a: &a0 [x, x, x, x, x, x, x, x, x, x]']
  for (let i = 1; i < 9; i++) laughs.push(`b${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}*a${i - 1}]`)
  for (const [title, text, expected] of [
    ['if an alias expands too often', laughs.join('\n'), /Excessive alias count/i],
    ['if it is nested too deeply', `routes: ${'['.repeat(100_000)}`, /too deep|call stack/],
    ['if it is not UTF-8', Buffer.from('daemon:\n  # caf\xe9\n', 'latin1'), /utf-8/],
  ] as const) {
    test(title, async (t) => {
      const { config, problems } = await read(t, text)
      assert.equal(config, undefined)
      assert.match(textsOf(problems).join('\n'), expected)
    })
  }

  test('if it is a folder or missing, with a hint', async (t) => {
    const cwd = await writeConfig(t, '')
    assert.match(textsOf((await read(t, '', { path: cwd })).problems).join(), /cannot be read/)
    const { problems } = await read(t, '', { path: 'missing.yaml' })
    assert.match(textsOf(problems).join(), /there is no such file; `trivium init` creates one/)
    assert.equal(problems[0]?.file, 'missing.yaml')
  })
})

describe('any content is read or refused with a place in the file, without an exception', () => {
  const words = 'gateways: routes: daemon: match skill transport webhook __proto__ constructor'.split(' ')
  const marks = [': ', '\n', '\n  - ', '{', '}', '[', ']', ', ', '&a ', '*a', '<<: ', '? ', '"', '#', '---\n']
  const odd = ['!!x ', '%YAML 1.1\n', `\${A}`, `$\${`, `\${`, '\t', '\0', '\r', '\ud800']
  const text = fc
    .array(fc.constantFrom(...words, ...marks, ...odd), { maxLength: 40 })
    .map((parts) => parts.join(''))
  const names = 'name match skill retry args gateway transport path verify scheme enabled roles topics'.split(
    ' ',
  )
  const key = fc.constantFrom(...names, 'constructor', '__proto__')
  const values = [fc.constantFrom('webhook', 'auto', `\${A}`, '/(/', '*', '5s', null, true, -1), fc.string()]
  const tree = fc.anything({ key, values, maxDepth: 4 })
  const section = fc.constantFrom('daemon', 'gateways', 'routes', 'access', 'model', 'skills')
  const structure = fc.dictionary(section, tree).map((value) => JSON.stringify(value))

  for (const [kind, contents] of Object.entries({
    text,
    bytes: fc.uint8Array({ maxLength: 60 }),
    structure,
  })) {
    test(kind, async (t) => {
      const cwd = await writeConfig(t, '')
      await fc.assert(
        fc.asyncProperty(contents, async (content: string | Uint8Array) => {
          await writeFile(join(cwd, 'routes.yaml'), content)
          const { config, problems } = await readConfig({ env: {}, cwd, transports })
          const lines = Buffer.from(content).toString().split('\n').length
          for (const { line = 1, column = 1, message } of problems) {
            assert.ok(line >= 1 && line <= lines && column >= 1)
            assert.ok(message.length > 0 && !message.includes('[object'))
          }
          assert.equal(config === undefined, textsOf(problems).length > 0)
        }),
        { numRuns: 100 },
      )
    })
  }
})

test('addresses are shown, although the name of their key is like that of a secret', () => {
  const slack = {
    'api-url': 'http://127.0.0.1:9/api/',
    'api-keyy': 'abcdef',
    'token-url': 'https://a.example',
  }
  const shown = { ...slack, 'api-keyy': '[secret]', 'token-url': '[secret]' }
  assert.deepEqual(withMaskedSecrets(slack), shown)
})

test('the credentials after a scheme are secret without it, but no word of a password', () => {
  const file = { token: 'Bearer abc123xyz', secret: 'Splunk-Key abcdefghijklmnop', password: 'open sesame' }
  assert.deepEqual(secretsOf([], file).sort(), [
    'Bearer abc123xyz',
    'Splunk-Key abcdefghijklmnop',
    'abc123xyz',
    'abcdefghijklmnop',
    'open sesame',
  ])
})
