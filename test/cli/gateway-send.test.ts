import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startSmtpServer } from '../fixtures/smtp-server.ts'

describe('trivium gateway send', { timeout: 300_000 }, async () => {
  const smtp = await startSmtpServer()
  after(() => smtp.close())
  const site = openSite({
    routes: `
gateways:
  mail:
    transport: email
    address: bot@example.com
    inbound: webhook
    webhook: { provider: postmark, path: /mail, verify: { scheme: none } }
    outbound: smtp
    smtp: { host: 127.0.0.1, port: ${smtp.port}, tls: none }
    open: true
  hook: { transport: webhook, path: /hook, verify: { scheme: none } }
routes: []
`,
  })
  const daemon = await site.start()
  const send = (...args: string[]) => site.run(['gateway', 'send', 'Hello.', ...args])

  test('waits for the outcome, and prints it', async () => {
    const sent = await send('--gateway', 'mail', '--to', 'ada@example.net', '--key', 'one')
    assert.match(sent.out, /^Sent as <trivium\.\S+@example\.com>\.$/m)
    assert.equal(smtp.taken.length, 1)
    const repeated = await send('--gateway', 'mail', '--to', 'ada@example.net', '--key', 'one')
    assert.match(repeated.out, /The key mail:one was used before, so nothing is sent again\./)
    assert.equal(smtp.taken.length, 1)
    const { out } = await send('--gateway', 'mail', '--to', 'bea@example.net', '--json')
    assert.equal(JSON.parse(out).sent, true)
  })

  test('does not wait with --wait 0', async () => {
    const { out } = await send('--gateway', 'mail', '--to', 'ada@example.net', '--wait', '0')
    assert.match(out, /Not sent yet: it is in the outbox, and is tried for a day\. Key: \S+/)
  })

  test('prints how to cancel a send for later', async () => {
    const { out } = await send('--gateway', 'mail', '--to', 'ada@example.net', '--in', '2h', '--key', 'later')
    assert.match(out, /It is sent at 20\S+Z \(waiting\)\. To cancel it: `trivium send cancel mail:later`/)
    assert.equal((await site.run(['send', 'cancel', 'mail:later'])).code, 0)
  })

  test('prints the reason of the server once if it rejects a mail', async () => {
    smtp.misfortunes.push({ kind: 'refuse', code: 550, text: '5.1.1 no such user' })
    const { code, err } = await send('--gateway', 'mail', '--to', 'nobody@example.net')
    assert.notEqual(code, 0)
    assert.match(err, /no such user/)
    assert.equal(err.split('permanently rejected').length, 2, err)
  })

  test('reaches a gateway for which message show names all recipients of a mail', async () => {
    const mail = {
      MessageID: 'one',
      FromFull: { Email: 'ada@example.net' },
      ToFull: [{ Email: 'bot@example.com' }, { Email: 'bea@example.net' }],
      CcFull: [{ Email: 'cora@example.net' }],
      TextBody: 'Hello',
    }
    const { body } = await daemon.post('/mail', JSON.stringify(mail), { 'content-type': 'application/json' })
    const { out } = await site.run(['message', 'show', Object(body).id])
    assert.match(out, /^to {2,}bot@example\.com, bea@example\.net$/m)
    assert.match(out, /^cc {2,}cora@example\.net$/m)
  })

  for (const [what, args] of [
    ['to', ['--to', 'Ada']],
    ['one of several', ['--to', '["ada@example.net","b c@example.net"]']],
    ['cc', ['--to', 'ada@example.net', '--cc', 'ada@']],
    ['bcc', ['--to', 'ada@example.net', '--bcc', '["x@example.net","y"]']],
  ] as const) {
    test(`refuses an invalid address in ${what}, and sends nothing`, async () => {
      const before = smtp.taken.length
      await assert.rejects(
        daemon.invoke('gateway-send', { gateway: 'mail', text: 'x', ...argsOf(args) }),
        /"[^"]*" is not one mail address/,
      )
      const { err } = await send('--gateway', 'mail', ...args)
      assert.match(err, /is not one mail address/)
      assert.equal(smtp.taken.length, before)
    })
  }
})

/** The arguments of the skill for flags with a value each. */
function argsOf(flags: readonly string[]): Record<string, unknown> {
  const args: Record<string, unknown> = {}
  for (let index = 0; index < flags.length; index += 2) {
    const [flag = '', value = ''] = flags.slice(index)
    args[flag.slice('--'.length)] = value.startsWith('[') ? JSON.parse(value) : value
  }
  return args
}
