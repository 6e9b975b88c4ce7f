import { ImapFlow } from 'imapflow'
import { z } from 'zod'
import { servePeer } from '../lib/serve-peer.ts'

servePeer({
  /**
   * The least that any client does: logs in, and fetches all mails with one command. The mails are
   * discarded.
   */
  async fetch(params) {
    const { port, count } = z.object({ port: z.number(), count: z.number() }).parse(params)
    const start = performance.now()
    const client = new ImapFlow({
      host: '127.0.0.1',
      port,
      secure: false,
      doSTARTTLS: false,
      auth: { user: 'support@example.com', pass: 'secret-of-dovecot' },
      logger: false,
    })
    await client.connect()
    await client.mailboxOpen('INBOX', { readOnly: true })
    let read = 0
    for await (const { source } of client.fetch('1:*', { uid: true, source: true })) if (source) read++
    const duration = (performance.now() - start) / 1000
    await client.logout()
    return { total: count, bad: count - read, duration }
  },
})
