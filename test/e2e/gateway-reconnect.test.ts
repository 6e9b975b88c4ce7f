import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startDovecot } from '../fixtures/dovecot.ts'
import { startSlackServer } from '../fixtures/slack-server.ts'
import { deliver } from '../fixtures/smtp-server.ts'
import { until } from '../fixtures/until.ts'
import { mail, serversOf } from '../transports/email/harness.ts'
import { callback } from '../transports/slack/harness.ts'

describe('gateway-reconnect', { timeout: 300_000 }, async () => {
  const [slack, dovecot] = await Promise.all([startSlackServer(), startDovecot()])
  after(() => Promise.all([slack.close(), dovecot.close()]))
  const mailbox = JSON.stringify(serversOf(dovecot.imapPort, 1, dovecot.password)).slice(1, -1)
  const site = openSite({
    routes: `
gateways:
  left: { transport: websocket, path: /left }
  right: { transport: websocket, path: /right }
  team: { transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${slack.apiUrl}", progress: off }
  support: { transport: email, ${mailbox} }
tokens:
  - { name: of-right, token: token-of-the-right-one, skills: ["gateway-*"], gateways: [right] }
routes: [{ name: all, skill: echo }]
`,
  })
  const daemon = await site.start()
  const reconnect = async (name: string) => {
    const { code, out, err } = await site.run(['gateway-reconnect', name, '--json'])
    assert.equal(code, 0, err)
    return JSON.parse(out)
  }
  const texts = async (gateway: string) => {
    const found = Object(await daemon.invoke('message-list', { gateway }))
    return found.map(({ text }: { text: string }) => text.trim())
  }

  test('closes the connections of its gateway only, which then accepts new ones', async () => {
    const [left, right] = [await daemon.chat('/left'), await daemon.chat('/right')]
    await until(() => slack.sockets.open() > 0, 'the socket of Slack')
    const sockets = slack.sockets.opened()
    assert.partialDeepStrictEqual(await reconnect('left'), { name: 'left', ok: true })
    await left.closed
    assert.equal(await right.ask('still there?'), 'You said: still there?')
    const again = await daemon.chat('/left')
    assert.equal(await again.ask('back?'), 'You said: back?')
    assert.equal(slack.sockets.opened(), sockets)
    again.close()
    right.close()
  })

  test('replaces the socket of Slack', async () => {
    const sockets = slack.sockets.opened()
    slack.sockets.goSilent()
    await reconnect('team')
    await until(() => slack.sockets.opened() > sockets, 'another socket')
    const ts = slack.nextTs()
    assert.ok((await slack.sockets.deliver('events_api', callback({ text: 'hello', ts }))).acked)
    await until(() => slack.posts.some(({ text }) => text?.includes('hello')), 'the answer')
  })

  test('continues to read a mailbox where it stopped', async () => {
    const deliverMail = (text: string) =>
      deliver(dovecot.lmtpPort, {
        from: 'anna@example.net',
        to: ['support@example.com'],
        raw: Buffer.from(mail({ text })),
      })
    const isReading = async () =>
      Object(await daemon.invoke('gateway-list', {})).some(
        ({ name, detail }: { name: string; detail?: string }) =>
          name === 'support' && detail?.startsWith('reading'),
      )
    await until(isReading, 'the mailbox to be read')
    await deliverMail('before')
    await until(async () => (await texts('support')).length === 1, 'the first mail')
    const [reconnected] = await Promise.all([reconnect('support'), deliverMail('meanwhile')])
    assert.equal(reconnected.name, 'support')
    await until(isReading, 'the mailbox to be read again')
    await deliverMail('after')
    await until(async () => (await texts('support')).length === 3, 'all mails')
    assert.deepEqual((await texts('support')).toSorted(), ['after', 'before', 'meanwhile'])
  })

  test('refuses an unknown gateway, and a token of other gateways', async () => {
    const { code, err } = await site.run(['gateway-reconnect', 'lefd'])
    assert.equal(code, 1)
    assert.match(err, /no running gateway lefd.*left/)
    const refused = await fetch(`${daemon.control}/v1/skills/gateway-reconnect`, {
      method: 'POST',
      headers: { authorization: 'Bearer token-of-the-right-one', 'content-type': 'application/json' },
      body: '{"gateway":"left"}',
    })
    assert.equal(refused.status, 403)
  })
})
