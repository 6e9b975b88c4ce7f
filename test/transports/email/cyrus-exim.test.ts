import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import nodemailer from 'nodemailer'
import { startCyrusAndExim } from '../../fixtures/cyrus-exim.ts'
import { until } from '../../fixtures/until.ts'
import { cursorOf, inMailboxes, mail, replyTo, serversOf, startMailServer } from './harness.ts'

const mailServer = await startMailServer()
const servers = await startCyrusAndExim()
after(() => servers.close())
const { imapPort, smtpPort, password } = servers
const as = inMailboxes(servers)
const options = (address: string) => ({ ...serversOf(imapPort, smtpPort, password, address), sweep: 100 })

/** Sends a mail by Exim, like an external sender. */
async function send(to: string, raw: string) {
  const smtp = nodemailer.createTransport({ host: '127.0.0.1', port: smtpPort, ignoreTLS: true })
  await smtp.sendMail({ envelope: { from: 'anna@example.net', to }, raw })
  smtp.close()
}

const texts = (user: string, folder?: string) =>
  as(
    user,
    async (client) => {
      // Cyrus refuses a FETCH of an empty mailbox.
      if (!client.mailbox || client.mailbox.exists === 0) return []
      return (await client.fetchAll('1:*', { source: true })).map(({ source }) => String(source))
    },
    folder,
  )

test('a mail on Cyrus is answered through Exim, with a copy in a folder that is created for it', async () => {
  const address = 'support@example.com'
  const daemon = await mailServer.daemon({ ...options(address), sent: { folder: 'Answers' } })
  await send(address, mail({ text: 'Where is it?' }))
  const message = await daemon.message()
  assert.equal(message.text, 'Where is it?')
  const { id } = await daemon.transport.send(replyTo(message, 'On its way.'))
  const arrived = async () => (await texts('anna@example.net')).some((each) => each.includes(id))
  await until(arrived, 'the answer')
  const [copy = ''] = await texts(address, 'Answers')
  assert.ok(copy.includes(id), JSON.stringify(daemon.logs))
})

test('a bounce of Exim is assigned to its send, and is not a message', async () => {
  const address = 'sender@example.com'
  const daemon = await mailServer.daemon(options(address))
  const reply = { key: 'k1', gateway: 'support', conversation: 'c', to: 'nobody@example.com', text: 'hello' }
  await daemon.transport.send(reply)
  await until(() => daemon.refused.includes('bounce'), 'the bounce')
  assert.deepEqual(daemon.texts(), [])
})

test('a folder on Cyrus that is deleted and created again is read again', async () => {
  const address = 'again@example.com'
  await as(address, (client) => client.mailboxCreate('Orders'))
  const daemon = await mailServer.daemon({ ...options(address), folders: ['INBOX', 'Orders'] })
  await until(() => cursorOf(daemon.store, 'support', 'Orders'), 'the folder')
  await as(address, async (client) => {
    await client.append('Orders', mail({ text: 'old' }))
    await daemon.message()
    await client.mailboxDelete('Orders')
    await client.mailboxCreate('Orders')
    await client.append('Orders', mail({ text: 'new' }))
  })
  await daemon.message(1)
  assert.deepEqual(daemon.texts(), ['old', 'new'])
})

test('doctor finds that Exim removes forged results', async () => {
  const address = 'doctor@example.com'
  const daemon = await mailServer.daemon({ ...options(address), trust: 'mx.example.com' }, { start: 'later' })
  const checks = await daemon.transport.check()
  assert.deepEqual(
    checks.filter(({ ok, warning }) => !ok || warning),
    [],
  )
  assert.ok(
    checks.some(({ name }) => name === 'trust mx.example.com'),
    JSON.stringify(checks),
  )
})
