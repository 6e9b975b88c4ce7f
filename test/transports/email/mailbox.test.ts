import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { ImapFlow } from 'imapflow'
import { emailOptions } from '../../../transports/email/options.ts'
import { startDovecot } from '../../fixtures/dovecot.ts'
import { deliver } from '../../fixtures/smtp-server.ts'
import { until } from '../../fixtures/until.ts'
import { mail, type Options, replyTo, serversOf, startWorld } from './harness.ts'

const world = await startWorld()
const subjects = (mails: string[]) => mails.map((each) => /^Subject: (.*)$/m.exec(each)?.[1]?.trim())

describe('a mailbox', () => {
  test('starts with new mail only, unless it is told to take all, or from a date on', async () => {
    const at = (day: string, text: string) => ({ raw: mail({ text }), date: new Date(`${day}T12:00:00Z`) })
    // What was moved or migrated stands in any order.
    const old = [at('2026-10-01', 'october'), at('2026-09-01', 'september'), at('2026-11-01', 'november')]
    const cases: [string, string[]][] = [
      ['now', []],
      ['all', ['october', 'september', 'november']],
      ['2026-10-01', ['october', 'november']],
    ]
    for (const [since, expected] of cases) {
      const address = `since-${since}@example.com`
      await world.as(address, async (client) => {
        for (const { raw, date } of old) await client.append('INBOX', raw, [], date)
      })
      const daemon = await world.daemon({ address, since })
      await world.deliver(mail({ text: 'new' }), address)
      await daemon.message(expected.length)
      assert.deepEqual(daemon.texts(), [...expected, 'new'])
    }
  })

  test('takes what comes between its start and the first look as new', async () => {
    const address = 'early@example.com'
    const daemon = await world.daemon({ address }, { start: 'later' })
    const { leases } = daemon.store
    const delivered = Promise.withResolvers<void>()
    const acquire = (...args: Parameters<typeof leases.acquire>) =>
      delivered.promise.then(() => leases.acquire(...args))
    daemon.deps.leases = { ...leases, acquire }
    await daemon.transport.start()
    await world.deliver(mail({ text: 'early' }), address)
    delivered.resolve()
    assert.equal((await daemon.message()).text, 'early')
  })

  test('is left as it is, marked, emptied, or moved from, only after a mail is accepted', async () => {
    const count = (query: object) => async (user: string) =>
      ((await world.as(user, (client) => client.search(query))) || []).length === 1
    const cases: [unknown, (user: string) => Promise<boolean>][] = [
      ['keep', count({ seen: false })],
      ['seen', count({ seen: true })],
      ['delete', async (user) => (await world.mailbox(user)).length === 0],
      [{ move: 'Done' }, async (user) => (await world.mailbox(user, 'Done').catch(() => [])).length === 1],
    ]
    for (const [after, holds] of cases) {
      const address = `after-${typeof after === 'string' ? after : 'move'}@example.com`
      const daemon = await world.daemon({ address, after })
      const release = daemon.store.hold()
      await world.deliver(mail({}), address)
      await until(() => daemon.store.calls === 1, 'the call of accept')
      assert.equal((await world.mailbox(address)).length, 1)
      release()
      await until(() => holds(address), `what comes after: ${JSON.stringify(after)}`)
      assert.equal(daemon.store.messages.length, 1)
    }
  })

  test('with a backlog is taken in the order of the mailbox, also where one mail takes longer to read', async () => {
    const address = 'order@example.com'
    const texts = Array.from({ length: 40 }, (_, at) => `mail ${at}`)
    await world.as(address, async (client) => {
      for (const [at, text] of texts.entries()) {
        const attachment = `--B\n\n${text}\n--B\nContent-Type: application/x-slow\n\n${'x'.repeat(50_000)}\n--B--`
        const headers = { 'Content-Type': 'multipart/mixed; boundary=B' }
        await client.append('INBOX', at % 5 ? mail({ text }) : mail({ text: attachment, headers }))
      }
    })
    const daemon = await world.daemon({ address, since: 'all' })
    await daemon.message(39)
    assert.deepEqual(daemon.texts(), texts)
  })

  test('with a backlog has a thread in one conversation, though all of it is taken at once', async () => {
    const address = 'thread@example.com'
    await world.as(address, async (client) => {
      for (const subject of ['Parcel', 'Re: Parcel']) await client.append('INBOX', mail({ subject }))
    })
    const daemon = await world.daemon({ address, since: 'all' })
    const { conversation } = await daemon.message(1)
    assert.deepEqual([(await daemon.message()).conversation, daemon.store.calls], [conversation, 2])
  })

  test('gives attachments and inline images as artifacts', async () => {
    const address = 'parts@example.com'
    const daemon = await world.daemon({ address })
    await world.deliver(await readFile(join(import.meta.dirname, 'mails', 'nested-related.eml')), address)
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

  test('keeps the whole text of a reply beside its new part, and long texts beside the message', async () => {
    const address = 'texts@example.com'
    const daemon = await world.daemon({ address })
    await world.deliver(await readFile(join(import.meta.dirname, 'mails', 'reply-gmail.eml')), address)
    const reply = await daemon.message()
    const long = `${'line of words\n'.repeat(40_000)}the end of it`
    await world.deliver(mail({ text: long }), address)
    await world.deliver(mail({ text: 'many words on a line '.repeat(70).concat('\n').repeat(950) }), address)
    assert.equal(reply.text, 'Yes, please send it again.')
    assert.match(String(reply.data.fullText), /Shall we send it again\?/)
    assert.equal((await daemon.message(1)).text, long)
    const longest = await daemon.message(2)
    assert.ok(longest.text.length <= 1_048_576)
    assert.equal((await readFile(join(daemon.dir, String(longest.data.textPath)))).length, 1_397_270)
  })
})

test('an answer to a mail of ours keeps what was written within the quote of it, without any sign', async () => {
  const address = 'answers@example.com'
  const asked =
    'Before we send the shirt:\n\n- The size that you take.\n- The colour that you prefer.\n\nWe send it today.'
  const daemon = await world.daemon({ address })
  await world.deliver(mail({ text: 'A shirt, please.' }), address)
  const order = await daemon.message()
  await daemon.transport.send(replyTo(order, asked))
  const [, id = ''] = /^Message-ID: (.*)$/im.exec(world.smtp.taken.at(-1)?.raw.toString() ?? '') ?? []
  const headers = { 'In-Reply-To': id.trim() }
  const above = `Thanks.\n\nFrom: Shop <${address}>\nSent: Monday, March 2, 2026 10:00 AM\nTo: Anna <anna@example.net>\nSubject: Re: Help\n\n`
  for (const quote of [asked, asked.replace('prefer.', 'prefer. Red')])
    await world.deliver(mail({ subject: 'Re: Help', headers, text: above + quote }), address)
  assert.equal((await daemon.message(1)).text, 'Thanks.')
  assert.match((await daemon.message(2)).text, /prefer\. Red/)
})

describe('a mail that was dealt with', () => {
  test('and was not read completely is never deleted, but moved like any other', async () => {
    const big = mail({ subject: 'over max-size', text: 'line\n'.repeat(30_000) })
    const address = 'partial@example.com'
    const daemon = await world.daemon({ address, after: 'delete', 'max-size': '100kb' })
    await world.deliver(big, address)
    await world.deliver(mail({ subject: 'whole' }), address)
    await daemon.message(1)
    await until(async () => (await world.mailbox(address)).length === 1, 'the whole mail to be deleted')
    assert.deepEqual(subjects(await world.mailbox(address)), ['over max-size'])
    const { subject, data } = await daemon.message()
    assert.equal(subject, 'over max-size')
    assert.match(String(data.unreadable), /max-size/)
    assert.ok(daemon.logs.some(({ message }) => message.includes('not read completely')))

    const mover = 'partial-move@example.com'
    await world.daemon({ address: mover, after: { move: 'Done' }, 'max-size': '100kb' })
    await world.deliver(big, mover)
    await until(async () => (await world.mailbox(mover, 'Done').catch(() => [])).length === 1, 'the move')
  })

  test('is moved into a folder in a folder, whatever the server separates them with', async () => {
    const address = 'nested@example.com'
    const options = { address, after: { move: 'Archive/2026' }, quarantine: 'Bad/Ones' }
    await world.daemon({ ...options, 'allowed-senders': ['*@example.net'] })
    await world.deliver(mail({ subject: 'let in' }), address)
    await world.deliver(mail({ subject: 'kept out', from: 'eve@evil.example' }), address)
    await until(async () => (await world.mailbox(address)).length === 0, 'an empty folder')
    assert.deepEqual(subjects(await world.mailbox(address, 'Archive.2026')), ['let in'])
    assert.deepEqual(subjects(await world.mailbox(address, 'Bad.Ones')), ['kept out'])
  })
})

test('a folder that is read cannot be where mail is moved, which would never end', () => {
  const refused = (options: object) => {
    const { error } = emailOptions.safeParse({ ...serversOf(143, 25, 'x'), ...options })
    return error?.issues.map(({ path }) => path.join('.')).join()
  }
  const folders = ['INBOX', 'Done']
  assert.equal(refused({ folders, after: { move: 'Done' } }), 'after.move')
  assert.equal(refused({ folders, quarantine: 'Done' }), 'quarantine')
  assert.equal(refused({ quarantine: 'inbox' }), 'quarantine')
  assert.equal(refused({ folders, after: { move: 'INBOX/Done' }, quarantine: 'Done/Bad' }), undefined)
})

describe('on a server that cannot expunge single mails (no UIDPLUS)', async () => {
  const config = 'protocol imap {\n imap_capability = IMAP4rev1 IDLE LITERAL+ NAMESPACE\n}'
  const plain = await startWorld({ config })

  test('delete only marks, and leaves what the user has marked; nothing is moved, and the log says why', async () => {
    const address = 'marks@example.com'
    const own = mail({ subject: 'of the user' })
    await plain.as(address, (client) => client.append('INBOX', own, ['\\Deleted'], new Date(0)))
    const options = { address, after: 'delete', quarantine: 'Bad', 'allowed-senders': ['*@example.net'] }
    const { logs } = await plain.daemon(options)
    await plain.deliver(mail({ subject: 'let in' }), address)
    const marked = (client: ImapFlow) => client.search({ deleted: true, subject: 'let in' })
    await until(async () => ((await plain.as(address, marked)) || []).length > 0, 'it to be marked')
    await plain.deliver(mail({ subject: 'kept out', from: 'eve@evil.example' }), address)
    await until(() => JSON.stringify(logs).includes('neither MOVE nor UIDPLUS'), 'the reason')
    assert.deepEqual(subjects(await plain.mailbox(address)), ['of the user', 'let in', 'kept out'])
  })
})

describe('a mailbox behind TLS', async () => {
  /** Made for these tests, for localhost and 127.0.0.1 only. */
  const [cert, key] = ['cert.pem', 'key.pem'].map((name) => join(import.meta.dirname, 'tls', name))
  assert.ok(cert && key)
  const dovecot = await startDovecot({ tls: { cert, key }, config: 'disable_plaintext_auth = yes' })
  after(() => dovecot.close())
  const { imapPort, imapsPort, password: pass } = dovecot
  const imap = (port: number, more: object = {}) => ({
    imap: { host: 'localhost', port, user: 'support@example.com', pass, ...more },
  })

  test('is read over implicit TLS and over STARTTLS with an authority of its own', async () => {
    for (const options of [imap(imapsPort, { tls: 'implicit', ca: cert }), imap(imapPort, { ca: cert })]) {
      const daemon = await world.daemon(options)
      const raw = Buffer.from(mail({ text: 'sealed' }))
      await deliver(dovecot.lmtpPort, { from: 'anna@example.net', to: ['support@example.com'], raw })
      await daemon.message()
      await daemon.stop()
    }
  })

  test('is not read where the server cannot be trusted, and the password never goes out', async () => {
    const wrong: [options: Options, reason: RegExp][] = [
      [imap(imapsPort, { tls: 'implicit' }), /self.signed.*`ca`/i],
      [imap(imapPort), /self.signed.*`ca`/i],
      [imap(world.dovecot.imapPort), /STARTTLS.*`tls: none`/],
      [imap(imapPort, { tls: 'implicit' }), /version number.*`tls: starttls`/],
    ]
    for (const [options, reason] of wrong) {
      const daemon = await world.daemon(options, { start: 'later' })
      await daemon.transport.start()
      await until(() => !daemon.transport.health().ok, 'red health')
      assert.match(daemon.transport.health().detail ?? '', reason)
    }
  })
})
