import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startSmtpServer } from '../../fixtures/smtp-server.ts'
import { until } from '../../fixtures/until.ts'
import { mail, replyTo, startWorld, type World } from './harness.ts'
import { encodeTnef } from './tnef-encoder.ts'

describe('a mailbox', () => {
  let world: World
  before(async () => {
    world = await startWorld()
  })
  after(() => world.close())

  const optionsFor = (user: string) => ({
    address: user,
    imap: {
      host: '127.0.0.1',
      port: world.dovecot.imapPort,
      tls: 'none',
      user,
      pass: world.dovecot.password,
    },
  })
  const texts = (messages: readonly { text: string }[]) => messages.map(({ text }) => text)

  test('starts with new mail only, unless it is told to take all, or from a date on', async () => {
    const at = (day: string, text: string) => ({ raw: mail({ text }), date: new Date(`${day}T12:00:00Z`) })
    const old = [at('2026-09-01', 'september'), at('2026-10-01', 'october'), at('2026-11-01', 'november')]
    const cases: [string, string[]][] = [
      ['now', []],
      ['all', ['september', 'october', 'november']],
      ['2026-10-01', ['october', 'november']],
    ]
    for (const [since, expected] of cases) {
      const user = `since-${since}@example.com`
      await world.as(user, async (client) => {
        for (const { raw, date } of old) await client.append('INBOX', raw, [], date)
      })
      const daemon = await world.daemon({ ...optionsFor(user), since })
      await world.deliver(mail({ text: 'new' }), user)
      await until(() => daemon.store.messages.length > expected.length, `the mails since ${since}`)
      assert.deepEqual(texts(daemon.store.messages), [...expected, 'new'])
      await daemon.stop()
    }
  })

  test('is left as it is, marked, emptied, or moved from, only after a mail is accepted', async () => {
    const cases: [unknown, (user: string) => Promise<boolean>][] = [
      [
        'keep',
        async (user) =>
          world
            .as(user, async (client) => (await client.search({ seen: false })) || [])
            .then((found) => found.length === 1),
      ],
      [
        'seen',
        async (user) =>
          world
            .as(user, async (client) => (await client.search({ seen: true })) || [])
            .then((found) => found.length === 1),
      ],
      ['delete', async (user) => (await world.mailbox(user)).length === 0],
      [{ move: 'Done' }, async (user) => (await world.mailbox(user, 'Done').catch(() => [])).length === 1],
    ]
    for (const [after, holds] of cases) {
      const user = `after-${typeof after === 'string' ? after : 'move'}@example.com`
      const daemon = await world.daemon({ ...optionsFor(user), after })
      const release = daemon.store.hold()
      await world.deliver(mail({}), user)
      await until(() => daemon.store.calls === 1, 'the call of accept')
      assert.equal((await world.mailbox(user)).length, 1)
      release()
      await until(() => holds(user), `what comes after: ${JSON.stringify(after)}`)
      assert.equal(daemon.store.messages.length, 1)
      await daemon.stop()
    }
  })

  test('with several folders is read in all of them', async () => {
    const user = 'folders@example.com'
    await world.as(user, (client) => client.mailboxCreate('Orders'))
    const daemon = await world.daemon({ ...optionsFor(user), folders: ['INBOX', 'Orders'] })
    await until(
      async () => (await daemon.deps.kv.list('email/support/cursor/', 10)).length === 2,
      'both cursors',
    )
    await world.as(user, (client) => client.append('Orders', mail({ text: 'order' })))
    await world.deliver(mail({ text: 'question' }), user)
    await until(() => daemon.store.messages.length === 2, 'both messages')
    assert.deepEqual(daemon.store.messages.map(({ text, data }) => [text, data.folder]).sort(), [
      ['order', 'Orders'],
      ['question', 'INBOX'],
    ])
    await daemon.stop()
  })

  test('with a backlog is taken in the order of the mailbox, also where one mail takes longer to read', async () => {
    const user = 'order@example.com'
    const texts = Array.from({ length: 40 }, (_, at) => `mail ${at}`)
    await world.as(user, async (client) => {
      for (const [at, text] of texts.entries()) {
        const attachment = `--B\n\n${text}\n--B\nContent-Type: application/x-slow\n\n${'x'.repeat(50_000)}\n--B--`
        const headers = { 'Content-Type': 'multipart/mixed; boundary=B' }
        await client.append('INBOX', at % 5 ? mail({ text }) : mail({ text: attachment, headers }))
      }
    })
    const daemon = await world.daemon({ ...optionsFor(user), since: 'all' })
    await until(() => daemon.store.messages.length === texts.length, 'the backlog')
    assert.deepEqual(
      daemon.store.messages.map((message) => message.text),
      texts,
    )
    await daemon.stop()
  })

  test('gives attachments and inline images as artifacts, with the text on its own', async () => {
    const user = 'parts@example.com'
    const daemon = await world.daemon(optionsFor(user))
    const raw = await readFile(join(import.meta.dirname, 'mails', 'nested-related.eml'))
    await world.deliver(raw, user)
    const message = await until(() => daemon.store.messages[0], 'the message')
    assert.deepEqual(
      message.attachments.map(({ name, type, size }) => [name, type, size]),
      [
        ['pic.png', 'image/png', 8],
        ['résumé.pdf', 'application/pdf', 5],
      ],
    )
    const [picture] = message.attachments
    assert.deepEqual(message.data.inline, { 'pic@1': picture?.path })
    assert.equal((await readFile(join(daemon.dir, message.attachments[1]?.path ?? ''))).toString(), '%PDF-')
    await daemon.stop()
  })

  test('gives what Outlook wrapped into winmail.dat as artifacts, from small mails and from big ones', async () => {
    const user = 'outlook@example.com'
    const daemon = await world.daemon(optionsFor(user))
    for (const size of [1000, 2_000_000]) {
      const content = randomBytes(size)
      const winmail = encodeTnef({ attachments: [{ title: 'offer.pdf', data: content }] })
      const headers = {
        'Content-Type': 'application/ms-tnef; name="winmail.dat"',
        'Content-Transfer-Encoding': 'base64',
      }
      const text = winmail.toString('base64').replaceAll(/.{76}/g, '$&\n')
      const count = daemon.store.messages.length
      await world.deliver(mail({ headers, text }), user)
      await until(() => daemon.store.messages.length > count, `the mail of ${size} bytes`)
      const attachments = daemon.store.messages.at(-1)?.attachments ?? []
      assert.deepEqual(
        attachments.map(({ name, type, size }) => [name, type, size]),
        [['offer.pdf', 'application/pdf', size]],
      )
      const path = join(daemon.dir, attachments[0]?.path ?? '')
      assert.ok((await readFile(path)).equals(content))
    }
    await daemon.stop()
  })

  test('keeps the whole text of a reply beside its new part, and long texts beside the message', async () => {
    const user = 'texts@example.com'
    const daemon = await world.daemon(optionsFor(user))
    await world.deliver(await readFile(join(import.meta.dirname, 'mails', 'reply-gmail.eml')), user)
    await until(() => daemon.store.messages.length === 1, 'the reply')
    await world.deliver(mail({ text: 'line of words\n'.repeat(10_000) }), user)
    await until(() => daemon.store.messages.length === 2, 'the long mail')
    const [reply, long] = daemon.store.messages
    assert.equal(reply?.text, 'Yes, please send it again.')
    assert.match(String(reply?.data.fullText), /Shall we send it again\?/)
    assert.ok((long?.text.length ?? 0) <= 65_536)
    assert.equal((await readFile(join(daemon.dir, String(long?.data.textPath)))).length, 139_999)
    await daemon.stop()
  })

  test('takes a mail of 40 MB by way of the disk, whole, and one over the limit by its headers', async () => {
    const user = 'big@example.com'
    const daemon = await world.daemon({ ...optionsFor(user), 'max-size': '45mb' })
    const bytes = randomBytes(30 * 1024 * 1024)
    const big = mail({
      subject: 'Big',
      headers: { 'Content-Type': 'multipart/mixed; boundary=B' },
      text: `--B\nContent-Type: text/plain\n\nSee the file.\n--B\nContent-Type: application/zip; name=big.zip\nContent-Disposition: attachment; filename=big.zip\nContent-Transfer-Encoding: base64\n\n${bytes.toString('base64').replaceAll(/.{76}/g, '$&\n')}\n--B--`,
    })
    await world.deliver(big, user)
    const message = await until(() => daemon.store.messages[0], 'the big message', 30_000)
    assert.equal(message.text, 'See the file.')
    assert.equal(message.attachments[0]?.name, 'big.zip')
    assert.equal(message.attachments[0]?.sha256, createHash('sha256').update(bytes).digest('hex'))
    await daemon.stop()

    const small = await world.daemon({ ...optionsFor('small@example.com'), 'max-size': '10kb' })
    await world.deliver(mail({ subject: 'Too big', text: 'x'.repeat(20_000) }), 'small@example.com')
    const told = await until(() => small.store.messages[0], 'the note')
    assert.equal(told.subject, 'Too big')
    assert.match(String(told.data.unreadable), /max-size/)
    await small.stop()
  })

  test('logs in with OAuth2, and renews the token when it is refused', async () => {
    let issued = 0
    const endpoint = createServer((request, response) => {
      let form = ''
      request.on('data', (chunk) => {
        form += chunk
      })
      request.on('end', () => {
        const good = new URLSearchParams(form).get('refresh_token') === 'the-refresh-token'
        response.writeHead(good ? 200 : 400, { 'content-type': 'application/json' })
        response.end(
          JSON.stringify(good ? { access_token: `token-${++issued}`, expires_in: 3600 } : { error: 'no' }),
        )
      })
    })
    await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve))
    const address = endpoint.address()
    assert.ok(address && typeof address === 'object')
    // The first token is out of date as soon as it is issued.
    const smtp = await startSmtpServer({ lmtpPort: world.dovecot.lmtpPort, accessToken: () => 'token-2' })
    const oauth2 = {
      'client-id': 'trivium',
      'refresh-token': 'the-refresh-token',
      'token-url': `http://127.0.0.1:${address.port}/token`,
    }
    const daemon = await world.daemon({
      smtp: { host: '127.0.0.1', port: smtp.port, tls: 'none', user: 'support@example.com', oauth2 },
    })
    await world.deliver(mail({ from: 'oauth@example.net' }))
    const message = await until(() => daemon.store.messages[0], 'the message')
    const send = () => daemon.transport.send(replyTo(message, 'with a token'))
    await send().catch(send)
    assert.equal((await world.mailbox('oauth@example.net')).length, 1)
    assert.doesNotMatch(JSON.stringify(daemon.logs), /token-\d|the-refresh-token/)
    await daemon.stop()
    await smtp.close()
    await new Promise((resolve) => endpoint.close(resolve))
  })

  test('is checked whole by the doctor, who leaves no trace', async () => {
    const user = 'doctor@example.com'
    const daemon = await world.daemon(optionsFor(user))
    const checks = await daemon.transport.check()
    assert.deepEqual(
      checks.filter(({ ok }) => !ok),
      [],
    )
    assert.deepEqual(
      checks.map(({ name }) => name),
      ['IMAP login', 'IMAP IDLE', 'SMTP login', 'mail to itself'],
    )
    assert.deepEqual(await world.mailbox(user), [])
    assert.equal(daemon.store.messages.length, 0)
    const broken = await world.daemon(
      { ...optionsFor(user), imap: { ...optionsFor(user).imap, pass: 'no' }, folders: ['Nowhere'] },
      { start: 'later' },
    )
    const found = await broken.transport.check()
    assert.equal(found[0]?.ok, false)
    assert.match(found[0]?.detail ?? '', /imap\.host, user and pass/)
    await broken.stop()
    await daemon.stop()
  })
})
