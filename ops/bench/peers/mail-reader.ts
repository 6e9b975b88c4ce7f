import { ImapFlow } from 'imapflow'
import { z } from 'zod'
import type { Log } from '../../../src/core/log.ts'
import { startRelay } from '../../../test/fixtures/smtp-server.ts'
import { startTransportFixture } from '../../../test/fixtures/transport-deps.ts'
import { until } from '../../../test/fixtures/until.ts'
import { emailOptions } from '../../../transports/email/options.ts'
import { createEmailTransport } from '../../../transports/email/transport.ts'
import { residentMegabytes } from '../lib/peer.ts'
import { servePeer } from '../lib/serve-peer.ts'

const USER = 'support@example.com'
const PASSWORD = 'secret-of-dovecot'
const PATIENCE = 120_000

const runSchema = z.object({ port: z.number(), count: z.number() })

/** The reader that waits in IDLE, and how long its mails took. */
let idle: { latencies: number[]; close(): Promise<void> } | undefined

servePeer(
  {
    /** What any client does at least: fetches the mails one after the other, and drops them. */
    async fetch(params) {
      const { port, count } = runSchema.parse(params)
      const began = performance.now()
      const client = new ImapFlow({
        host: '127.0.0.1',
        port,
        secure: false,
        doSTARTTLS: false,
        auth: { user: USER, pass: PASSWORD },
        logger: false,
        disableAutoIdle: true,
      })
      await client.connect()
      await client.mailboxOpen('INBOX', { readOnly: true })
      let done = 0
      for await (const { source } of client.fetch('1:*', { uid: true, source: true })) if (source) done++
      const took = (performance.now() - began) / 1000
      await client.logout()
      return { done, bad: count - done, rate: done / took }
    },

    /** The email transport takes in the same mails, from its start to the last accept. */
    async drain(params) {
      const { port, count } = runSchema.parse(params)
      const accepted = Promise.withResolvers<void>()
      let done = 0
      let resident = 0
      const began = performance.now()
      const reader = await startReader(port, 'all', () => {
        if (++done % 100 === 0) resident = Math.max(resident, residentMegabytes(process.pid))
        if (done === count) accepted.resolve()
      })
      const late = setTimeout(() => accepted.reject(new Error(`only ${done} came in`)), PATIENCE)
      await accepted.promise
      clearTimeout(late)
      const took = (performance.now() - began) / 1000
      await reader.close()
      return { done, bad: done - count, rate: done / took, resident }
    },

    /** Waits in IDLE from now on; a relay sees the server's notice of each mail first. */
    async idle(params) {
      const { port } = z.object({ port: z.number() }).parse(params)
      let noticedAt = 0
      const latencies: number[] = []
      const relay = await startRelay(port, (chunk) => {
        if (chunk.includes(' EXISTS')) noticedAt = performance.now()
        return 'pass'
      })
      const reader = await startReader(relay.port, 'now', () => latencies.push(performance.now() - noticedAt))
      await until(() => reader.isReading(), 'the mailbox to be read')
      const close = async () => {
        await reader.close()
        await relay.close()
      }
      idle = { latencies, close }
      return {}
    },

    /** The latency (ms) of the mail of that number, counted from 1, as soon as it is accepted. */
    async accepted(params) {
      const { number } = z.object({ number: z.number() }).parse(params)
      return { latency: await until(() => idle?.latencies[number - 1], `mail ${number}`) }
    },
  },
  () => idle?.close(),
)

/** The log of the fixture keeps every line, which would count as memory of the transport. */
const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLog }

/** The transport as a daemon has it, on a store that forgets: what a store costs, other rows tell. */
async function startReader(port: number, since: 'all' | 'now', onAccept: () => void) {
  const { deps, close } = await startTransportFixture({ gateway: 'support' })
  const options = emailOptions.parse({
    address: USER,
    imap: { host: '127.0.0.1', port, tls: 'none', user: USER, pass: PASSWORD },
    smtp: { host: '127.0.0.1', port: 1, tls: 'none' },
    authentication: 'off',
    since,
  })
  let serial = 0
  const transport = createEmailTransport(options, {
    ...deps,
    log: silentLog,
    // A store keeps its threads on disk; in memory they would count as the transport's own.
    kv: {
      ...deps.kv,
      set: async (key, ...rest) => (key.includes('/subject/') ? 1 : deps.kv.set(key, ...rest)),
    },
    async accept() {
      onAccept()
      return { id: `m-${serial++}`, duplicate: false }
    },
  })
  await transport.start()
  return {
    /** True once the mailbox was read to its end, and the reader waits for new mail. */
    isReading: async () =>
      transport.health().detail?.startsWith('reading') &&
      (await deps.kv.list('email/support/cursor/', 1)).length > 0,
    async close() {
      await transport.stop()
      await transport.close()
      await close()
    },
  }
}
