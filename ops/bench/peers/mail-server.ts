import { ImapFlow } from 'imapflow'
import { z } from 'zod'
import { startDovecot } from '../../../test/fixtures/dovecot.ts'
import { startRelay } from '../../../test/fixtures/relay.ts'
import { deliver } from '../../../test/fixtures/smtp-server.ts'
import { sampleMail } from '../lib/sample-mail.ts'
import { servePeer } from '../lib/serve-peer.ts'

const TO = 'support@example.com'

// What is measured is the reader, not how fast this server's disk is.
const dovecot = await startDovecot({ config: 'mail_fsync = never' })
let noticedAt = 0
const relay = await startRelay(dovecot.imapPort, (chunk) => {
  if (chunk.includes(' EXISTS')) noticedAt = Date.now()
  return 'pass'
})
let serial = 0

servePeer(
  {
    /** `relay`: a port on which it is seen when the server tells of a new mail. */
    ports: () => ({ imap: dovecot.imapPort, relay: relay.port }),

    /** Fills the mailbox. */
    async fill(params) {
      const { count } = z.object({ count: z.number() }).parse(params)
      const client = new ImapFlow({
        host: '127.0.0.1',
        port: dovecot.imapPort,
        secure: false,
        doSTARTTLS: false,
        auth: { user: TO, pass: dovecot.password },
        logger: false,
      })
      await client.connect()
      for (let n = 0; n < count; n++) await client.append('INBOX', sampleMail(serial++))
      await client.logout()
      return {}
    },

    /** One mail as it comes in from another server. */
    async deliver() {
      const raw = sampleMail(serial++)
      await deliver(dovecot.lmtpPort, { from: 'anna@example.net', to: [TO], raw })
      return { serial }
    },

    /** When (Unix ms) the relay saw the server tell of a mail last. */
    noticed: () => ({ at: noticedAt }),
  },
  async () => {
    await relay.close()
    await dovecot.close()
  },
)
