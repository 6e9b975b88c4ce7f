import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { getCACertificates, rootCertificates, setDefaultCACertificates } from 'node:tls'
import type { ImapFlow } from 'imapflow'
import { emailOptions } from '../../../transports/email/options.ts'
import { startDovecot } from '../../fixtures/dovecot.ts'
import { deliver } from '../../fixtures/smtp-server.ts'
import { until } from '../../fixtures/until.ts'
import { mail, type Options, replyTo, serversOf, startMailServer } from './harness.ts'

const mailServer = await startMailServer()
const subjects = (mails: string[]) => mails.map((each) => /^Subject: (.*)$/m.exec(each)?.[1]?.trim())

describe('a mailbox', () => {
  test('starts with new mail, all mail, or mail since a date', async () => {
    const from = (day: string, text: string) => ({ raw: mail({ text }), date: new Date(`${day}T12:00:00Z`) })
    // Moved or migrated mails may be in any order.
    const old = [
      from('2026-10-01', 'october'),
      from('2026-09-01', 'september'),
      from('2026-11-01', 'november'),
    ]
    const cases: [since: string, expected: string[]][] = [
      ['now', []],
      ['all', ['october', 'september', 'november']],
      ['2026-10-01', ['october', 'november']],
    ]
    for (const [since, expected] of cases) {
      const address = `since-${since}@example.com`
      await mailServer.as(address, async (client) => {
        for (const { raw, date } of old) await client.append('INBOX', raw, [], date)
      })
      const daemon = await mailServer.daemon({ address, since })
      await mailServer.deliver(mail({ text: 'new' }), address)
      await daemon.message(expected.length)
      assert.deepEqual(daemon.texts(), [...expected, 'new'])
    }
  })

  test('accepts mail as new that arrives between its start and the first read', async () => {
    const address = 'early@example.com'
    const daemon = await mailServer.daemon({ address }, { start: 'later' })
    const { leases } = daemon.store
    const delivered = Promise.withResolvers<void>()
    const acquire = (...args: Parameters<typeof leases.acquire>) =>
      delivered.promise.then(() => leases.acquire(...args))
    daemon.deps.leases = { ...leases, acquire }
    await daemon.transport.start()
    await mailServer.deliver(mail({ text: 'early' }), address)
    delivered.resolve()
    assert.equal((await daemon.message()).text, 'early')
  })

  test('keeps, marks, deletes or moves a mail only after it is accepted', async () => {
    const hasOne = (query: object) => async (user: string) =>
      ((await mailServer.as(user, (client) => client.search(query))) || []).length === 1
    const cases: [after: unknown, isDone: (user: string) => Promise<boolean>][] = [
      ['keep', hasOne({ seen: false })],
      ['seen', hasOne({ seen: true })],
      ['delete', async (user) => (await mailServer.mailbox(user)).length === 0],
      [
        { move: 'Done' },
        async (user) => (await mailServer.mailbox(user, 'Done').catch(() => [])).length === 1,
      ],
    ]
    for (const [after, isDone] of cases) {
      const address = `after-${typeof after === 'string' ? after : 'move'}@example.com`
      const daemon = await mailServer.daemon({ address, after })
      const release = daemon.store.hold()
      await mailServer.deliver(mail({}), address)
      await until(() => daemon.store.acceptCalls === 1, 'the call of accept')
      assert.equal((await mailServer.mailbox(address)).length, 1)
      release()
      await until(() => isDone(address), `the effect of after: ${JSON.stringify(after)}`)
      assert.equal(daemon.store.messages.length, 1)
    }
  })

  test('is read in order, also if some mails take longer', async () => {
    const address = 'order@example.com'
    const texts = Array.from({ length: 40 }, (_, index) => `mail ${index}`)
    await mailServer.as(address, async (client) => {
      for (const [index, text] of texts.entries()) {
        const attachment = `--B\n\n${text}\n--B\nContent-Type: application/x-slow\n\n${'x'.repeat(50_000)}\n--B--`
        const headers = { 'Content-Type': 'multipart/mixed; boundary=B' }
        await client.append('INBOX', index % 5 ? mail({ text }) : mail({ text: attachment, headers }))
      }
    })
    const daemon = await mailServer.daemon({ address, since: 'all' })
    await daemon.message(39)
    assert.deepEqual(daemon.texts(), texts)
  })

  test('puts the mails of a thread into one conversation, also if they are read together', async () => {
    const address = 'thread@example.com'
    await mailServer.as(address, async (client) => {
      for (const subject of ['Parcel', 'Re: Parcel']) await client.append('INBOX', mail({ subject }))
    })
    const daemon = await mailServer.daemon({ address, since: 'all' })
    const first = await daemon.message(0)
    const second = await daemon.message(1)
    assert.equal(second.conversation, first.conversation)
    assert.equal(
      daemon.store.acceptCalls,
      2,
      'the second mail is accepted after the first, in a call of its own',
    )
  })

  test('stores attachments and inline images as artifacts', async () => {
    const address = 'parts@example.com'
    const daemon = await mailServer.daemon({ address })
    await mailServer.deliver(
      await readFile(join(import.meta.dirname, 'mails', 'nested-related.eml')),
      address,
    )
    const { attachments, data } = await daemon.message()
    assert.deepEqual(
      attachments.map(({ name, type, size }) => [name, type, size]),
      [
        ['pic.png', 'image/png', 8],
        ['résumé.pdf', 'application/pdf', 5],
      ],
    )
    assert.deepEqual(data.inline, { 'pic@1': attachments[0]?.path })
    assert.equal((await readFile(join(daemon.dir, attachments[1]?.path ?? ''))).toString(), '%PDF-')
  })

  test('has the full text of a reply in the data, and a very long text in a file', async () => {
    const address = 'texts@example.com'
    const daemon = await mailServer.daemon({ address })
    await mailServer.deliver(await readFile(join(import.meta.dirname, 'mails', 'reply-gmail.eml')), address)
    const reply = await daemon.message()
    const long = `${'line of words\n'.repeat(40_000)}the end of it`
    await mailServer.deliver(mail({ text: long }), address)
    const longestText = 'many words on a line '.repeat(70).concat('\n').repeat(950)
    await mailServer.deliver(mail({ text: longestText }), address)
    assert.equal(reply.text, 'Yes, please send it again.')
    assert.match(String(reply.data.fullText), /Shall we send it again\?/)
    assert.equal((await daemon.message(1)).text, long)
    const longest = await daemon.message(2)
    assert.ok(longest.text.length <= 1_048_576)
    const file = await readFile(join(daemon.dir, String(longest.data.textPath)), 'utf8')
    // The text is read without spaces at the ends of its first lines.
    const withoutLineEnds = (text: string) => text.replaceAll(/ +$/gm, '').trimEnd()
    assert.ok(withoutLineEnds(file) === withoutLineEnds(longestText), 'the file has the whole text')
  })
})

