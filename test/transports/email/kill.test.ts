import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSite } from '../../fixtures/daemon.ts'
import { startSmtpServer } from '../../fixtures/smtp-server.ts'
import { until } from '../../fixtures/until.ts'
import { startWorld } from './harness.ts'

const world = await startWorld()

test('of the mails that a killed daemon was sending only those are in doubt that a server had', async (t) => {
  const smtp = await startSmtpServer({ delay: 200 })
  t.after(() => smtp.close())
  const { imapPort, password } = world.dovecot
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
  const all = Array.from({ length: 30 }, (_, at) => `to-${at}@example.net`)
  const first = await site.spawn()
  const send = (to: string) => first.invoke('gateway-send', { gateway: 'support', to, text: to, key: to })
  await Promise.all(all.map(send))
  await until(() => smtp.taken.length >= 10, 'mails on their way')
  await first.end('SIGKILL')
  const second = await site.start()
  const waiting = async () =>
    JSON.stringify(await second.get('/v1/status')).match(/"road":"outbox","messages":(\d+)/)?.[1]
  await until(async () => (await waiting()) === '0', 'the others')
  const letters = JSON.stringify(await second.invoke('dead-letter-list', { queue: 'outbox' }))
  const held = letters.match(/"reason":"ambiguous"/g)?.length ?? 0
  const taken = smtp.taken.flatMap(({ to }) => to)
  assert.equal(new Set(taken).size, taken.length, 'nothing is sent twice')
  const missing = all.filter((to) => !taken.includes(to))
  assert.deepEqual(
    missing.filter((to) => !letters.includes(to)),
    [],
    'nothing is lost',
  )
  assert.ok(held <= 3, `${held} are in doubt`)
  if (held > 0) assert.match(letters, /search for <trivium\.\w+@example\.com> in the log of your mail server/)
  await second.end()
})
