import assert from 'node:assert/strict'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { loadConfig, readConfig } from '../../src/config/load-config.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { transports as shippedTransports } from '../../transports/registry.ts'
import { DAY, HOUR, MINUTE } from '../contract/store/kit.ts'
import { read, textsOf, transports, writeConfig } from './given.ts'

describe('the configuration in the console', () => {
  test('names variables, and contains no secrets, not even in comments and URLs', async (t) => {
    const file = `
# a comment: token-in-comment
gateways:
  g: { transport: webhook, path: "/\${WHERE}", verify: { scheme: github, secret: written-here } }
  s: { transport: slack, botToken: "\${BOT}", answers: { a: https://x.example/?api_key=in-query&n=1 } }
daemon: { token: "\${TOKEN:-of-default-16-chars}" }
queues: { redis: "redis://me:in-url@localhost" }
tokens: [{ name: p, token: "of-a-program-0123456789", skills: [a-skill], gateways: ["*"] }]
`
    const env = { WHERE: 'of-the-environment', BOT: 'xoxb-of-the-environment' }
    const { config, problems } = await read(t, file, { env })
    assert.deepEqual(textsOf(problems), [])
    const shown = config?.asRead.yaml ?? ''
    for (const secret of [
      'comment',
      'written-here',
      'of-the-environment',
      'of-default',
      'in-url',
      'in-query',
      'of-a-program',
    ]) {
      assert.ok(!shown.includes(secret), secret)
    }
    assert.match(
      shown,
      /path: "\/\$\{WHERE\}"[\s\S]*secret: "\[secret\]" \} \}\n[\s\S]*botToken: "\$\{BOT\}"[\s\S]*api_key=\[secret\]&n=1/,
    )
    assert.match(shown, /redis:\/\/me:\[secret\]@localhost[\s\S]*skills: \[a-skill\]/)
    assert.deepEqual(config?.asRead.variables, [
      { name: 'WHERE', isSet: true, optional: false, usedIn: ['gateways.g'] },
      { name: 'BOT', isSet: true, optional: false, usedIn: ['gateways.s'] },
      { name: 'TOKEN', isSet: false, optional: true, usedIn: ['daemon.token'] },
    ])
  })
})

describe('the daemon section', () => {
  test('reads units, addresses and retention', async (t) => {
    const { config, cwd, problems } = await read(
      t,
      `gateways: { g: { transport: websocket, path: /g } }
daemon:
  data-dir: d
  control-listen: "[::1]:0"
  listen: 9000
  grace: 1m
  retention: { max-age: 2d, gateways: { g: { max-age: 1h } }, topics: { t: { max-count: 3 } }, dead-letters: 9 }
`,
    )
    assert.deepEqual(textsOf(problems), [])
    assert.partialDeepStrictEqual(config?.daemon, {
      dataDir: join(cwd, 'd'),
      listen: { host: '127.0.0.1', port: 9000 },
      controlListen: { host: '::1', port: 0 },
      grace: MINUTE,
    })
    assert.deepEqual(config?.daemon.retention, {
      journal: { maxAge: 2 * DAY, maxCount: 1_000_000 },
      gateways: { g: { maxAge: HOUR } },
      topics: { t: { maxCount: 3 } },
      deadLetters: 9,
    })
  })

  test('is overridden by environment variables, unless they are empty', async (t) => {
    const env = {
      TRIVIUM_DATA_DIR: 'from-env',
      TRIVIUM_LISTEN: '0.0.0.0:0',
      TRIVIUM_TOKEN: 'token-of-env',
      REDIS_URL: 'redis://:password@localhost:6379,redis://b:6379',
      TRIVIUM_REDIS_PREFIX: 'staging',
      TRIVIUM_CONTROL_LISTEN: '',
    }
    const file = 'daemon:\n  data-dir: d\n  listen: 1.2.3.4:5\n  control-listen: 6\n'
    const { config, cwd } = await read(t, file, { env })
    assert.partialDeepStrictEqual(config?.daemon, {
      dataDir: join(cwd, 'from-env'),
      listen: { host: '0.0.0.0', port: 0 },
      controlListen: { host: '127.0.0.1', port: 6 },
      redisUrl: env.REDIS_URL,
      redisPrefix: 'staging',
    })
    assert.deepEqual(config?.secrets, ['token-of-env', 'password'])
  })

  test('resolves a relative data dir from the file, and the default one from the working directory', async (t) => {
    const cwd = await writeConfig(t, 'daemon: { data-dir: d }\n')
    await mkdir(join(cwd, 'sub'))
    await rename(join(cwd, 'routes.yaml'), join(cwd, 'sub', 'r.yaml'))
    const config = await loadConfig({ env: { TRIVIUM_CONFIG: 'sub/r.yaml' }, cwd, transports })
    assert.equal(config.file, join(cwd, 'sub', 'r.yaml'))
    assert.equal(config.daemon.dataDir, join(cwd, 'sub', 'd'))
    await writeFile(config.file, '')
    const withDefaults = await loadConfig({ path: 'sub/r.yaml', env: {}, cwd, transports })
    assert.equal(withDefaults.daemon.dataDir, join(cwd, '.trivium'))
    assert.deepEqual(withDefaults.skills.folders, [join(cwd, 'sub', 'skills')])
  })
})

