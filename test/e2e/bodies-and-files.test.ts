import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type DaemonProcess, openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { startSmtpServer } from '../fixtures/smtp-server.ts'
import { until } from '../fixtures/until.ts'

const routes = (smtp: number) => `
gateways:
  hub: { transport: webhook, path: /hub, respond: result, timeout: 4m, max-body: 2mb }
  mail: { transport: email, address: desk@example.com, open: true,
          imap: { host: 127.0.0.1, port: 1, tls: none, user: a, pass: b }, smtp: { host: 127.0.0.1, port: ${smtp}, tls: none } }
routes:
  - { name: main, match: { data.body.ref: refs/heads/main }, skill: summarize-push }
  - { name: urgent, match: { text: "*urgent*" }, skill: say }
  - { name: table, match: { data.body.table: "true" }, skill: table }
  - { name: file, match: { data.format: file }, skill: reread }
  - { name: steal, match: { data.body.open: "*" }, skill: steal }
tokens:
  - { name: worker, token: worker-worker-worker-1, skills: [gateway-send, gateway-receive], gateways: [mail] }
`
const SKILLS = {
  say: `export default { description: 'answers', run: () => 'it is urgent' }`,
  table: `export default { description: 'mails a table', async run({ artifacts, manager }) {
    const file = await artifacts.save('sales.csv', 'text/csv', 'month,sum\\nMay,7\\n')
    await manager.invoke('gateway-send', { gateway: 'mail', to: 'ada@example.com', text: 'Sales.', attachments: [file], wait: 10000 })
  } }`,
  reread: `import { text } from 'node:stream/consumers'
  export default { description: 'reads a file', run: async ({ artifacts, message }) => text(await artifacts.open(message.attachments[0])) }`,
  steal: `export default { description: 'opens a path of the message', run: ({ artifacts, message }) => artifacts.open(message.data.body.open) }`,
}
const commits = Array.from({ length: 300 }, (_, n) => ({
  id: `${n}`.padStart(40, '0'),
  message: 'x'.repeat(400),
}))
const PUSH = JSON.stringify({ ref: 'refs/heads/main', commits, repository: { full_name: 'a/b' } })
const JSON_TYPE = { 'content-type': 'application/json' }

