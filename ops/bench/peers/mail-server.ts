import { ImapFlow } from 'imapflow'
import { z } from 'zod'
import { startDovecot } from '../../../test/fixtures/dovecot.ts'
import { startRelay } from '../../../test/fixtures/relay.ts'
import { deliver } from '../../../test/fixtures/smtp-server.ts'
import { sampleMail } from '../lib/sample-mail.ts'
import { servePeer } from '../lib/serve-peer.ts'

const TO = 'support@example.com'

// Without fsync, because the reader is measured and not the disk of this server.
const dovecot = await startDovecot({ config: 'mail_fsync = never' })
let announcedAt = 0
const relay = await startRelay(dovecot.imapPort, (chunk) => {
  if (chunk.includes(' EXISTS')) announcedAt = Date.now()
  return 'pass'
})
let serial = 0

servePeer(
  {
    /** `relay`: the port of a relay that records when the server announces a new mail. */
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

    /** Delivers one mail, as another server would. Its UID is the number of mails so far. */
    async deliver() {
      const raw = sampleMail(serial++)
      await deliver(dovecot.lmtpPort, { from: 'anna@example.net', to: [TO], raw })
      return { uid: serial }
    },

    /** When (Unix ms) the server last announced a mail. */
    announcedAt: () => ({ at: announcedAt }),
  },
  async () => {
    await relay.close()
    await dovecot.close()
  },
)
