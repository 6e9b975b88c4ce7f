import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { loadConfig } from '../../src/config/load-config.ts'
import { TriviumError } from '../../src/core/errors.ts'
import { type Given, givenFile, read, told, transports } from './given.ts'

const greeting = z.strictObject({
  text: z.string(),
  name: z.string().optional(),
  times: z.number(),
  lang: z.enum(['de', 'en']),
})
const skills = [
  { name: 'echo' },
  { name: 'summarize-push' },
  { name: 'greet', args: greeting },
  { name: 'pay', metadata: { approval: true } },
]
const demo = 'gateways:\n  demo: { transport: webhook, path: /d }\n'

type Case = [what: string, text: string, expected: string[], given?: Given]

const cases: Case[] = [
  ['an unknown section', 'route: []\n', ['1:1 unknown key "route"; did you mean "routes"?']],
  [
    'an unknown key of a route',
    'routes:\n  - name: a\n    mach: { event: push }\n    skill: echo\n',
    ['3:5 unknown key "mach"; did you mean "match"?'],
  ],
  [
    'an unknown match key',
    'routes:\n  - name: a\n    match: { subjec: x }\n    skill: echo\n',
    ['3:14 unknown key "subjec"; did you mean "subject"?'],
  ],
  [
    'a match key that lacks its rest',
    'routes:\n  - name: a\n    match: { data: x }\n    skill: echo\n',
    ['3:14 unknown key "data"; write data.PATH, such as data.body.action'],
  ],
  [
    'an unknown key of a gateway, also where its schema is not strict',
    'gateways:\n  a: { transport: websocket, path: /a, pot: 1 }\n',
    ['2:40 unknown key "pot"; did you mean "port"?'],
  ],
  [
    'an unknown key inside a gateway',
    'gateways:\n  a:\n    transport: webhook\n    path: /a\n    verify: { scheme: github, secrt: x }\n',
    ['5:13 missing key "secret"', '5:31 unknown key "secrt"; did you mean "secret"?'],
  ],
  [
    'an unknown key of the daemon',
    'daemon:\n  liste: x\n',
    ['2:3 unknown key "liste"; did you mean "listen"?'],
  ],
  [
    'a key that is like no other',
    'routes:\n  - { name: a, skill: echo, retry: { zzzzzz: 1 } }\n',
    ['2:38 unknown key "zzzzzz"; known: attempts, backoff, delay, max-delay'],
  ],
  ['a wrong type', 'routes:\n  - { name: a, skill: 5 }\n', ['2:23 expected text, not 5']],
  [
    'a list where a mapping belongs',
    'gateways: [a]\n',
    ['1:11 expected a mapping: the name of each gateway, then its settings'],
  ],
  [
    'a mapping where a list belongs',
    'routes: { a: 1 }\n',
    ['1:9 expected a list of routes: each starts with "- name:"'],
  ],
  [
    'a text where a mapping belongs',
    'gateways:\n  a: webhook\n',
    ['2:6 expected a mapping with at least `transport`'],
  ],
  [
    'a file that is no mapping',
    '- 1\n',
    ['1:1 expected a mapping with the sections daemon, gateways, routes, access, model, skills'],
  ],
  ['a missing key', 'routes:\n  - name: a\n', ['2:5 missing key "skill"']],
  ['a missing transport', 'gateways:\n  a: { path: /a }\n', ['2:6 missing key "transport"']],
  [
    'an unknown transport',
    'gateways:\n  a: { transport: webhok }\n',
    ['2:19 unknown transport "webhok"; did you mean "webhook"?'],
  ],
  [
    'a word that is not one of several',
    'gateways:\n  a: { transport: slack, mode: sockt, botToken: x }\n',
    ['2:32 expected one of socket, http, not "sockt"; did you mean "socket"?'],
  ],
  [
    'an unknown variant',
    'gateways:\n  a: { transport: webhook, path: /a, verify: { scheme: gihub } }\n',
    ['2:56 expected one of none, github, not "gihub"; did you mean "github"?'],
  ],
  [
    'a bad name of a gateway',
    'gateways:\n  "a b": { transport: webhook, path: /a }\n',
    ['2:3 bad name "a b": a gateway\'s name has letters, digits, and _ . - inside'],
  ],
  [
    'a bad path',
    'gateways:\n  a: { transport: webhook, path: a }\n',
    ['2:34 expected a path that starts with /, not "a"'],
  ],
  [
    'a duplicate key',
    'daemon:\n  grace: 1s\n  grace: 2s\n',
    ['3:3 duplicate key "grace"; it is already on line 2'],
  ],
  [
    'a route to a skill that is missing',
    'routes:\n  - { name: a, skill: ehco }\n',
    ['2:23 there is no skill "ehco"; did you mean "echo"?'],
    { skills },
  ],
  [
    'arguments that the skill does not take',
    'routes:\n  - name: a\n    skill: greet\n    args: { times: many, lang: xx, nmae: x }\n',
    [
      '4:20 expected a number, not "many"',
      '4:32 expected one of de, en, not "xx"',
      '4:36 unknown key "nmae"; did you mean "name"?',
    ],
    { skills },
  ],
  [
    'an answer by a skill that is missing',
    'gateways:\n  t: { transport: slack, botToken: x, answers: { who: ehco, "report*": echo } }\n',
    ['2:55 there is no skill "ehco"; did you mean "echo"?'],
    { skills },
  ],
  [
    'an answer by a skill that waits for an approval',
    'gateways:\n  t: { transport: slack, botToken: x, answers: { pay: pay } }\n',
    ['2:55 skill "pay" waits for an approval, and whoever is answered here waits for seconds only'],
    { skills },
  ],
  [
    'a route from a gateway that is missing',
    `${demo}routes:\n  - { name: a, match: { gateway: dmo }, skill: echo }\n`,
    ['4:34 there is no gateway "dmo"; did you mean "demo"?'],
  ],
  [
    'a gateway that is missing, in a list',
    `${demo}routes:\n  - { name: a, match: { gateway: [demo, x] }, skill: echo }\n`,
    ['4:41 there is no gateway "x"; known: demo'],
  ],
  [
    'a glob that no gateway matches',
    `${demo}routes:\n  - { name: a, match: { gateway: "x*" }, skill: echo }\n`,
    ['4:34 no gateway matches "x*"'],
  ],
  [
    'a route from a transport that is missing',
    'routes:\n  - { name: a, match: { transport: slak }, skill: echo }\n',
    ['2:36 there is no transport "slak"; did you mean "slack"?'],
  ],
  [
    'a gateway of another transport',
    `${demo}routes:\n  - { name: a, match: { gateway: demo, transport: slack }, skill: echo }\n`,
    ['4:51 nothing can match: gateway "demo" is a webhook'],
  ],
  [
    'a name that is missing behind another mistake',
    'routes:\n  - { name: a, skill: ehco, timeout: x, match: { gateway: g } }\n',
    [
      '2:23 there is no skill "ehco"; did you mean "echo"?',
      '2:38 expected a duration such as 500ms, 30s, 5m, 1h30m or 7d',
      '2:59 there is no gateway "g"',
    ],
    { skills },
  ],
  [
    'a duplicate name of a route',
    'routes:\n  - { name: a, match: { event: x }, skill: echo }\n  - { name: a, skill: echo }\n',
    ['3:13 duplicate route name "a"; line 2 has it too'],
  ],
  [
    'a bad name of a route',
    'routes:\n  - { name: "a b", skill: echo }\n',
    ['2:13 a name has letters, digits, and _ . @ : - inside, not "a b"'],
  ],
  [
    'two gateways on one path',
    'gateways:\n  a: { transport: webhook, path: /x }\n  b: { transport: websocket, path: /x }\n',
    ['3:36 gateway "a" (line 2) already listens on "/x"'],
  ],
  [
    'a missing variable',
    `gateways:\n  a: { transport: slack, botToken: "xoxb-\${SLACK}" }\n`,
    [`2:42 the variable SLACK is not set; set it, or write \${SLACK:-default}`],
  ],
  [
    'a variable that is empty',
    `gateways:\n  a: { transport: slack, botToken: "\${SLACK}" }\n`,
    [`2:37 the variable SLACK is not set; set it, or write \${SLACK:-default}`],
    { env: { SLACK: '' } },
  ],
  [
    'a missing variable in a route',
    `routes:\n  - name: a\n    skill: echo\n    model: \${MODEL}\n`,
    [`4:12 the variable MODEL is not set; set it, or write \${MODEL:-default}`],
  ],
  [
    'what looks like a variable',
    `gateways:\n  a: { transport: slack, botToken: "\${1X} \${Y" }\n`,
    [
      `2:37 \${1X} is no variable; write \${NAME} or \${NAME:-default}, or $\${ for the text itself`,
      `2:43 \${Y is no variable; write \${NAME} or \${NAME:-default}, or $\${ for the text itself`,
    ],
  ],
  [
    'a bad regex',
    'routes:\n  - name: a\n    match: { text: "/(/" }\n    skill: echo\n',
    [
      '3:20 the pattern "/(/" is no RE2 regex: missing closing ): `(` (look-around and back-references are not in RE2)',
    ],
  ],
  [
    'a bad flag of a regex',
    'routes:\n  - name: a\n    match: { to: [x, /a/x] }\n    skill: echo\n',
    [
      '3:22 the pattern "/a/x" has the unknown regex flag "x" (known: i, m, s); to match a path as it is, write "\\/a/x"',
    ],
  ],
  [
    'a bad glob',
    'routes:\n  - name: a\n    match: { text: "a[b" }\n    skill: echo\n',
    ['3:20 the pattern "a[b" has a "[" without "]"; write "\\[" for the character itself'],
  ],
  [
    'a pattern that is a mapping',
    'routes:\n  - name: a\n    match: { text: { a: b } }\n    skill: echo\n',
    ['3:20 expected a glob, a /regex/, or a list of them, not a mapping'],
  ],
  [
    'a flag that is no flag',
    'routes:\n  - name: a\n    match: { mention: maybe }\n    skill: echo\n',
    ['3:23 expected true or false, not "maybe"'],
  ],
  [
    'a bad duration',
    'daemon:\n  grace: 3 fortnights\n',
    ['2:10 expected a duration such as 500ms, 30s, 5m, 1h30m or 7d'],
  ],
  [
    'a timeout that no timer keeps',
    'routes:\n  - { name: a, skill: echo, timeout: 60d }\n',
    ['2:38 a timer runs for at most 24d'],
  ],
  [
    'a bad size',
    'gateways:\n  a: { transport: webhook, path: /a, max-body: big }\n',
    ['2:48 expected a size such as 512kb or 1mb'],
  ],
  [
    'a bad rate',
    'gateways:\n  a: { transport: webhook, path: /a, rate-limit: 5 }\n',
    ['2:50 expected a rate such as 100/s or 20/min, or off, not 5'],
  ],
  ['a bad address', 'daemon:\n  listen: localhost\n', ['2:11 expected host:port, such as 127.0.0.1:8080']],
  [
    'retention of a gateway that is missing',
    `${demo}daemon:\n  retention: { gateways: { dem: { max-age: 1d } } }\n`,
    ['4:28 there is no gateway "dem"; did you mean "demo"?'],
  ],
  [
    'a model without a provider',
    'model: gpt\n',
    ['1:8 expected provider:model, such as anthropic:claude-sonnet-5, not "gpt"'],
  ],
  [
    'a key in both of its spellings',
    'daemon:\n  data-dir: a\n  dataDir: b\n',
    ['3:3 unknown key "dataDir"; did you mean "data-dir"?'],
  ],
  [
    'a mapping where a name alone would do too',
    'model: { nam: "a:b" }\n',
    ['1:8 missing key "name"', '1:10 unknown key "nam"; did you mean "name"?'],
  ],
  [
    'a variable that is missing twice in one text, once',
    'model: "a:$' + '{X}$' + '{X}"\n',
    ['1:11 the variable X is not set; set it, or write $' + '{X:-default}'],
  ],
  [
    'a file that names another',
    'daemon:\n  config: other.yaml\n',
    ['2:11 this can only name the file itself; set TRIVIUM_CONFIG to read another'],
  ],
  [
    'a bad variable of the daemon',
    'daemon: {}\n',
    [
      'TRIVIUM_LISTEN: expected host:port, such as 127.0.0.1:8080',
      'TRIVIUM_LOG_LEVEL: expected one of trace, debug, info, warn, error, fatal, silent, not "warning"; did you mean "warn"?',
    ],
    { env: { TRIVIUM_LISTEN: 'x', TRIVIUM_LOG_LEVEL: 'warning' } },
  ],
]