describe('variables', () => {
  const slack = (token: string, more = '') =>
    `gateways:\n  s: { transport: slack, botToken: "${token}"${more} }\n`

  test(`are replaced, with defaults; $\${ gives a literal \${; names of Object.prototype are not variables`, async (t) => {
    const env = { A: 'alpha', EMPTY: '' }
    const { config } = await read(t, slack(`\${A}-\${EMPTY:-b}-\${GONE:-}-$\${A}`), { env })
    assert.deepEqual(config?.gateways[0]?.options, { mode: 'socket', botToken: `alpha-b--\${A}` })
    assert.equal(textsOf((await read(t, slack(`\${constructor}`))).problems).length, 1)
  })

  test('are optional if every use has a default', async (t) => {
    const text = slack(`\${A}\${B:-b}\${A:-a}`)
    const { config } = await read(t, text, { env: { A: 'alpha' } })
    assert.deepEqual(config?.asRead.variables, [
      { name: 'A', isSet: true, optional: false, usedIn: ['gateways.s'] },
      { name: 'B', isSet: false, optional: true, usedIn: ['gateways.s'] },
    ])
  })

  test('are also read from .env, after the environment', async (t) => {
    const cwd = await writeConfig(t, slack(`\${A}\${B}`))
    await writeFile(join(cwd, '.env'), '# mine\nA="from file"\nB=file\nTRIVIUM_LOG_LEVEL=debug\n')
    const config = await loadConfig({ env: { B: '-env' }, cwd, transports })
    assert.deepEqual(config.gateways[0]?.options, { mode: 'socket', botToken: 'from file-env' })
    assert.equal(config.daemon.logLevel, 'debug')
  })

  test('numbers keep their digits if they are long', async (t) => {
    const file = `
gateways: { hook: { transport: webhook, path: /h } }
routes:
  - { name: one, match: { data.body.id: 7615917337495251231 }, skill: echo, args: { id: 175928847299117063 } }
  - { name: two, match: { data.body.id: [5, 7615917337495251232] }, skill: echo, args: { n: 5 } }
`
    const { config, problems } = await read(t, file, {})
    assert.deepEqual(textsOf(problems), [])
    const [first, second] = config?.routes ?? []
    assert.deepEqual(first?.match, { 'data.body.id': ['7615917337495251231'] })
    assert.deepEqual(second?.match, { 'data.body.id': ['5', '7615917337495251232'] })
    assert.deepEqual([first?.args, second?.args], [{ id: '175928847299117063' }, { n: 5 }])
  })

  test('become numbers and booleans if the key expects them', async (t) => {
    const text = `gateways:\n  w: { transport: webhook, path: /w, max-body: "\${SIZE}", replies: "\${YES}", enabled: "\${YES}" }\n  x: { transport: websocket, path: /x, port: "\${PORT}" }\n`
    const { config } = await read(t, text, { env: { SIZE: '5', YES: 'true', PORT: '25' } })
    assert.partialDeepStrictEqual(config?.gateways[0]?.options, { 'max-body': 5, replies: true })
    assert.deepEqual(config?.gateways[1]?.options, { path: '/x', port: 25 })
    const { problems } = await read(t, text, { env: { SIZE: '5', YES: 'true', PORT: 'http' } })
    assert.deepEqual(textsOf(problems), ['3:46 expected number, received string'])
  })

  test('and texts of secret keys are secrets, sorted by length', async (t) => {
    const text = `${slack(`\${T}`)}  password-w: { transport: webhook, path: /w, verify: { scheme: github, secret: "literal" } }\nmodel: { name: "a:b", api-key: "\${K:-a-default}" }\n`
    const { config } = await read(t, text, { env: { T: 'xoxb-1234', UNUSED: 'never-read' } })
    assert.deepEqual(config?.secrets, ['xoxb-1234', 'a-default', 'literal'])
  })

  test('with names of users, hosts and gateways are not secrets, unless they contain a password', async (t) => {
    const gatewayWith = (name: string) =>
      `  ${name.toLowerCase().replaceAll('_', '-')}: { transport: webhook, path: "/\${${name}}" }\n`
    const harmless = {
      IMAP_USER: 'support',
      SMTP_HOST: 'smtp.example.com',
      GATEWAY_NAME: 'orders',
      BASE_URL: 'https://example.com:8443/',
    }
    const secret = {
      DB_HOST: 'user:hunter2@db',
      HOOK_URL: 'https://hooks.example.com/T0/B0/xyz',
      TOKEN_NAME: 'abcdefg',
      OTHER: 'hunter3',
    }
    const env = { ...harmless, ...secret, APP_USER: 'hunter4' }
    const names = [...Object.keys(harmless), ...Object.keys(secret)]
    const text = `gateways:\n${names.map(gatewayWith).join('')}model: { name: "a:b", api-key: "\${APP_USER}" }\n`
    const { config, problems } = await read(t, text, { env })
    assert.ok(config, textsOf(problems).join())
    assert.deepEqual(config.secrets.toSorted(), [...Object.values(secret), 'hunter4'].sort())
  })

  test('enable a gateway with `enabled: auto` if all are set, and otherwise name the missing ones', async (t) => {
    for (const [token, env, why] of [
      ['x', {}, undefined],
      [`\${A}`, { A: 'x' }, undefined],
      [`\${A:-x}`, {}, undefined],
      [`\${A}\${B}\${B}`, { A: 'x' }, 'B is not set (enabled: auto)'],
      [`\${A}\${B}`, { A: '' }, 'A, B are not set (enabled: auto)'],
    ] as const) {
      const { config, problems } = await read(t, slack(token, ', enabled: auto'), { env })
      assert.deepEqual(textsOf(problems), [])
      assert.deepEqual([config?.gateways[0]?.enabled, config?.gateways[0]?.why], [why === undefined, why])
    }
  })

  test('can be missing in a disabled gateway, whose keys are still checked', async (t) => {
    const { config } = await read(t, slack(`\${A}`, ', enabled: false'))
    assert.partialDeepStrictEqual(config?.gateways[0], { enabled: false, options: undefined })
    const { problems } = await read(t, slack(`\${A}`, ', enabled: auto, botTokn: x, mode: y'))
    assert.match(textsOf(problems).join('\n'), /^2:59 unknown key "botTokn".*\n2:77 expected one of.*$/)
  })

  test('two gateways can share a path while only one is enabled', async (t) => {
    const text = `gateways:\n  a: { transport: webhook, path: /x }\n  b: { transport: webhook, path: /x, verify: { scheme: github, secret: "\${S}" }, enabled: auto }\n`
    assert.deepEqual(textsOf((await read(t, text)).problems), [])
    assert.equal(textsOf((await read(t, text, { env: { S: 's' } })).problems).length, 1)
  })
})

