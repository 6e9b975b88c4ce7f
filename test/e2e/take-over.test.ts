import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { parseMail } from '../../transports/email/inbound/parse.ts'
import { openSite } from '../fixtures/daemon.ts'
import { startDovecot } from '../fixtures/dovecot.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { type Posted, startSlackServer } from '../fixtures/slack-server.ts'
import { deliver, startSmtpServer } from '../fixtures/smtp-server.ts'
import { until } from '../fixtures/until.ts'
import { inMailboxes, mail } from '../transports/email/harness.ts'
import { callback } from '../transports/slack/harness.ts'

const ANSWER = `export default { description: 'answers', run: ({ message }) => 'Bot: ' + message.text }`
const [BOT, ANNA] = ['support@example.com', 'anna@example.net']

for (const kind of ['embedded', 'redis'] as const) {
  describe(`a person who answers by mail, on ${kind}`, { timeout: 300_000 }, () => {
    test('takes over that conversation only, until it is resumed, also over a kill', async (t) => {
      const redis = kind === 'redis' ? await startRedisServer() : undefined
      const dovecot = await startDovecot()
      const smtp = await startSmtpServer({ lmtpPort: dovecot.lmtpPort })
      t.after(async () => {
        await smtp.close()
        await dovecot.close()
        await redis?.stop()
      })
      const routes = `
gateways:
  support:
    transport: email
    address: ${BOT}
    imap: { host: 127.0.0.1, port: ${dovecot.imapPort}, tls: none, user: ${BOT}, pass: ${dovecot.password} }
    smtp: { host: 127.0.0.1, port: ${smtp.port}, tls: none }
    authentication: off
    sent: { folder: Sent }
    handover: { when: on-human-reply, for: 12h }
routes: [{ name: answer, match: { gateway: support }, skill: answer }]
`
      const as = inMailboxes(dovecot)
      await as(BOT, (client) => client.mailboxCreate('Sent'))
      const site = openSite({
        ownProcess: 'first',
        routes,
        skills: { answer: ANSWER },
        env: redis ? { REDIS_URL: redis.url } : {},
      })
      let daemon = await site.start()
      const untilReading = () =>
        until(
          async () => {
            const gateways = Object(await daemon.invoke('gateway-list'))
            return gateways
              .find(({ name }: { name: string }) => name === 'support')
              ?.detail?.startsWith('reading INBOX, Sent')
          },
          'both folders to be read',
          60_000,
        )
      await untilReading()
      const write = (text: string, headers: Record<string, string>) =>
        deliver(dovecot.lmtpPort, {
          from: ANNA,
          to: [BOT],
          raw: Buffer.from(mail({ text, headers, subject: 'Parcel' })),
        })
      /** Waits for a mail of the bot. */
      const untilSent = (what: RegExp) =>
        until(
          async () => {
            const found = await Promise.all(smtp.taken.map(({ raw }) => parseMail(raw)))
            return found.find(({ text }) => what.test(text))
          },
          `${what}`,
          60_000,
        )
      const pauses = async () => Object(await daemon.invoke('pause-list'))
      const append = (raw: string) => as(BOT, (client) => client.append('Sent', Buffer.from(raw), ['\\Seen']))

      await write('Where is it?', { 'Message-ID': '<one@example.net>' })
      const reply = await untilSent(/Bot: Where is it\?/)
      await write('Another matter.', { 'Message-ID': '<other@example.net>' })
      await untilSent(/Bot: Another matter\./)
      // None of these pauses a conversation: a new mail, a forwarded one, a reply to an unknown
      // thread, and an automatic reply.
      const person = { from: `Sam <${BOT}>`, to: ANNA }
      await append(mail({ ...person, subject: 'Hello', id: 'fresh@example.com' }))
      await append(
        mail({ ...person, subject: 'Fwd: Parcel', headers: { References: '<other@example.net>' } }),
      )
      await append(mail({ ...person, subject: 'Re: x', headers: { 'In-Reply-To': '<unknown@example.net>' } }))
      await append(
        mail({
          ...person,
          subject: 'Re: Parcel',
          headers: { 'Auto-Submitted': 'auto-replied', 'In-Reply-To': '<other@example.net>' },
        }),
      )
      // The mail client of a person stores the answer in Sent, and sends it over its own server.
      const ours = reply.messageId ?? ''
      await append(
        mail({
          ...person,
          subject: 'Re: Parcel',
          id: 'sam@example.com',
          text: 'It is at our door.',
          headers: { 'In-Reply-To': '<one@example.net>', References: `<one@example.net> ${ours}` },
        }),
      )
      const [pause] = await until(
        async () => ((await pauses()).length > 0 ? pauses() : undefined),
        'the pause',
        60_000,
      )
      assert.deepEqual(
        [pause.kind, pause.gateway, pause.by, pause.reason],
        ['conversation', 'support', `support:${BOT}`, 'a person answered'],
      )
      assert.ok(pause.until - pause.since > 11 * 3_600_000)
      const entries = await until(async () => {
        const audited = await daemon.invoke('audit-list', { action: 'conversation-pause' })
        return Object(audited).entries.length > 0 && Object(audited).entries
      }, 'the entry of the pause')
      assert.deepEqual(
        [entries.length, entries[0].by, entries[0].target.conversation],
        [1, `support:${BOT}`, pause.name],
      )

      await daemon.end('SIGKILL')
      daemon = await site.start()
      await untilReading()
      // An answer to the person waits, although it lacks the earlier ids of the thread. The other
      // conversation continues.
      await write('Thanks, Sam.', { 'Message-ID': '<two@example.net>', 'In-Reply-To': '<sam@example.com>' })
      await write('And the other?', {
        'Message-ID': '<three@example.net>',
        'In-Reply-To': '<other@example.net>',
      })
      await untilSent(/Bot: And the other\?/)
      assert.equal(smtp.taken.filter(({ raw }) => /Thanks, Sam/.test(String(raw))).length, 0)
      assert.equal((await pauses()).length, 1)
      await daemon.invoke('conversation-resume', { conversation: pause.name })
      await untilSent(/Bot: Thanks, Sam\./)
      await daemon.end()
    })
  })
}

