import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ImapFlow } from 'imapflow'
import { until } from '../../fixtures/until.ts'
import { type Daemon, mail, startWorld, type World } from './harness.ts'

const boxOptions = (world: World, user: string) => ({
  address: user,
  imap: { host: '127.0.0.1', port: world.dovecot.imapPort, tls: 'none', user, pass: world.dovecot.password },
})
const subjects = (mails: string[]) => mails.map((each) => /^Subject: (.*)$/m.exec(each)?.[1]?.trim())
const warnings = (daemon: Daemon, part: string) =>
  daemon.logs.filter(({ level, message }) => level === 'warn' && message.includes(part))

describe('a mail that was dealt with', () => {
  let world: World
  before(async () => {
    world = await startWorld()
  })
  after(() => world.close())

  test('and was not taken whole is never deleted, and the log says so once', async () => {
    const user = 'partial@example.com'
    const daemon = await world.daemon({ ...boxOptions(world, user), after: 'delete', 'max-size': '100kb' })
    const long = { 'X-Long': `${'a'.repeat(900)}\r\n `.repeat(60) }
    await world.deliver(mail({ subject: 'over max-size', text: 'line\n'.repeat(30_000) }), user)
    await world.deliver(mail({ subject: 'too many lines', text: '\n'.repeat(30_000) }), user)
    await world.deliver(mail({ subject: 'whole', headers: long }), user)
    await until(async () => (await world.mailbox(user)).length === 2, 'the whole mail to be deleted')
    await world.deliver(mail({ subject: 'next' }), user)
    await until(() => daemon.store.messages.length === 4, 'all messages')
    await until(async () => (await world.mailbox(user)).length === 2, 'the next mail to be deleted')
    assert.deepEqual(subjects(await world.mailbox(user)), ['over max-size', 'too many lines'])
    assert.equal(warnings(daemon, 'not taken whole').length, 2)
    await daemon.stop()
  })

  test('and was not taken whole is moved like any other', async () => {
    const user = 'partial-move@example.com'
    const options = { ...boxOptions(world, user), after: { move: 'Done' }, 'max-size': '10kb' }
    const daemon = await world.daemon(options)
    await world.deliver(mail({ subject: 'big', text: 'line\n'.repeat(10_000) }), user)
    await until(async () => (await world.mailbox(user, 'Done').catch(() => [])).length === 1, 'the move')
    assert.match(String(daemon.store.messages[0]?.data.unreadable), /max-size/)
    await daemon.stop()
  })

  test('is moved into a folder in a folder, whatever the server separates them with', async () => {
    const user = 'nested@example.com'
    const options = { ...boxOptions(world, user), after: { move: 'Archive/2026' }, quarantine: 'Bad/Ones' }
    const daemon = await world.daemon({ ...options, 'allowed-senders': ['*@example.net'] })
    await world.deliver(mail({ subject: 'let in' }), user)
    await world.deliver(mail({ subject: 'kept out', from: 'eve@evil.example' }), user)
    await until(async () => (await world.mailbox(user)).length === 0, 'an empty folder')
    assert.deepEqual(subjects(await world.mailbox(user, 'Archive.2026')), ['let in'])
    assert.deepEqual(subjects(await world.mailbox(user, 'Bad.Ones')), ['kept out'])
    await daemon.stop()
  })

  test('and cannot be put away does not keep a refused one from its quarantine', async () => {
    const user = 'stuck@example.com'
    // No server makes a folder below this name.
    const options = { ...boxOptions(world, user), after: { move: '../../etc' }, quarantine: 'Bad' }
    const daemon = await world.daemon(
      { ...options, since: 'all', 'allowed-senders': ['*@example.net'] },
      { start: 'later' },
    )
    await world.deliver(mail({ subject: 'let in' }), user)
    await world.deliver(mail({ subject: 'kept out', from: 'eve@evil.example' }), user)
    await daemon.transport.start()
    await until(async () => (await world.mailbox(user, 'Bad').catch(() => [])).length === 1, 'the quarantine')
    assert.deepEqual(subjects(await world.mailbox(user)), ['let in'])
    assert.ok(daemon.logs.some(({ message }) => message.includes('could not be put away')))
    await daemon.stop()
  })
})

describe('on a server that cannot expunge single mails (no UIDPLUS)', () => {
  let world: World
  before(async () => {
    world = await startWorld({
      config: 'protocol imap {\n imap_capability = IMAP4rev1 IDLE LITERAL+ NAMESPACE\n}',
    })
  })
  after(() => world.close())

  for (const after of ['delete', { move: 'Done' }]) {
    test(`${JSON.stringify(after)} only marks, and leaves what the user has marked`, async () => {
      const user = `marks-${typeof after}@example.com`
      await world.as(user, (client) =>
        client.append('INBOX', mail({ subject: 'of the user' }), ['\\Deleted']),
      )
      const daemon = await world.daemon({ ...boxOptions(world, user), after })
      for (const subject of ['one', 'two']) {
        await world.deliver(mail({ subject }), user)
        const marked = (client: ImapFlow) => client.search({ deleted: true, subject })
        await until(async () => ((await world.as(user, marked)) || []).length > 0, `${subject} to be marked`)
      }
      assert.deepEqual(subjects(await world.mailbox(user)), ['of the user', 'one', 'two'])
      if (after !== 'delete') assert.deepEqual(subjects(await world.mailbox(user, 'Done')), ['one', 'two'])
      assert.equal(warnings(daemon, 'UIDPLUS').length, 1)
      await daemon.stop()
    })
  }
})
