import assert from 'node:assert/strict'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { loadConfig, readConfig } from '../../src/config/load-config.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { ROUTE_DEFAULTS } from '../../src/core/route.ts'
import { transports as shippedTransports } from '../../transports/registry.ts'
import { givenFile, read, told, transports } from './given.ts'

describe('the daemon section', () => {
  test('has defaults for everything', async (t) => {
    const { config, cwd } = await read(t, '')
    assert.deepEqual(config?.daemon, {
      dataDir: join(cwd, '.trivium'),
      listen: { host: '127.0.0.1', port: 8080 },
      controlListen: { host: '127.0.0.1', port: 8787 },
      redisPrefix: 'trivium',
      logLevel: 'info',
      grace: 10_000,
      retention: { journal: { maxAge: 604_800_000, maxCount: 1_000_000 }, gateways: {}, topics: {} },
    })
  })

  test('takes units', async (t) => {
    const text =
      'gateways:\n  g: { transport: websocket, path: /g }\ndaemon:\n  data-dir: d\n  control-listen: "[::1]:0"\n  listen: 9000\n  log-level: warn\n  grace: 1m\n  max-backlog: 5\n' +
      '  retention: { max-age: 2d, max-count: 7, gateways: { g: { max-age: 1h } }, topics: { t: { max-count: 3 } } }\n'
    const { config, cwd, problems } = await read(t, text)
    assert.deepEqual(told(problems), [])
    assert.deepEqual(config?.daemon, {
      dataDir: join(cwd, 'd'),
      listen: { host: '127.0.0.1', port: 9000 },
      controlListen: { host: '::1', port: 0 },
      logLevel: 'warn',
      grace: 60_000,
      redisPrefix: 'trivium',
      maxBacklog: 5,
      retention: {
        journal: { maxAge: 172_800_000, maxCount: 7 },
        gateways: { g: { maxAge: 3_600_000 } },
        topics: { t: { maxCount: 3 } },
      },
    })
  })

  test('gives way to the environment, which may be empty', async (t) => {
    const env = {
      TRIVIUM_DATA_DIR: 'from-env',
      TRIVIUM_LISTEN: '0.0.0.0:0',
      TRIVIUM_TOKEN: 'token-of-env',
      REDIS_URL: 'redis://:pass%21word@localhost:6379,redis://b:6379',
      TRIVIUM_REDIS_PREFIX: 'staging',
      TRIVIUM_CONTROL_LISTEN: '',
    }
    const { config, cwd } = await read(
      t,
      'daemon:\n  data-dir: d\n  listen: 1.2.3.4:5\n  control-listen: 6\n',
      { env },
    )
    assert.equal(config?.daemon.dataDir, join(cwd, 'from-env'))
    assert.deepEqual(config?.daemon.listen, { host: '0.0.0.0', port: 0 })
    assert.deepEqual(config?.daemon.controlListen, { host: '127.0.0.1', port: 6 })
    assert.equal(config?.daemon.redisUrl, env.REDIS_URL)
    assert.equal(config?.daemon.redisPrefix, 'staging')
    assert.deepEqual(config?.secrets, ['token-of-env', 'pass%21word'])
  })

  test('puts a relative data dir of the file beside the file, the default into the working directory', async (t) => {
    const cwd = await givenFile(t, 'daemon: { data-dir: d }\n')
    await mkdir(join(cwd, 'sub'))
    await rename(join(cwd, 'routes.yaml'), join(cwd, 'sub', 'r.yaml'))
    const config = await loadConfig({ env: { TRIVIUM_CONFIG: 'sub/r.yaml' }, cwd, transports })
    assert.equal(config.file, join(cwd, 'sub', 'r.yaml'))
    assert.equal(config.daemon.dataDir, join(cwd, 'sub', 'd'))
    await writeFile(config.file, '')
    const bare = await loadConfig({ path: 'sub/r.yaml', env: {}, cwd, transports })
    assert.equal(bare.daemon.dataDir, join(cwd, '.trivium'))
    assert.deepEqual(bare.skills.folders, [join(cwd, 'sub', 'skills')])
  })
})