test('an answer to a sent mail keeps words that were added within its unmarked quote', async () => {
  const address = 'answers@example.com'
  const question =
    'Before we send the shirt:\n\n- The size that you take.\n- The colour that you prefer.\n\nWe send it today.'
  const daemon = await mailServer.daemon({ address })
  await mailServer.deliver(mail({ text: 'A shirt, please.' }), address)
  const order = await daemon.message()
  await daemon.transport.send(replyTo(order, question))
  const [, id = ''] = /^Message-ID: (.*)$/im.exec(mailServer.smtp.taken.at(-1)?.raw.toString() ?? '') ?? []
  const headers = { 'In-Reply-To': id.trim() }
  const above = `Thanks.\n\nFrom: Shop <${address}>\nSent: Monday, March 2, 2026 10:00 AM\nTo: Anna <anna@example.net>\nSubject: Re: Help\n\n`
  for (const quote of [question, question.replace('prefer.', 'prefer. Red')])
    await mailServer.deliver(mail({ subject: 'Re: Help', headers, text: above + quote }), address)
  assert.equal((await daemon.message(1)).text, 'Thanks.')
  assert.match((await daemon.message(2)).text, /prefer\. Red/)
})

describe('an accepted mail', () => {
  test('that was not read completely is never deleted, but it is moved', async () => {
    const big = mail({ subject: 'over max-size', text: 'line\n'.repeat(30_000) })
    const address = 'partial@example.com'
    const daemon = await mailServer.daemon({ address, after: 'delete', 'max-size': '100kb' })
    await mailServer.deliver(big, address)
    await mailServer.deliver(mail({ subject: 'whole' }), address)
    await daemon.message(1)
    await until(
      async () => (await mailServer.mailbox(address)).length === 1,
      'the deletion of the complete mail',
    )
    assert.deepEqual(subjects(await mailServer.mailbox(address)), ['over max-size'])
    const { subject, data } = await daemon.message()
    assert.equal(subject, 'over max-size')
    assert.match(String(data.unreadable), /max-size/)
    assert.ok(daemon.logs.some(({ message }) => message.includes('not read completely')))

    const mover = 'partial-move@example.com'
    await mailServer.daemon({ address: mover, after: { move: 'Done' }, 'max-size': '100kb' })
    await mailServer.deliver(big, mover)
    await until(
      async () => (await mailServer.mailbox(mover, 'Done').catch(() => [])).length === 1,
      'the move',
    )
  })

  test('is moved into a nested folder, whatever the separator of the server', async () => {
    const address = 'nested@example.com'
    const options = { address, after: { move: 'Archive/2026' }, quarantine: 'Bad/Ones' }
    await mailServer.daemon({ ...options, 'allowed-senders': ['*@example.net'] })
    await mailServer.deliver(mail({ subject: 'let in' }), address)
    await mailServer.deliver(mail({ subject: 'kept out', from: 'eve@evil.example' }), address)
    await until(async () => (await mailServer.mailbox(address)).length === 0, 'an empty folder')
    assert.deepEqual(subjects(await mailServer.mailbox(address, 'Archive.2026')), ['let in'])
    assert.deepEqual(subjects(await mailServer.mailbox(address, 'Bad.Ones')), ['kept out'])
  })
})