describe('routes', () => {
  test('get defaults, and units become milliseconds', async (t) => {
    const { config } = await read(
      t,
      `routes:
  - { name: a, match: { event: x, data.n: [1, true], mention: false }, skill: s, args: { a: [1] }, approval: true,
      retry: { attempts: 2, delay: 10m }, timeout: 1m30s }
  - { name: b, skill: s }
`,
    )
    const retry = { attempts: 5, backoff: 'exponential', delay: 1000, maxDelay: 300_000 }
    const defaults = { retry, timeout: 60_000, concurrency: 16, reply: 'auto' }
    assert.deepEqual(config?.routes, [
      {
        ...defaults,
        name: 'a',
        match: { event: ['x'], 'data.n': ['1', 'true'], mention: false },
        skill: 's',
        // `maxDelay` is at least `delay`.
        retry: { attempts: 2, backoff: 'exponential', delay: 600_000, maxDelay: 600_000 },
        timeout: 90_000,
        args: { a: [1] },
        approval: true,
      },
      { ...defaults, name: 'b', match: {}, skill: 's', fallback: true },
    ])
  })

  test('of skills come after the routes of the file, but before its fallbacks (also a last route without `match`)', async (t) => {
    const skills = [
      {
        name: 'mail',
        metadata: { slack: { route: { text: 'x*', timeout: '5s' } }, websocket: { other: 1 } },
      },
      { name: 'ws', metadata: { websocket: { route: { name: 'own', match: { event: 'e' } } } } },
    ]
    const file = `routes:
  - { name: mine, match: { text: x* }, skill: mail, fallback: true }
  - { name: a, match: { text: [y, xy] }, skill: mail }
  - { name: rest, skill: mail }
`
    const { config, problems } = await read(t, file, { skills })
    assert.deepEqual(textsOf(problems), [])
    assert.partialDeepStrictEqual(config?.routes, [
      { name: 'a' },
      { name: 'mail@slack', match: { text: ['x*'], transport: ['slack'] }, skill: 'mail', timeout: 5000 },
      { name: 'own', match: { event: ['e'], transport: ['websocket'] }, skill: 'ws' },
      { name: 'mine' },
      { name: 'rest' },
    ])
  })

  test('of skills that are invalid are skipped with a warning', async (t) => {
    const route = (value: JsonObject) => ({ slack: { route: value } })
    const skills = [
      { name: 'bad', metadata: route({ text: '/(/', tmeout: '5s' }) },
      { name: 'same', metadata: route({ name: 'a' }) },
      { name: 'late', metadata: route({ text: 'yes' }) },
      // A prefix skill for a skill that does not exist.
      { name: 'word', metadata: { prefixes: ['go'], ref: 'bat' } },
    ]
    const text =
      'gateways:\n  g: { transport: slack, botToken: x }\nroutes:\n  - { name: a, match: { text: "y*" }, skill: bad }\n'
    const { config, problems } = await read(t, text, { skills })
    const expected = [
      /^skill bad: metadata\.slack\.route\.match\.text: the pattern/,
      /^skill bad: metadata\.slack\.route\.tmeout: unknown key "tmeout"; did you mean "timeout"\?/,
      /^skill same: duplicate route name "a"; it is also used in line 4/,
      /^skill late: unreachable route "late@slack": "a" \(line 4\)/,
      /^skill word: there is no skill "bat"; did you mean "bad"\?/,
    ]
    for (const [index, pattern] of expected.entries()) {
      const { severity, file, message } = problems[index] ?? {}
      assert.equal(severity, 'warning')
      assert.match(`${file}: ${message}`, pattern)
    }
    assert.deepEqual(
      config?.routes.map(({ name }) => name),
      ['a', 'late@slack'],
    )
  })
})