describe('variables', () => {
  const slack = (token: string, more = '') =>
    `gateways:\n  s: { transport: slack, botToken: "${token}"${more} }\n`

  test(`are put in, with defaults, and $\${ stays`, async (t) => {
    const env = { A: 'alpha', EMPTY: '' }
    const { config } = await read(t, slack(`\${A}-\${EMPTY:-b}-\${GONE:-}-$\${A}`), { env })
    assert.deepEqual(config?.gateways[0]?.options, { mode: 'socket', botToken: `alpha-b--\${A}` })
  })

  test('come from .env too, but the environment wins', async (t) => {
    const cwd = await givenFile(t, slack(`\${A}\${B}`))
    await writeFile(join(cwd, '.env'), '# mine\nA="from file"\nB=file\nTRIVIUM_LOG_LEVEL=debug\n')
    const config = await loadConfig({ env: { B: '-env' }, cwd, transports })
    assert.deepEqual(config.gateways[0]?.options, { mode: 'socket', botToken: 'from file-env' })
    assert.equal(config.daemon.logLevel, 'debug')
  })

  test('never come from a prototype', async (t) => {
    const { problems } = await read(t, slack(`\${constructor}`))
    assert.equal(told(problems).length, 1)
  })

  test('become numbers and switches where those are wanted', async (t) => {
    const text = `gateways:\n  w: { transport: webhook, path: /w, max-body: "\${SIZE}", replies: "\${YES}", enabled: "\${ON}" }\n  x: { transport: websocket, path: /x, port: "\${PORT}" }\n`
    const { config, problems } = await read(t, text, {
      env: { SIZE: '5', YES: 'true', PORT: '25', ON: 'true' },
    })
    assert.deepEqual(told(problems), [])
    assert.partialDeepStrictEqual(config?.gateways[0]?.options, { 'max-body': 5, replies: true })
    assert.deepEqual(config?.gateways[1]?.options, { path: '/x', port: 25 })
  })

  test('and texts under secret keys are kept out of logs, longest first', async (t) => {
    const text = `${slack(`\${T}`)}  w: { transport: webhook, path: /w, verify: { scheme: github, secret: "literal" } }\nmodel: { name: "a:b", api-key: "\${K:-a-default}" }\n`
    const { config } = await read(t, text, { env: { T: 'xoxb-1234', UNUSED: 'never-read' } })
    assert.deepEqual(config?.secrets, ['xoxb-1234', 'literal'])
  })

  for (const [what, token, env, enabled, why] of [
    ['starts when each is set', `\${A}`, { A: 'x' }, true, undefined],
    ['starts when it names none', 'x', {}, true, undefined],
    ['starts when all have defaults', `\${A:-x}`, {}, true, undefined],
    [
      'does not start when one is missing',
      `\${A}\${B}\${B}`,
      { A: 'x' },
      false,
      'enabled: auto, and B is not set',
    ],
    [
      'does not start when one is empty',
      `\${A}\${B}`,
      { A: '' },
      false,
      'enabled: auto, and A, B are not set',
    ],
  ] as const) {
    test(`of a gateway with enabled: auto: it ${what}`, async (t) => {
      const { config, problems } = await read(t, slack(token, ', enabled: auto'), { env })
      assert.deepEqual(told(problems), [])
      assert.equal(config?.gateways[0]?.enabled, enabled)
      assert.equal(config?.gateways[0]?.why, why)
    })
  }

  test('are not needed by a gateway that is off, but its keys are still checked', async (t) => {
    const { config } = await read(t, slack(`\${A}`, ', enabled: false'))
    assert.partialDeepStrictEqual(config?.gateways[0], {
      enabled: false,
      why: 'enabled: false',
      options: undefined,
    })
    const { problems } = await read(t, slack(`\${A}`, ', enabled: false, botTokn: x'))
    assert.deepEqual(told(problems), ['2:60 unknown key "botTokn"; did you mean "botToken"?'])
  })

  test('that are missing do not hide what else is wrong in their gateway', async (t) => {
    const text = `gateways:\n  w: { transport: webhook, path: /w, verify: { scheme: github, secret: "\${GONE}" }, max-body: x, enabled: auto }\n`
    const { problems } = await read(t, text)
    assert.deepEqual(told(problems), ['2:95 expected a size such as 512kb or 1mb'])
  })

  test('let two gateways share a path while only one of them is started', async (t) => {
    const text = `gateways:\n  a: { transport: webhook, path: /x }\n  b: { transport: webhook, path: /x, verify: { scheme: github, secret: "\${S}" }, enabled: auto }\n`
    assert.deepEqual(told((await read(t, text)).problems), [])
    assert.equal(told((await read(t, text, { env: { S: 's' } })).problems).length, 1)
  })
})