describe('a mistake in routes.yaml is told with its place and the right word', () => {
  for (const [what, text, expected, given] of cases) {
    test(what, async (t) => {
      const { config, problems } = await read(t, text, given)
      assert.deepEqual(told(problems), expected)
      assert.equal(config, undefined)
    })
  }
})

describe('unreachable routes', () => {
  const reach: [string, string, string, boolean][] = [
    ['after a route without match', '{}', '{ event: push }', true],
    ['after a route with fewer keys', '{ gateway: demo }', '{ gateway: demo, event: push }', true],
    ['after a list that holds its values', '{ event: [push, tag] }', '{ event: tag }', true],
    [
      'after a wider glob',
      '{ from: "*@example.com" }',
      '{ from: ["Bob@example.com", "a*@EXAMPLE.com"] }',
      true,
    ],
    ['after the transport of its gateway', '{ transport: webhook }', '{ gateway: demo }', true],
    ['after the same regex', '{ text: /a/ }', '{ text: /a/, to: x }', true],
    ['after a regex that fits its text', '{ text: /^re/ }', '{ text: refund }', true],
    ['after a header in another case', '{ header.X-A: "*" }', '{ header.x-a: b }', true],
    ['after the same flag', '{ mention: true }', '{ mention: true, channel: c }', true],
    ['after any key of its own kind', '{ subject: "*" }', '{ subject: /x/ }', true],
    ['after a route with other keys', '{ gateway: demo, event: push }', '{ gateway: demo }', false],
    ['after another value', '{ event: push }', '{ event: tag }', false],
    ['after a narrower glob', '{ from: "a*@example.com" }', '{ from: "*@example.com" }', false],
    ['after a glob that only overlaps', '{ from: "a*" }', '{ from: "*b" }', false],
    ['after a glob of one character', '{ from: "a?" }', '{ from: "a*" }', false],
    ['after one of its values', '{ event: push }', '{ event: [push, tag] }', false],
    ['after the other flag', '{ mention: true }', '{ mention: false }', false],
    ['after a longer prefix', '{ prefix: deploy now }', '{ prefix: deploy }', false],
  ]
  for (const [what, first, second, isUnreachable] of reach) {
    test(`a route is ${isUnreachable ? 'unreachable' : 'reachable'} ${what}`, async (t) => {
      const text = `${demo}routes:\n  - { name: a, skill: s, match: ${first} }\n  - { name: b, skill: s, match: ${second} }\n`
      const { problems } = await read(t, text)
      const expected = '5:13 unreachable route "b": "a" on line 4 already takes all that it matches'
      assert.deepEqual(told(problems), isUnreachable ? [expected] : [])
    })
  }
})

