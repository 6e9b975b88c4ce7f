import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSite } from '../../fixtures/daemon.ts'
import { startSmtpServer } from '../../fixtures/smtp-server.ts'
import { until } from '../../fixtures/until.ts'
import { startMailServer } from './harness.ts'

const mailServer = await startMailServer()

test('after a kill, only mails that were being transferred are ambiguous, and the others are sent once', async (t) => {
  const smtp = await startSmtpServer({ delay: 200 })
  t.after(() => smtp.close())
  const { imapPort, password } = mailServer.dovecot
  const user = 'killed@example.com'
  const site = openSite({
    routes: `
gateways:
  support:
    transport: email
    address: ${user}
    imap: { host: 127.0.0.1, port: ${imapPort}, tls: none, user: ${user}, pass: ${password} }
    smtp: { host: 127.0.0.1, port: ${smtp.port}, tls: none }
    open: true
    rate-limit: off
routes: [{ name: all, skill: echo, match: { gateway: support } }]
`,
  })
  const all = Array.from({ length: 30 }, (_, index) => `to-${index}@example.net`)
  const first = await site.spawn()
  const send = (to: string) => first.invoke('gateway-send', { gateway: 'support', to, text: to, key: to })
  await Promise.all(all.map(send))
  await until(() => smtp.taken.length >= 10, 'ten sent mails')
  await first.end('SIGKILL')
  const second = await site.start()
  const waiting = async () =>
    JSON.stringify(await second.get('/v1/status')).match(/"road":"outbox","messages":(\d+)/)?.[1]
  await until(async () => (await waiting()) === '0', 'the others')
  const letters = JSON.stringify(await second.invoke('dead-letter-list', { queue: 'outbox' }))
  const ambiguous = letters.match(/"reason":"ambiguous"/g)?.length ?? 0
  const sent = smtp.taken.flatMap(({ to }) => to)
  assert.equal(new Set(sent).size, sent.length, 'no mail is sent twice')
  const missing = all.filter((to) => !sent.includes(to))
  assert.deepEqual(
    missing.filter((to) => !letters.includes(to)),
    [],
    'no mail is lost',
  )
  assert.ok(ambiguous <= 3, `${ambiguous} are ambiguous`)
  if (ambiguous > 0)
    assert.match(letters, /search for <trivium\.\w+@example\.com> in the log of your mail server/)
  await second.end()
})