describe('large data', { concurrency: true, timeout: 300_000 }, () => {
  for (const kind of ['embedded', 'redis'] as const) {
    describe(`large bodies and files, on ${kind}`, { concurrency: 1 }, async () => {
      const redis = kind === 'redis' ? await startRedisServer() : undefined
      const smtp = await startSmtpServer()
      after(() => Promise.all([smtp.close(), redis?.stop()]))
      const env = redis ? { REDIS_URL: redis.url } : {}
      const start = () => openSite({ routes: routes(smtp.port), skills: SKILLS, env }).start()
      const here = await start()
      /**
       * On Redis, another daemon with its own data directory; on the embedded store, the same
       * daemon.
       */
      const there = redis ? await start() : here

      const replyTo = async (body: string | Buffer, headers: Record<string, string> = JSON_TYPE) => {
        const answer = await here.post('/hub', body, headers)
        return { status: answer.status, ...Object(answer.body) }
      }
      /** Requests a path below `/v1/artifacts`. With `body`, uploads it. */
      const files = (daemon: DaemonProcess, path: string, token = daemon.token, body?: string) =>
        fetch(`${daemon.control}/v1/artifacts${path}`, {
          headers: { authorization: `Bearer ${token}`, 'content-type': 'text/csv', connection: 'close' },
          ...(body !== undefined && { method: 'POST', body }),
        })
      const save = async (text: string, token = here.token) => {
        const answer = await files(here, '?name=report.csv', token, text)
        return Object(await answer.json()).result
      }

      test('a push of 300 commits is parsed for the route, the reply, the event and the receiver', async () => {
        await there.invoke('event-subscribe', { topic: 'gateway-message', queue: 'all' })
        const { status, id, reply } = await replyTo(gzipSync(PUSH), {
          ...JSON_TYPE,
          'content-encoding': 'gzip',
        })
        assert.equal(status, 200)
        assert.match(reply, /pushed 300 commits to main of a\/b/)
        const expected = JSON.parse(PUSH)
        const events = await there.invoke('event-wait', {
          topic: 'gateway-message',
          queue: 'all',
          timeout: 30_000,
        })
        assert.deepEqual(Object(events)[0].data.body, expected)
        assert.deepEqual(
          Object(await there.invoke('gateway-receive', { gateway: 'hub' })).data.body,
          expected,
        )
        assert.deepEqual(Object(await there.invoke('message-show', { id })).message.data.body, expected)
      })

      test('a route matches the end of a long text, and a body over `max-body` is refused', async () => {
        const padded = `${'x '.repeat(500_000)} this is urgent`
        assert.equal((await replyTo(padded, { 'content-type': 'text/plain' })).reply, 'it is urgent')
        assert.equal((await replyTo('x'.repeat(2 * 1024 * 1024 + 1))).status, 413)
      })

      test('a file that a skill creates can be sent by mail', async () => {
        await here.post('/hub', '{"table":true}', JSON_TYPE)
        const mail = (await until(() => smtp.taken.pop(), 'the mail')).raw.toString()
        assert.match(mail, /filename=sales\.csv/)
        assert.match(mail, new RegExp(Buffer.from('month,sum\nMay,7\n').toString('base64')))
      })

      test('a file that one daemon received can be read by any other', async () => {
        const big = 'line of a report\n'.repeat(200_000)
        const file = await save(big)
        assert.deepEqual([file.name, file.type, file.size], ['report.csv', 'text/csv', big.length])
        const answer = await files(there, `/${file.sha256}`)
        assert.match(String(answer.headers.get('content-disposition')), /^attachment/)
        assert.equal(await answer.text(), big)
        const empty = await save('')
        assert.equal(await (await files(there, `/${empty.sha256}`)).text(), '')
        const send = {
          gateway: 'mail',
          to: 'ada@example.com',
          text: 'A report.',
          attachments: [file],
          wait: 20_000,
        }
        assert.equal(Object(await there.invoke('gateway-send', send)).sent, true)
        assert.equal((await files(there, `/${'0'.repeat(64)}`)).status, 404)
        assert.equal((await files(here, '?name=x', here.token, 'x'.repeat(26 * 1024 * 1024))).status, 413)
        // A binary body is a file, which the daemon that runs the skill can read.
        for (let n = 0; n < 4; n++)
          assert.equal((await replyTo(`bytes ${n}`, { 'content-type': 'image/png' })).reply, `bytes ${n}`)
      })

      test('knowing the hash of a file does not grant access to it', async () => {
        const worker = 'worker-worker-worker-1'
        const [secret, own] = [await save('of an operator'), await save('of the worker', worker)]
        assert.equal((await files(there, `/${own.sha256}`, worker)).status, 200)
        const { id } = await replyTo('of a sender', { 'content-type': 'image/png' })
        const { sha256 } = Object(await here.invoke('message-show', { id })).message.attachments[0]
        const refused = [`/${secret.sha256}`, `/${sha256}`, `/${sha256}?message=${id}`]
        const statuses = refused.map(async (path) => (await files(there, path, worker)).status)
        assert.deepEqual(await Promise.all(statuses), [404, 404, 403])
        const args = { gateway: 'mail', to: 'a@example.com', text: '', attachments: [secret] }
        const sent = await fetch(`${here.control}/v1/skills/gateway-send`, {
          method: 'POST',
          headers: { authorization: `Bearer ${worker}`, ...JSON_TYPE, connection: 'close' },
          body: JSON.stringify(args),
        })
        assert.equal(Object(await sent.json()).error.code, 'artifact_not_found')
        await replyTo(JSON.stringify({ open: secret.path, textPath: secret.path }))
        const letters = Object(await here.invoke('dead-letter-list', {}))
        assert.equal(letters[0]?.errors[0].code, 'artifact_not_found')
      })

      test('a delivery with a file is refused while the store is down', {
        skip: kind === 'embedded',
      }, async () => {
        await redis?.stop()
        assert.equal((await replyTo('bytes', { 'content-type': 'image/png' })).status, 503)
        assert.equal((await replyTo(PUSH)).status, 503)
      })
    })
  }
})