describe('a person who takes over in Slack', { timeout: 300_000 }, async () => {
  const slack = await startSlackServer()
  after(() => slack.close())
  const site = openSite({
    ownProcess: 'first',
    routes: `
gateways:
  team:
    { transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${slack.apiUrl}", progress: off, handover: { by: ["role:support"], for: 2h } }
access: { roles: { all: { members: ["*"], skills: [answer] }, support: { members: ["team:U2BOB"], skills: [answer] } } }
routes: [{ name: answer, match: { gateway: team, event: message }, skill: answer }]
`,
    skills: { answer: ANSWER },
  })
  let daemon = await site.start()
  const say = async (text: string, thread?: string): Promise<string> => {
    const ts = slack.nextTs()
    const place = thread === undefined ? { text, ts } : { text, ts, thread_ts: thread }
    assert.ok((await slack.sockets.deliver('events_api', callback(place))).acked)
    return ts
  }
  const shows = (what: RegExp) => (post: Posted) => what.test(JSON.stringify(post.blocks ?? '') + post.text)
  const shown = (what: RegExp) => until(() => slack.posts.find(shows(what)), `${what}`)
  const click = (on: Posted, user: string, trigger: string, action: string) => {
    const value = new RegExp(`"action_id":"${action}","value":"([^"]+)"`).exec(JSON.stringify(on.blocks))?.[1]
    return slack.sockets.deliver('interactive', {
      type: 'block_actions',
      team: { id: 'T0TEAM' },
      user: { id: user, team_id: 'T0TEAM' },
      channel: { id: 'C0GEN' },
      trigger_id: trigger,
      container: { type: 'message', message_ts: on.ts, channel_id: 'C0GEN' },
      message: { ts: on.ts, thread_ts: on.thread_ts ?? '' },
      actions: [{ action_id: action, value: value ?? '', action_ts: trigger }],
    })
  }
  const pauses = async () => Object(await daemon.invoke('pause-list'))

  test('uses a button below an answer, if they are allowed, and another one to hand back', async () => {
    const thread = await say('hello')
    const answer = await shown(/Bot: hello/)
    assert.ok(shows(/trivium-take-over/)(answer))
    await click(answer, 'U1ANN', '1.1', 'trivium-take-over')
    const refusal = await shown(/you are not in/)
    assert.equal(refusal.ephemeralTo, 'U1ANN')
    assert.deepEqual(await pauses(), [])

    await click(answer, 'U2BOB', '2.1', 'trivium-take-over')
    const taken = await shown(/<@U2BOB> has taken over, for 2h/)
    const [pause] = await pauses()
    assert.deepEqual([pause.kind, pause.gateway, pause.by], ['conversation', 'team', 'team:U2BOB'])
    await say('are you there?', thread)
    await say('in another thread')
    await shown(/Bot: in another thread/)
    assert.ok(!slack.posts.some(shows(/Bot: are you there/)))
    await click(answer, 'U2BOB', '3.1', 'trivium-take-over')
    await shown(/Taken over already/)

    await daemon.end('SIGKILL')
    daemon = await site.start()
    await click(taken, 'U2BOB', '4.1', 'trivium-hand-back')
    await shown(/<@U2BOB> has handed this conversation back/)
    await shown(/Bot: are you there\?/)
    assert.deepEqual(await pauses(), [])
    const { entries } = Object(await daemon.invoke('audit-list', { action: 'conversation-*' }))
    const seen = entries.map((one: { by: string; action: string; outcome: string }) => [
      one.by,
      one.action,
      one.outcome,
    ])
    assert.deepEqual(seen, [
      ['team:U2BOB', 'conversation-resume', 'ok'],
      ['team:U2BOB', 'conversation-pause', 'ok'],
      ['team:U1ANN', 'conversation-pause', 'forbidden'],
    ])
  })
})
