import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startSmtpServer } from '../fixtures/smtp-server.ts'

describe('trivium gateway send', { timeout: 120_000 }, async () => {
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

  test('waits for the outcome, and says it', async () => {
    const sent = await send('--gateway', 'mail', '--to', 'ada@example.net', '--key', 'one')
    assert.match(sent.out, /^Sent as <trivium\.\S+@example\.com>\.$/m)
    assert.equal(smtp.taken.length, 1)
    const again = await send('--gateway', 'mail', '--to', 'ada@example.net', '--key', 'one')
    assert.match(again.out, /The key mail:one was used before, so nothing is sent again\./)
    assert.equal(smtp.taken.length, 1)
    const { sent: isSent } = Object(
      JSON.parse((await send('--gateway', 'mail', '--to', 'bea@example.net', '--json')).out),
    )
    assert.equal(isSent, true)
  })

  test('with --wait 0 it does not wait, and says where the reply is; one for later says how to cancel it', async () => {
    const now = await send('--gateway', 'mail', '--to', 'ada@example.net', '--wait', '0')
    assert.match(now.out, /Not sent yet: it is in the outbox, and is tried for a day\. Key: \S+/)
    const later = await send('--gateway', 'mail', '--to', 'ada@example.net', '--in', '2h', '--key', 'later')
    assert.match(later.out, /It is sent at 20\S+Z \(waiting\)\. To cancel it: trivium send cancel mail:later/)
    assert.equal((await site.run(['send', 'cancel', 'mail:later'])).code, 0)
  })

  test('says once why the server refused', async () => {
    smtp.next.push({ kind: 'refuse', code: 550, text: '5.1.1 no such user' })
    const { code, err } = await send('--gateway', 'mail', '--to', 'nobody@example.net')
    assert.notEqual(code, 0)
    assert.match(err, /no such user/)
    assert.equal(err.split('permanently rejected').length, 2, err)
  })

  test('message show names all recipients of a mail', async () => {
    const mail = {
      MessageID: 'one',
      FromFull: { Email: 'ada@example.net' },
      ToFull: [{ Email: 'bot@example.com' }, { Email: 'bea@example.net' }],
      CcFull: [{ Email: 'cora@example.net' }],
      TextBody: 'Hello',
    }
    const { body } = await daemon.post('/mail', JSON.stringify(mail), { 'content-type': 'application/json' })
    const { out } = await site.run(['message', 'show', Object(body).id])
    assert.match(out, /^to: bot@example\.com, bea@example\.net$/m)
    assert.match(out, /^cc: cora@example\.net$/m)
  })

  for (const [what, args] of [
    ['to', ['--to', 'Ada']],
    ['one of several', ['--to', '["ada@example.net","b c@example.net"]']],
    ['cc', ['--to', 'ada@example.net', '--cc', 'ada@']],
    ['bcc', ['--to', 'ada@example.net', '--bcc', '["x@example.net","y"]']],
  ] as const) {
    test(`refuses what is no address at once, in ${what}, and nothing is sent`, async () => {
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

/** The flags as arguments of the skill. */
function argsOf(flags: readonly string[]): Record<string, unknown> {
  const pairs = flags.flatMap((flag, at) => (at % 2 === 0 ? [[flag.slice(2), flags[at + 1] ?? '']] : []))
  return Object.fromEntries(
    pairs.map(([key, value]) => [key, value?.startsWith('[') ? JSON.parse(value) : value]),
  )
}
