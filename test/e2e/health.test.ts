import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import type { JsonObject } from '../../src/core/json.ts'
import { openSite } from '../fixtures/daemon.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const HOOKS = Array.from(
  { length: 9 },
  (_, n) => `  h${n}: { transport: webhook, path: /h${n}, verify: { scheme: none } }`,
)
const SECRET = 'not-to-be-shown'
const ROUTES = `
gateways:
${HOOKS.join('\n')}
  signed: { transport: webhook, path: /signed, verify: { scheme: github, secret: ${SECRET} } }
  chat: { transport: websocket, path: /ws }
  away: { transport: email, address: a@example.com, imap: &away { host: 127.0.0.1, port: 1, tls: none, user: a, pass: b }, smtp: *away }
routes:
  - { name: slow, match: { text: slow }, skill: slow }
  - { name: rest, skill: echo }
`
const SKILLS = {
  slow: `export default { description: 'waits', run: ({ signal }) => new Promise((_, no) => signal.addEventListener('abort', no)) }`,
}

describe('the health of a daemon', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({
    ownProcess: true,
    routes: ROUTES,
    skills: SKILLS,
    env: { TRIVIUM_GRACE: '0' },
  })
  const page = async () => (await fetch(`${suite.daemon.control}/metrics`)).text()
  const metric = async (name: string) =>
    Number(
      (await page())
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')
        .at(-1),
    )
  const ready = async () => {
    const response = await fetch(`${suite.daemon.control}/readyz`)
    return { status: response.status, detail: Object(await response.json()).detail }
  }

  test('has a red gateway if its provider cannot be reached, while the daemon is ready', async () => {
    const answer = await until(async () => {
      const answer = await ready()
      return answer.detail.gateways.length > 0 ? answer : undefined
    }, 'a red gateway')
    assert.deepEqual([answer.status, answer.detail.gateways[0].name], [200, 'away'])
    assert.equal(await metric('trivium_gateway_up{gateway="away"}'), 0)
  })

  test('has the number and age of running messages', async () => {
    await suite.site.run(['message', 'cli', 'slow', '--wait', '0'])
    await until(
      async () => (await metric(`trivium_oldest_running_seconds{road="dispatch",gateway="cli"}`)) > 0.01,
      'an age',
    )
    assert.equal(await metric('trivium_depth{road="dispatch"}'), 1)
  })

  test('`status` fits a screen of 24 lines, with problems first, and is complete in a pipe', async (t) => {
    const piped = await suite.site.run(['status'])
    assert.doesNotMatch(piped.out, /more: `trivium status/)
    assert.match(piped.out, /Words of the assistant\s+\d+; all: `trivium skill list --all`/)
    assert.doesNotMatch(piped.out, /remember-note/)
    const { isTTY } = process.stdout
    process.stdout.isTTY = true
    t.after(() => {
      process.stdout.isTTY = isTTY
    })
    const out = stripVTControlCharacters((await suite.site.run(['status'])).out)
    assert.ok(out.split('\n').length <= 24, out)
    assert.match(
      out,
      /Gateways.*\n *away\s+email\s+FAILING.*\n[\s\S]*and 10 more[\s\S]*dispatch\s+1\s+\d+ (?:s|min)/,
    )
    assert.match(out, /Words of the assistant\s+\d+; all: `trivium skill list --all`/)
  })

  test('reports an empty, incomplete or invalid configuration, and the last good one stays in force', async () => {
    for (const content of [
      '',
      ROUTES.slice(0, ROUTES.indexOf('routes:')),
      'routes: [{ name: rest, skill: echo }]',
      'x: [',
    ]) {
      suite.site.write('routes.yaml', content)
      await until(async () => (await metric('trivium_config_last_reload_successful')) === 0, content)
      const { status, detail } = await ready()
      assert.deepEqual([status, /last good/.test(detail.configuration)], [200, true])
      assert.match((await suite.site.run(['status'])).out, /CONFIGURATION: .*routes\.yaml/)
      assert.match((await suite.site.run(['doctor'])).out, /✗\s+configuration of the daemon[\s\S]*last good/)
      assert.equal((await suite.site.run(['reload'])).code, 2, content)
      assert.equal((await suite.daemon.post('/h1', '{}')).status, 202)
      suite.site.write('routes.yaml', ROUTES)
      await until(async () => (await metric('trivium_config_last_reload_successful')) === 1, 'the good file')
    }
  })

  test('lists refused deliveries with reasons and without secrets', async () => {
    const form = `password=hunter22&mine=${SECRET}&text=hello`
    assert.equal(
      (await suite.daemon.post('/signed', form, { 'x-hub-signature-256': 'sha256=00' })).status,
      401,
    )
    assert.equal((await fetch(`${suite.daemon.url}/h1`)).status, 405)
    const chat = await suite.daemon.chat()
    chat.socket.send('{"type":"shout","text":"hey"}')
    await chat.next('error')
    chat.close()
    const { daemon: name, refusals } = JSON.parse((await suite.site.run(['refused', '--json'])).out)
    assert.match(name, new RegExp(`:${suite.daemon.pid}:`))
    const shown = refusals.map(
      ({ at: _at, from, why: _why, id: _id, headers: _headers, ...rest }: JsonObject) => ({
        ...rest,
        local: /127/.test(String(from)),
      }),
    )
    const { headers } = refusals.find(({ gateway }: JsonObject) => gateway === 'signed')
    assert.equal(headers['x-hub-signature-256'], 'sha256=[2 characters]')
    assert.deepEqual(shown, [
      { gateway: 'chat', reason: 'bad_request', body: '{"type":"shout","text":"hey"}', local: true },
      { gateway: 'h1', reason: 'method_not_allowed', local: true },
      {
        gateway: 'signed',
        reason: 'signature_invalid',
        body: 'password=[secret]&mine=[secret]&text=hello',
        local: true,
      },
    ])
    assert.match(
      (await suite.site.run(['refused', '--gateway', 'signed'])).out,
      /signed\s+127\.0\.0\.1\t.*signature check/,
    )
    assert.match((await suite.site.run(['refused', '--gateway', 'sined'])).err, /Did you mean signed/)
  })

  test('lists at most the newest 50 refusals of a gateway, with 500 characters of each', async () => {
    const headers = { 'x-hub-signature-256': 'sha256=00' }
    for (let n = 0; n < 60; n++) await suite.daemon.post('/signed', `${n} ${'x'.repeat(600)}`, headers)
    const { refusals } = Object(await suite.daemon.invoke('refused', { gateway: 'signed' }))
    assert.deepEqual(
      [refusals.length, refusals[0].body.slice(0, 3), refusals[0].body.length],
      [50, '59 ', 500],
    )
    const lines = suite.daemon.output().match(/.*"gateway":"signed","reason":"signature_invalid".*/g)
    assert.match(lines?.[0] ?? '', /"level":30.*"why":"[^"]*signature check.*"msg":"deliveries are refused"/)
    assert.ok(Number(lines?.length) < 5, `${lines?.length} lines for 61 of a kind`)
  })

  test('distinguishes a frozen daemon from one that does not run', async () => {
    process.kill(suite.daemon.pid, 'SIGSTOP')
    try {
      const [status, doctor] = await Promise.all([suite.site.run(['status']), suite.site.run(['doctor'])])
      assert.equal(status.code, 1)
      assert.match(status.err, new RegExp(`process ${suite.daemon.pid}.*did not answer`))
      assert.equal(doctor.code, 1)
      assert.match(doctor.out, /✗\s+daemon\s+.*did not answer/)
    } finally {
      process.kill(suite.daemon.pid, 'SIGCONT')
    }
  })
})

test('a configuration that is saved while the daemon starts is applied', async () => {
  const routes = (path: string) =>
    `gateways: { hook: { transport: webhook, path: ${path}, verify: { scheme: none } } }\nroutes: []\n`
  // Saves the new configuration when the daemon begins to listen. It has read the old one by then.
  const saver = `
    import { writeFileSync } from 'node:fs'
    import { Server } from 'node:net'
    const { listen } = Server.prototype
    Server.prototype.listen = function (...args) {
      Server.prototype.listen = listen
      writeFileSync('routes.yaml', ${JSON.stringify(routes('/new'))})
      return listen.apply(this, args)
    }
    export default { description: 'saves', run() {} }`
  const daemon = await openSite({ ownProcess: true, routes: routes('/old'), skills: { saver } }).start()
  await until(async () => (await daemon.post('/new', '{}')).status === 202, 'the new path')
})
