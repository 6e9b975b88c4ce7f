import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isJsonObject } from '../../../src/core/json.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { startMailServer } from './harness.ts'

const mailServer = await startMailServer()

describe('trivium doctor on a mailbox', async () => {
  const user = 'early@example.com'
  const { imapPort, password } = mailServer.dovecot
  const site = openSite({
    routes: `
gateways:
  support:
    transport: email
    address: ${user}
    imap: { host: 127.0.0.1, port: ${imapPort}, tls: none, user: ${user}, pass: "\${PASS}" }
    smtp: { host: 127.0.0.1, port: ${mailServer.smtp.port}, tls: none }
    trust: mx.example.com
    sent: { folder: Outgoing }
  hook: { transport: webhook, path: /hook }
  later: { transport: webhook, path: "/\${LATER}", enabled: auto }
routes: [{ name: all, skill: echo }]
`,
    env: { PASS: password },
  })

  const doctor = async (env: Record<string, string> = {}) => {
    const { code, out } = await site.run(['doctor', '--json'], env)
    const report: unknown = JSON.parse(out)
    assert.ok(isJsonObject(report) && Array.isArray(report.checks))
    const checks = report.checks.filter(isJsonObject)
    return { code, checks: new Map(checks.map(({ name, ...rest }) => [String(name), rest])) }
  }

  test('checks it without a daemon, so that a wrong password is found before the start', async () => {
    const { code, checks } = await doctor()
    assert.equal(code, 0, JSON.stringify([...checks]))
    for (const name of ['IMAP login', 'IMAP IDLE', 'SMTP login', 'mail to itself']) {
      assert.equal(checks.get(`support: ${name}`)?.ok, true, name)
    }
    assert.equal(checks.get('support: trust mx.example.com')?.warning, true, 'the server kept forged results')
    assert.equal(checks.get('support: folder Outgoing')?.ok, true, 'the first reply creates it')
    assert.match(String(checks.get('later')?.detail), /^off: LATER is not set/)
    assert.deepEqual(await mailServer.mailbox('early@example.com'), [], 'the test mail is removed')
    assert.ok(
      [...checks.keys()].some((name) => name.startsWith('hook: ')),
      'other gateways are checked too',
    )
    const wrong = await doctor({ PASS: 'mistyped' })
    assert.equal(wrong.code, 1)
    assert.match(String(wrong.checks.get('support: IMAP login')?.detail), /Check host, port, user and pass/)
  })

  test('runs in a daemon on request, for one gateway or all, and a GET sends no mail', async () => {
    const daemon = await site.start()
    const ask = async (method: string, body?: object) => {
      const response = await fetch(`${daemon.control}/v1/doctor`, {
        method,
        headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      const { result, error } = Object(await response.json())
      const checks: Record<string, unknown>[] = result ?? []
      const checksOf = (gateway: string) =>
        checks.filter(({ name }) => String(name).startsWith(`${gateway}: `))
      return { error, checks, checksOf }
    }
    const before = mailServer.smtp.taken.length
    const unchecked = await ask('GET')
    assert.deepEqual(
      unchecked.checksOf('support').map(({ detail }) => detail),
      ['not checked since the start of the daemon'],
    )
    assert.equal((await ask('POST', { gateway: 'hook' })).checksOf('hook').length, 1)
    assert.equal(mailServer.smtp.taken.length, before)
    const checked = (await ask('POST', { gateway: 'support' })).checks
    assert.ok(
      checked.every(({ name, ok }) => ok && String(name).startsWith('support: ')),
      JSON.stringify(checked),
    )
    assert.equal(mailServer.smtp.taken.length, before + 1)
    assert.deepEqual((await ask('GET')).checksOf('support'), checked)
    assert.equal(mailServer.smtp.taken.length, before + 1)
    const ofAll = await ask('POST')
    for (const gateway of ['support', 'hook']) assert.ok(ofAll.checksOf(gateway).length > 0, gateway)
    assert.equal(mailServer.smtp.taken.length, before + 2)
    assert.equal((await ask('POST', { gateway: 'none' })).error.code, 'gateway_not_found')
    assert.equal((await ask('POST', { gate: 'hook' })).error.code, 'bad_request')
  })
})
