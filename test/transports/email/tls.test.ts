import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Dovecot, startDovecot } from '../../fixtures/dovecot.ts'
import { deliver } from '../../fixtures/smtp-server.ts'
import { until } from '../../fixtures/until.ts'
import { mail, startWorld, type World } from './harness.ts'

/** Made for these tests, for localhost and 127.0.0.1 only. */
const cert = join(import.meta.dirname, 'tls', 'cert.pem')
const key = join(import.meta.dirname, 'tls', 'key.pem')

describe('a mailbox behind TLS', () => {
  let world: World
  let dovecot: Dovecot
  before(async () => {
    world = await startWorld()
    dovecot = await startDovecot({ tls: { cert, key }, config: 'disable_plaintext_auth = yes' })
  })
  after(async () => {
    await world.close()
    await dovecot.close()
  })

  const imap = (port: number, more: object) => ({
    imap: { host: 'localhost', port, user: 'support@example.com', pass: dovecot.password, ...more },
  })

  test('is read over implicit TLS and over STARTTLS with an authority of its own', async () => {
    const ways = [
      imap(dovecot.imapsPort, { tls: 'implicit', ca: cert }),
      imap(dovecot.imapPort, { ca: cert }),
    ]
    for (const options of ways) {
      const daemon = await world.daemon(options)
      const raw = Buffer.from(mail({ text: 'sealed' }))
      await deliver(dovecot.lmtpPort, { from: 'anna@example.net', to: ['support@example.com'], raw })
      await until(() => daemon.store.messages.length === 1, 'the message')
      await daemon.stop()
    }
  })

  test('is not read where the server cannot be trusted, and the password never goes out', async () => {
    const wrong = [
      imap(dovecot.imapsPort, { tls: 'implicit' }),
      imap(dovecot.imapPort, {}),
      imap(world.dovecot.imapPort, {}),
    ]
    for (const options of wrong) {
      const daemon = await world.daemon(options, { start: 'later' })
      await daemon.transport.start()
      const health = await until(
        () => (daemon.transport.health().ok ? undefined : daemon.transport.health()),
        'red health',
      )
      assert.match(health.detail ?? '', /certificate|self.signed|STARTTLS/i)
      await daemon.stop()
    }
  })
})