test('reads access, model and skills with their defaults; the environment can set the model', async (t) => {
  const text =
    'access:\n  roles:\n    admin: { members: ["*:*@example.com"], skills: ["*"] }\n  default: none\nmodel: { name: "openai:x", base-url: "http://localhost:1/v1" }\nskills: { folders: [a, /b] }\n'
  const { config, cwd, problems } = await read(t, text)
  assert.deepEqual(textsOf(problems), [])
  const roles = { admin: { members: ['*:*@example.com'], skills: ['*'] } }
  assert.deepEqual(config?.access, { roles, default: 'none' })
  assert.deepEqual(config?.assistant, { enabled: true, scope: 'person', timezone: 'UTC' })
  const model = { name: 'openai:x', baseUrl: 'http://localhost:1/v1' }
  assert.deepEqual(config?.model, model)
  assert.deepEqual(config?.skills.folders, [join(cwd, 'a'), '/b'])
  const env = { TRIVIUM_MODEL: 'c:d' }
  assert.deepEqual((await read(t, text, { env })).config?.model, { ...model, name: 'c:d' })
  assert.deepEqual((await read(t, 'model: "a:b"')).config?.model, { name: 'a:b' })
  assert.deepEqual((await read(t, '', { env })).config?.model, { name: 'c:d' })
})

test('anchors, aliases and merges work, and errors in them have a place', async (t) => {
  const routes = (timeout: string) =>
    `routes:\n  - &base { name: a, match: { event: x }, skill: s, timeout: ${timeout} }\n  - { <<: *base, name: b, match: { event: y } }\n`
  const { config } = await read(t, routes('5s'))
  assert.partialDeepStrictEqual(config?.routes, [{ name: 'a' }, { name: 'b', skill: 's', timeout: 5000 }])
  const places = textsOf((await read(t, routes('soon'))).problems).map((each) => each.split(' ')[0])
  assert.deepEqual(places, ['2:62', '3:5'])
})

test('the routes.yaml of the package is valid, with and without its variables', async () => {
  const path = join(import.meta.dirname, '../../routes.yaml')
  const skills = [{ name: 'echo' }, { name: 'summarize-push' }]
  const options = { cwd: '/', path, transports: shippedTransports, skills }
  const withoutSecret = await readConfig({ ...options, env: {} })
  assert.deepEqual(textsOf(withoutSecret.problems), [])
  const enabled = withoutSecret.config?.gateways.map((gateway) => [gateway.name, gateway.enabled])
  assert.deepEqual(Object.fromEntries(enabled ?? []), { demo: true, github: false, chat: true, cli: true })
  const withSecret = await readConfig({ ...options, env: { GITHUB_WEBHOOK_SECRET: '0123456789abcdef' } })
  assert.deepEqual(withSecret.problems, [])
  for (const { match } of withSecret.config?.routes ?? [])
    assert.ok(match.gateway, 'every route names its gateway, so that echo does not answer an added mailbox')
})