describe('warnings', () => {
  test('name a route whose gateway is not started, and say why', async (t) => {
    const text = `gateways:\n  a: { transport: slack, botToken: "\${T}", enabled: auto }\n  b: { transport: websocket, path: /b }\nroutes:\n  - { name: r, match: { gateway: a }, skill: echo }\n`
    const { config, problems } = await read(t, text)
    assert.deepEqual(told(problems, 'warning'), [
      '5:34 gateway "a" is not started (enabled: auto, and T is not set)',
    ])
    assert.deepEqual(config?.warnings, problems)
  })

  test('name a value that another one in its list covers, once', async (t) => {
    const text = `${demo}routes:\n  - { name: r, match: { event: [push, "p*", PUSH] }, skill: echo }\n`
    const { problems } = await read(t, text)
    assert.deepEqual(told(problems, 'warning'), [
      '4:33 "push" does nothing: "p*" in the same list matches it too',
      '4:45 "PUSH" does nothing: "push" in the same list matches it too',
    ])
  })

  test('tell of a configuration that does nothing', async (t) => {
    const { config, problems } = await read(t, '')
    assert.deepEqual(told(problems, 'warning'), [
      '1:1 no gateway is started, so nothing can come in',
      '1:1 there are no routes: messages reach receive and events, but no skill',
    ])
    assert.deepEqual(config?.routes, [])
  })
})