test('mail cannot be moved into a folder that is read, which would be an endless loop', () => {
  const faultyOption = (options: object) => {
    const { error } = emailOptions.safeParse({ ...serversOf(143, 25, 'x'), ...options })
    return error?.issues.map(({ path }) => path.join('.')).join()
  }
  const folders = ['INBOX', 'Done']
  assert.equal(faultyOption({ folders, after: { move: 'Done' } }), 'after.move')
  assert.equal(faultyOption({ folders, quarantine: 'Done' }), 'quarantine')
  assert.equal(faultyOption({ quarantine: 'inbox' }), 'quarantine')
  assert.equal(faultyOption({ folders, after: { move: 'INBOX/Done' }, quarantine: 'Done/Bad' }), undefined)
})

describe('on a server that cannot expunge single mails (no UIDPLUS)', async () => {
  const config = 'protocol imap {\n imap_capability = IMAP4rev1 IDLE LITERAL+ NAMESPACE\n}'
  const plain = await startMailServer({ config })

  test('`delete` only marks mails, and refused mails stay, with the reason in the log', async () => {
    const address = 'marks@example.com'
    const own = mail({ subject: 'of the user' })
    await plain.as(address, (client) => client.append('INBOX', own, ['\\Deleted'], new Date(0)))
    const options = { address, after: 'delete', quarantine: 'Bad', 'allowed-senders': ['*@example.net'] }
    const { logs } = await plain.daemon(options)
    await plain.deliver(mail({ subject: 'let in' }), address)
    const marked = (client: ImapFlow) => client.search({ deleted: true, subject: 'let in' })
    await until(async () => ((await plain.as(address, marked)) || []).length > 0, 'the mark')
    await plain.deliver(mail({ subject: 'kept out', from: 'eve@evil.example' }), address)
    await until(() => JSON.stringify(logs).includes('neither MOVE nor UIDPLUS'), 'the reason')
    assert.deepEqual(subjects(await plain.mailbox(address)), ['of the user', 'let in', 'kept out'])
  })
})

describe('a mailbox behind TLS', async () => {
  /** A certificate for localhost and 127.0.0.1, created for these tests. */
  const [cert, key] = ['cert.pem', 'key.pem'].map((name) => join(import.meta.dirname, 'tls', name))
  assert.ok(cert && key)
  const dovecot = await startDovecot({ tls: { cert, key }, config: 'disable_plaintext_auth = yes' })
  after(() => dovecot.close())
  const { imapPort, imapsPort, password: pass } = dovecot
  const imap = (port: number, more: object = {}) => ({
    imap: { host: 'localhost', port, user: 'support@example.com', pass, ...more },
  })

  test('is read over implicit TLS and STARTTLS with a private certificate authority', async () => {
    for (const options of [imap(imapsPort, { tls: 'implicit', ca: cert }), imap(imapPort, { ca: cert })]) {
      const daemon = await mailServer.daemon(options)
      const raw = Buffer.from(mail({ text: 'sealed' }))
      await deliver(dovecot.lmtpPort, { from: 'anna@example.net', to: ['support@example.com'], raw })
      await daemon.message()
      await daemon.stop()
    }
  })

  test('is read with a certificate of the system although `ca` names another one', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'ca-'))
    const system = getCACertificates('default')
    setDefaultCACertificates([await readFile(cert, 'utf8')])
    t.after(async () => {
      setDefaultCACertificates(system)
      await rm(folder, { recursive: true })
    })
    const ca = join(folder, 'other.pem')
    await writeFile(ca, rootCertificates[0] ?? '')
    const daemon = await mailServer.daemon(imap(imapsPort, { tls: 'implicit', ca }))
    const raw = Buffer.from(mail({ text: 'sealed' }))
    await deliver(dovecot.lmtpPort, { from: 'anna@example.net', to: ['support@example.com'], raw })
    await daemon.message()
    await daemon.stop()
  })

  test('is not read if the server cannot be trusted, and health shows the reason', async () => {
    const wrong: [options: Options, reason: RegExp][] = [
      [imap(imapsPort, { tls: 'implicit' }), /self.signed.*`ca`/i],
      [imap(imapPort), /self.signed.*`ca`/i],
      [imap(mailServer.dovecot.imapPort), /STARTTLS.*`tls: none`/],
      [imap(imapPort, { tls: 'implicit' }), /version number.*`tls: starttls`/],
    ]
    for (const [options, reason] of wrong) {
      const daemon = await mailServer.daemon(options, { start: 'later' })
      await daemon.transport.start()
      await until(() => !daemon.transport.health().ok, 'red health')
      assert.match(daemon.transport.health().detail ?? '', reason)
    }
  })
})
