import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { readConfig } from '../../src/config/load-config.ts'
import type { Problem } from '../../src/config/yaml-file.ts'
import { temporaryDir } from '../fixtures/folder.ts'
import { transports } from './given.ts'

type Files = Record<string, string>

/** Writes files into a folder and reads the configuration there. */
async function readAll(t: TestContext, files: Files, env: Record<string, string> = {}) {
  const cwd = temporaryDir(t)
  await writeAll(cwd, files)
  const skills = [{ name: 'echo' }]
  const { config, problems } = await readConfig({ env, cwd, transports, skills })
  return {
    cwd,
    config,
    problems,
    errors: problems.filter(({ severity }) => severity === 'error').map(textOf),
  }
}

async function writeAll(cwd: string, files: Files): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(cwd, name)), { recursive: true })
    await writeFile(join(cwd, name), text)
  }
}

const textOf = ({ file, line, column, message }: Problem) => `${file}:${line}:${column} ${message}`
const hook = (name: string) => `gateways:\n  ${name}: { transport: webhook, path: /${name} }\n`
const route = (name: string, match = name) =>
  `  - { name: ${name}, match: { event: ${match} }, skill: echo }\n`

describe('a configuration in several files', () => {
  test('has the gateways of all, and first the routes of the main file, then of the others by file name', async (t) => {
    const { config, errors } = await readAll(t, {
      'routes.yaml': `include: [routes.d/*.yaml]\n${hook('main')}routes:\n${route('own')}`,
      'routes.d/20-b.yaml': `${hook('b')}routes:\n${route('b1')}${route('b2')}`,
      'routes.d/10-a.yaml': `routes:\n${route('a')}`,
      'routes.d/.hidden.yaml': 'nonsense: 1\n',
      'routes.d/notes.txt': 'nonsense: 1\n',
    })
    assert.deepEqual(errors, [])
    assert.deepEqual(
      config?.routes.map(({ name }) => name),
      ['own', 'a', 'b1', 'b2'],
    )
    assert.deepEqual(config?.gateways.map(({ name }) => name).slice(0, 2), ['main', 'b'])
    const files = ['routes.yaml', 'routes.d/10-a.yaml', 'routes.d/20-b.yaml']
    assert.deepEqual(
      config?.asRead.files.map(({ file }) => file),
      files,
    )
    assert.match(config?.asRead.yaml ?? '', /# routes\.d\/20-b\.yaml\ngateways:\n {2}b:/)
  })

  test('merges every section', async (t) => {
    const secret = 'whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw'
    const { config, errors } = await readAll(t, {
      'routes.yaml': `include: team.yaml\n${hook('main')}daemon: { grace: 5s, retention: { gateways: { main: { max-age: 1d } } } }
topics: { gateway-message: { groups: { one: { max-deliveries: 1 } } }, mine: {} }
access: { roles: { boss: { members: ["main:ada"] } } }
schedules: [{ name: s1, every: 1h, skill: echo }]
subscriptions: [{ name: p1, url: "https://example.com/", secret: ${secret} }]
tokens: [{ name: t1, token: "0123456789abcdef0", skills: [echo], gateways: ["*"] }]
`,
      'team.yaml': `${hook('team')}daemon: { log-level: warn, retention: { gateways: { team: { max-age: 2d } } } }
topics: { gateway-message: { groups: { two: { max-deliveries: 2 } } } }
access: { roles: { team: { members: ["team:bob"] } } }
assistant: { timezone: Europe/Berlin }
schedules: [{ name: s2, every: 2h, skill: echo }]
subscriptions: [{ name: p2, url: "https://example.org/", secret: ${secret} }]
tokens: [{ name: t2, token: "0123456789abcdef1", skills: [echo], gateways: [team] }]
mcp: { tools: { command: node, args: [server.js] } }
`,
    })
    assert.deepEqual(errors, [])
    assert.equal(config?.daemon.grace, 5_000)
    assert.equal(config?.daemon.logLevel, 'warn')
    assert.deepEqual(Object.keys(config?.daemon.retention.gateways ?? {}), ['main', 'team'])
    assert.deepEqual(Object.keys(config?.topics['gateway-message']?.groups ?? {}), ['one', 'two'])
    assert.deepEqual(Object.keys(config?.access.roles ?? {}), ['boss', 'team'])
    assert.equal(config?.assistant.timezone, 'Europe/Berlin')
    for (const [list, names] of [
      [config?.schedules, ['s1', 's2']],
      [config?.subscriptions, ['p1', 'p2']],
      [config?.tokens, ['t1', 't2']],
      [config?.mcp.servers, ['tools']],
    ] as const)
      assert.deepEqual(
        list?.map(({ name }) => name),
        names,
      )
  })

  test('can include further files, each once, with paths relative to the including file', async (t) => {
    const { config, errors } = await readAll(t, {
      'routes.yaml': `include: [teams/*/routes.yaml, teams/a/routes.yaml]\n${hook('main')}`,
      'teams/a/routes.yaml': `include: more/*.yaml\nroutes:\n${route('a')}`,
      'teams/a/more/x.yaml': `routes:\n${route('x')}  - { name: app, match: { event: app }, bolt: ./app.ts }\nskills: { folders: [own] }\n`,
      'teams/a/more/app.ts': '',
      'teams/b/routes.yaml': `routes:\n${route('b')}`,
    })
    assert.deepEqual(errors, [])
    assert.deepEqual(
      config?.routes.map(({ name }) => name),
      ['a', 'x', 'app', 'b'],
    )
    const folder = join(dirname(config?.file ?? ''), 'teams/a/more')
    assert.equal(config?.routes[2]?.bolt, join(folder, 'app.ts'))
    assert.deepEqual(config?.skills.folders, [join(folder, 'own')])
  })

  test('reports all errors with file, line and column', async (t) => {
    const { errors, problems } = await readAll(t, {
      'routes.yaml': `include: [a.yaml, b.yaml]\n${hook('main')}routes:\n${route('own')}  - { nme: x }\n`,
      'a.yaml': `routes:\n${route('a')}  - { name: y, match: { gateway: mian }, skill: ehco }\nschedule: []\n`,
      'b.yaml': `gateways:\n  b: { transport: webhok }\nroutes: [{ name: b, match: { from: "\${WHO}" }, skill: echo }]\n`,
    })
    assert.deepEqual(errors, [
      'routes.yaml:6:5 missing key "name"',
      'routes.yaml:6:7 unknown key "nme"; did you mean "name"?',
      'a.yaml:3:34 there is no gateway "mian"; did you mean "main"?',
      'a.yaml:3:49 there is no skill "ehco"; did you mean "echo"?',
      'a.yaml:4:1 unknown key "schedule"; did you mean "schedules"?',
      'b.yaml:2:19 there is no transport "webhok"; did you mean "webhook"?',
      `b.yaml:3:36 the variable WHO is not set; set it, or write \${WHO:-default}`,
    ])
    assert.match(problems[3]?.excerpt ?? '', /3 \| {3}- \{ name: y/)
  })

  test('reports YAML errors of each file', async (t) => {
    const { errors } = await readAll(t, {
      'routes.yaml': 'include: "*.d/*.yaml"\n',
      'x.d/a.yaml': 'routes: [\n',
      'x.d/b.yaml': 'a: b: c\n',
      'x.d/c.yaml': '- a list\n',
      'x.d/d.yaml': '# empty\n',
    })
    assert.equal(errors.length, 3)
    assert.match(errors[0] ?? '', /^x\.d\/a\.yaml:/)
    assert.match(errors[1] ?? '', /^x\.d\/b\.yaml:1:/)
    assert.match(errors[2] ?? '', /^x\.d\/c\.yaml:1:1 expected a mapping/)
  })

  test('a name that is defined twice is an error that names both places', async (t) => {
    const secret = 'whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw'
    const lists = `schedules: [{ name: s, every: 1h, skill: echo }]
subscriptions: [{ name: p, url: "https://example.com/", secret: ${secret} }]
notify: [{ on: budget, to: { url: "https://example.com/n", secret: ${secret} } }]
routes: [{ name: r, match: { event: x }, skill: echo }]
`
    const { errors } = await readAll(t, {
      'routes.yaml': `include: a.yaml\n${hook('hub')}daemon: { grace: 5s }\nmodel: "x:y"\ntopics: { t: { groups: { g: {} } } }\n${lists}`,
      'a.yaml': `${hook('hub')}daemon: { grace: 6s }\nmodel: "x:z"\ntopics: { t: { groups: { g: {} } } }\n${lists}`,
    })
    assert.deepEqual(errors, [
      'a.yaml:2:3 "hub" is already defined in routes.yaml:3',
      'a.yaml:3:11 "grace" is already defined in routes.yaml:4',
      'a.yaml:4:1 "model" is already defined in routes.yaml:5',
      'a.yaml:5:26 "g" is already defined in routes.yaml:6',
      'a.yaml:6:21 there are two schedules "s"; the other is in routes.yaml:7',
      'a.yaml:7:25 there are two subscriptions "p"; the other is in routes.yaml:8',
      'a.yaml:8:10 duplicate rule; the same rule is in routes.yaml:9',
      'a.yaml:9:18 duplicate route name "r"; it is also used in routes.yaml:10',
    ])
  })

  test('errors about a path used twice and an unreachable route name the other place', async (t) => {
    const { errors } = await readAll(t, {
      'routes.yaml': `include: a.yaml\n${hook('one')}routes:\n${route('first', 'x')}`,
      'a.yaml': `gateways:\n  two: { transport: webhook, path: /one }\nroutes:\n${route('second', 'x')}`,
    })
    assert.deepEqual(errors, [
      'a.yaml:2:36 gateway "one" (routes.yaml:3) already listens on "/one"',
      'a.yaml:4:13 unreachable route "second": "first" (routes.yaml:5) already takes everything it matches',
    ])
  })

  const invalid: [what: string, files: Files, errors: string[]][] = [
    [
      'a missing file',
      { 'routes.yaml': 'include: [a.yaml, none.yaml]\n', 'a.yaml': '' },
      ['1:19 there is no file DIR/none.yaml'],
    ],
    [
      'a folder',
      { 'routes.yaml': 'include: sub\n', 'sub/a.yaml': '' },
      ['1:10 DIR/sub is not a file; to include all files of a folder, write DIR/sub/*.yaml'],
    ],
    ['itself', { 'routes.yaml': 'include: ./routes.yaml\n' }, ['1:10 the file includes itself: routes.yaml']],
    [
      'itself by a pattern',
      { 'routes.yaml': 'include: ["*.yaml"]\n' },
      ['1:11 the file includes itself: routes.yaml'],
    ],
    [
      'something other than a text',
      { 'routes.yaml': 'include: [1, "", { a: b }]\n' },
      [
        '1:11 expected a file, a pattern such as routes.d/*.yaml, or a list of them',
        '1:14 expected a file, a pattern such as routes.d/*.yaml, or a list of them',
        '1:18 expected a file, a pattern such as routes.d/*.yaml, or a list of them',
      ],
    ],
    [
      'an invalid pattern',
      { 'routes.yaml': 'include: "a[.yaml"\n' },
      ['1:10 DIR/a[.yaml cannot be read: has a "[" without "]"'],
    ],
    [
      'a pattern with `**`',
      { 'routes.yaml': 'include: "**/*.yaml"\n' },
      ['1:10 DIR/**/*.yaml cannot be read: `**` is not supported'],
    ],
    [
      'an unset variable',
      { 'routes.yaml': `include: "\${TEAM}/*.yaml"\n` },
      ['1:10 the variable TEAM is not set'],
    ],
  ]
  for (const [what, files, expected] of invalid) {
    test(`cannot include ${what}`, async (t) => {
      const { cwd, errors } = await readAll(t, files)
      const shown = errors.map((line) => line.replaceAll(cwd, 'DIR'))
      assert.deepEqual(
        shown.map((line, index) => line.slice(0, `routes.yaml:${expected[index]}`.length)),
        expected.map((line) => `routes.yaml:${line}`),
      )
    })
  }

  test('files that include each other are an error that names them', async (t) => {
    const { errors } = await readAll(t, {
      'routes.yaml': 'include: a.yaml\n',
      'a.yaml': 'include: sub/b.yaml\n',
      'sub/b.yaml': 'include: [../a.yaml]\n',
    })
    assert.deepEqual(errors, [
      'sub/b.yaml:1:11 the files include each other in a circle: a.yaml → sub/b.yaml → a.yaml',
    ])
  })

  test('a pattern can match no file, and a variable can name another folder', async (t) => {
    const elsewhere = temporaryDir(t)
    await writeAll(elsewhere, { 'x.yaml': `routes:\n${route('x')}` })
    const { config, errors } = await readAll(
      t,
      { 'routes.yaml': `include: ["none/*.yaml", "\${TEAM}/?.yaml"]\n${hook('main')}` },
      { TEAM: elsewhere },
    )
    assert.deepEqual(errors, [])
    assert.deepEqual(
      config?.routes.map(({ name }) => name),
      ['x'],
    )
  })

  test('secrets of included files are masked too', async (t) => {
    const { config } = await readAll(t, {
      'routes.yaml': `include: a.yaml\n${hook('main')}`,
      'a.yaml':
        'gateways:\n  gh: { transport: webhook, path: /gh, verify: { scheme: github, secret: hunter2hunter2 } }\n',
    })
    assert.ok(config)
    assert.doesNotMatch(JSON.stringify(config.asRead), /hunter2/)
    assert.ok(config.secrets.includes('hunter2hunter2'))
  })

  test('files behind the links of a ConfigMap are read once', async (t) => {
    const cwd = temporaryDir(t)
    await writeAll(cwd, {
      'routes.yaml': `include: routes.d/*.yaml\n${hook('main')}`,
      'routes.d/..2026_11_28/a.yaml': `routes:\n${route('a')}`,
    })
    await symlink('..2026_11_28', join(cwd, 'routes.d/..data'))
    await symlink('..data/a.yaml', join(cwd, 'routes.d/a.yaml'))
    const { config, problems } = await readConfig({ env: {}, cwd, transports })
    assert.deepEqual(problems, [])
    assert.deepEqual(
      config?.routes.map(({ name }) => name),
      ['a'],
    )
  })
})