test('an error shows the file, the line, and a caret under the place, several at once', async (t) => {
  const cwd = await givenFile(t, 'daemon:\n  liste: x\nroutes:\n  - name: a\n    mach: {}\n    skill: echo\n')
  await assert.rejects(loadConfig({ env: {}, cwd, transports }), (error) => {
    assert.ok(error instanceof TriviumError)
    assert.equal(error.code, 'config_invalid')
    assert.equal(
      error.message,
      [
        'routes.yaml:2:3  unknown key "liste"; did you mean "listen"?',
        '  2 |   liste: x',
        '    |   ^',
        'routes.yaml:5:5  unknown key "mach"; did you mean "match"?',
        '  5 |     mach: {}',
        '    |     ^',
      ].join('\n'),
    )
    return true
  })
})

test('of a long line only what is around the place is shown', async (t) => {
  const { problems } = await read(t, `daemon: { ${' '.repeat(5000)}liste: x${' '.repeat(5000)} }\n`)
  const [line = '', caret = ''] =
    problems.find((each) => each.severity === 'error')?.excerpt?.split('\n') ?? []
  assert.ok(line.length < 120, line)
  assert.equal(line.slice(caret.indexOf('^')).startsWith('liste'), true)
})

test('a file that is not there is told with what to do', async (t) => {
  const { problems } = await read(t, '', { path: 'gone.yaml' })
  assert.deepEqual(told(problems), [
    'there is no such file; `trivium init` writes one, TRIVIUM_CONFIG names another',
  ])
  assert.equal(problems[0]?.file, 'gone.yaml')
})

test('the value of a variable is not shown in an error', async (t) => {
  const text = `gateways:\n  a: { transport: slack, mode: "\${S}", botToken: x }\n`
  const { problems } = await read(t, text, { env: { S: 'hunter2hunter2' } })
  assert.deepEqual(told(problems), [`2:32 expected one of socket, http, not "\${S}"`])
})