describe('routes', () => {
  test('get defaults, and units become milliseconds', async (t) => {
    const text =
      'routes:\n  - { name: a, match: { event: x, data.n: [1, true], mention: false }, skill: s, retry: { attempts: 2, delay: 10m }, timeout: 1m30s, args: { a: [1] }, approval: true }\n  - { name: b, skill: s }\n'
    const { config } = await read(t, text)
    assert.deepEqual(config?.routes, [
      {
        name: 'a',
        match: { event: ['x'], 'data.n': ['1', 'true'], mention: false },
        skill: 's',
        retry: { attempts: 2, backoff: 'exponential', delay: 600_000, maxDelay: 600_000 },
        timeout: 90_000,
        concurrency: 16,
        reply: 'auto',
        args: { a: [1] },
        approval: true,
      },
      { ...ROUTE_DEFAULTS, name: 'b', match: {}, skill: 's' },
    ])
  })

  test('that skills bring come after those of the file', async (t) => {
    const skills = [
      { name: 'plain' },
      {
        name: 'mail',
        metadata: { slack: { route: { text: 'x*', timeout: '5s' } }, websocket: { other: 1 } },
      },
      { name: 'ws', metadata: { websocket: { route: { name: 'own', match: { event: 'e' } } } } },
    ]
    const { config, problems } = await read(
      t,
      'routes:\n  - { name: a, match: { text: y }, skill: mail }\n',
      { skills },
    )
    assert.deepEqual(told(problems), [])
    assert.partialDeepStrictEqual(config?.routes.slice(1), [
      { name: 'mail@slack', match: { text: ['x*'], transport: ['slack'] }, skill: 'mail', timeout: 5000 },
      { name: 'own', match: { event: ['e'], transport: ['websocket'] }, skill: 'ws' },
    ])
  })

  test('that skills bring wrongly are left out with a warning', async (t) => {
    const route = (value: JsonObject) => ({ slack: { route: value } })
    const skills = [
      { name: 'bad', metadata: route({ text: '/(/', tmeout: '5s' }) },
      { name: 'same', metadata: route({ name: 'a' }) },
      { name: 'late', metadata: route({ text: 'yes' }) },
    ]
    const file =
      'gateways:\n  g: { transport: slack, botToken: x }\nroutes:\n  - { name: a, match: { text: "y*" }, skill: bad }\n'
    const { config, problems } = await read(t, file, { skills })
    assert.deepEqual(
      problems.map(({ severity, file: where, message }) => `${severity} ${where}: ${message}`),
      [
        'warning skill bad: metadata.slack.route.match.text: the pattern "/(/" is no RE2 regex: missing closing ): `(` (look-around and back-references are not in RE2)',
        'warning skill bad: metadata.slack.route.tmeout: unknown key "tmeout"; did you mean "timeout"?',
        'warning skill same: its route "a" is left out: there is a route with that name',
        'warning skill late: its route "late@slack" never runs: "a" takes all that it matches',
      ],
    )
    assert.deepEqual(
      config?.routes.map(({ name }) => name),
      ['a', 'late@slack'],
    )
  })
})

describe('the other sections', () => {
  test('are read with their defaults', async (t) => {
    const text =
      'access:\n  roles:\n    admin: { members: ["*@example.com"], skills: ["*"] }\n  default: none\nmodel: { name: "openai:x", base-url: "http://localhost:1/v1", max-steps: 3, timeout: 1m }\nskills: { folders: [a, /b] }\n'
    const { config, cwd, problems } = await read(t, text)
    assert.deepEqual(told(problems), [])
    assert.deepEqual(config?.access, {
      roles: { admin: { members: ['*@example.com'], skills: ['*'] } },
      default: 'none',
    })
    assert.deepEqual(config?.model, {
      name: 'openai:x',
      baseUrl: 'http://localhost:1/v1',
      maxSteps: 3,
      timeout: 60_000,
    })
    assert.deepEqual(config?.skills.folders, [join(cwd, 'a'), '/b'])
  })

  test('take the model from the environment', async (t) => {
    const { config } = await read(t, 'model: { name: "a:b", temperature: 1 }\n', {
      env: { TRIVIUM_MODEL: 'c:d' },
    })
    assert.deepEqual(config?.model, { name: 'c:d', temperature: 1 })
  })
})

test('a configuration cannot be changed, at any depth', async (t) => {
  const { config } = await read(t, 'routes:\n  - { name: a, skill: s, args: { deep: [{ x: 1 }] } }\n')
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    assert.ok(Object.isFrozen(value))
    for (const item of Object.values(value)) visit(item)
  }
  visit(config)
  assert.ok(config)
})

test('anchors, aliases and merges work, with their places', async (t) => {
  const text =
    'routes:\n  - &base { name: a, match: { event: x }, skill: s, timeout: 5s }\n  - { <<: *base, name: b, match: { event: y } }\n'
  const { config, problems } = await read(t, text)
  assert.deepEqual(told(problems), [])
  assert.partialDeepStrictEqual(config?.routes, [{ name: 'a' }, { name: 'b', skill: 's', timeout: 5000 }])
})

test('the routes.yaml that ships is right, with and without its variables', async () => {
  const cwd = new URL('../..', import.meta.url).pathname
  const skills = [{ name: 'echo' }, { name: 'summarize-push' }]
  const path = join(cwd, 'routes.yaml')
  const bare = await readConfig({ env: {}, cwd: '/', path, transports: shippedTransports, skills })
  assert.deepEqual(told(bare.problems), [])
  assert.deepEqual(
    bare.config?.gateways.map(({ name, enabled }) => [name, enabled]),
    [
      ['demo', true],
      ['github', false],
      ['chat', true],
      ['cli', true],
    ],
  )
  const env = { GITHUB_WEBHOOK_SECRET: 'it is a secret' }
  const full = await readConfig({ env, cwd: '/', path, transports: shippedTransports, skills })
  assert.deepEqual(full.problems, [])
})
