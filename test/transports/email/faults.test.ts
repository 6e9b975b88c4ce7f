import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, test } from 'node:test'
import { pause } from '../../../src/lib/pause.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { createMemoryStore } from '../../fixtures/memory-store.ts'
import { startRelay } from '../../fixtures/relay.ts'
import { until } from '../../fixtures/until.ts'
import { cursorOf, mail, startMailServer } from './harness.ts'

const mailServer = await startMailServer()

test('mail is read once after the server was down', async () => {
  const address = 'killed@example.com'
  const daemon = await mailServer.daemon({ address })
  await mailServer.deliver(mail({ text: 'before' }), address)
  await daemon.message()
  await mailServer.dovecot.kill()
  await until(() => daemon.transport.health().detail?.includes('trying again'), 'the failure in health')
  await mailServer.dovecot.start()
  await mailServer.deliver(mail({ text: 'after' }), address)
  await daemon.message(1)
  assert.deepEqual(daemon.texts(), ['before', 'after'])
  await until(() => daemon.transport.health().detail?.startsWith('reading'), 'the recovery in health')
})

describe('reading a mailbox', { concurrency: 4 }, () => {
  test('continues by the sweep after a connection fell silent', async (t) => {
    const address = 'silent@example.com'
    const relay = await startRelay(mailServer.dovecot.imapPort)
    t.after(() => relay.close())
    const daemon = await mailServer.daemon(
      { address, sweep: 100 },
      { port: relay.port, overrides: { imapTimeout: 300 } },
    )
    relay.silence()
    await mailServer.deliver(mail({ text: 'missed' }), address)
    await daemon.message()
  })

  test('can be stopped although the server no longer answers', async (t) => {
    const address = 'stuck@example.com'
    const relay = await startRelay(mailServer.dovecot.imapPort)
    t.after(() => relay.close())
    const daemon = await mailServer.daemon({ address, sweep: 20 }, { port: relay.port })
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    t.after(() => silent.close())
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const withoutGreeting = await mailServer.daemon({ address }, { port, start: 'later' })
    await withoutGreeting.transport.start()
    relay.silence()
    await pause(200)
    for (const { transport } of [daemon, withoutGreeting]) {
      const began = performance.now()
      await transport.stop()
      // Much less than the timeout of the connection.
      await assertPrompt('the stop', performance.now() - began, 5_000)
    }
  })

  test('uses the sweep if the server has no IDLE', async (t) => {
    const address = 'no-idle@example.com'
    const relay = await startRelay(mailServer.dovecot.imapPort, (chunk) => {
      // The replacement has the same length, so that the lengths in the answer stay right.
      for (let at = chunk.indexOf(' IDLE '); at !== -1; at = chunk.indexOf(' IDLE ', at))
        chunk.write(' XXXX ', at)
      return 'pass'
    })
    t.after(() => relay.close())
    const daemon = await mailServer.daemon({ address, sweep: 100 }, { port: relay.port })
    await mailServer.deliver(mail({ text: 'polled' }), address)
    await daemon.message()
  })

  test('accepts each mail once if the connection breaks between the fetch and the move of the cursor', async (t) => {
    const address = 'cut@example.com'
    const relay = await startRelay(mailServer.dovecot.imapPort)
    t.after(() => relay.close())
    const daemon = await mailServer.daemon({ address }, { port: relay.port })
    const release = daemon.store.hold()
    for (const text of ['one', 'two', 'three']) await mailServer.deliver(mail({ text }), address)
    await until(() => daemon.store.acceptCalls > 0, 'the fetch')
    relay.cut()
    release()
    await daemon.message(2)
    await mailServer.deliver(mail({ text: 'four' }), address)
    await daemon.message(3)
    assert.deepEqual(daemon.texts(), ['one', 'two', 'three', 'four'])
  })

  test('accepts mail in order when a store that was down is back', async () => {
    const address = 'no-store@example.com'
    const daemon = await mailServer.daemon({ address, 'allowed-senders': ['*@example.net'] })
    daemon.store.fail()
    await mailServer.deliver(mail({ text: 'patience' }), address)
    await mailServer.deliver(mail({ from: 'mallory@example.org' }), address)
    await mailServer.deliver(mail({ text: 'virtue' }), address)
    await until(() => daemon.store.acceptCalls > 9, 'several tries')
    daemon.store.recover()
    await daemon.message(1)
    assert.deepEqual(daemon.texts(), ['patience', 'virtue'])
    await until(() => daemon.refused.length > 0, 'the refused mail')
    assert.deepEqual(daemon.refused, ['sender'])
  })

  test('turns health red, with the reason, after a refused login, and does not log the password', async () => {
    const { imapPort: port } = mailServer.dovecot
    const imap = {
      host: '127.0.0.1',
      port,
      tls: 'none',
      user: 'locked@example.com',
      pass: 'wrong-Password-7',
    }
    const daemon = await mailServer.daemon({ imap }, { start: 'later' })
    await daemon.transport.start()
    await until(() => !daemon.transport.health().ok, 'red health')
    assert.match(daemon.transport.health().detail ?? '', /auth/i)
    assert.doesNotMatch(JSON.stringify(daemon.logs), /wrong-Password-7/)
  })

  test('is done by one of two daemons, and by the other when that one dies', async () => {
    const address = 'shared@example.com'
    const first = await mailServer.daemon({ address }, { start: 'later' })
    const { store } = first
    let isDead = false
    first.deps.leases = {
      acquire: (...args) => (isDead ? new Promise(() => {}) : store.leases.acquire(...args)),
      release: (...args) => (isDead ? new Promise(() => {}) : store.leases.release(...args)),
    }
    await first.transport.start()
    await until(() => cursorOf(store), 'the first daemon')
    const second = await mailServer.daemon({ address }, { store, start: 'later' })
    await second.transport.start()
    await mailServer.deliver(mail({ text: 'one' }), address)
    await first.message()
    assert.match(second.transport.health().detail ?? '', /another daemon/)
    assert.equal(store.acceptCalls, 1)

    // The first daemon no longer renews its lease, and does not learn that it lost it.
    isDead = true
    await mailServer.deliver(mail({ text: 'two' }), address)
    await until(() => second.transport.health().detail?.startsWith('reading'), 'the takeover')
    await mailServer.deliver(mail({ text: 'three' }), address)
    await second.message(2)
    assert.deepEqual(second.texts(), ['one', 'two', 'three'])
  })

  test('says that its lease was not renewed, and not that another daemon reads, while the store is slow', async () => {
    const { deps, store, transport, logs } = await mailServer.daemon(
      { address: 'slow-lease@example.com' },
      { start: 'later' },
    )
    let isSlow = false
    deps.leases = {
      ...store.leases,
      acquire: (...args) => (isSlow ? new Promise(() => {}) : store.leases.acquire(...args)),
    }
    await transport.start()
    await until(() => transport.health().detail?.startsWith('reading'), 'the first read')
    isSlow = true
    await until(() => JSON.stringify(logs).includes('could not be renewed in time'), 'the lost lease')
    assert.doesNotMatch(JSON.stringify(logs), /another daemon reads/)
  })

  test('cannot move the cursor after another daemon took over the mailbox', async () => {
    const address = 'fenced@example.com'
    const { store, logs } = await mailServer.daemon({ address })
    // With the same uid, so that a daemon that had to renew its lease, as on a busy machine, also
    // tries to move it.
    const otherCursor = { ...(await cursorOf(store)), token: 99 }
    await store.kv.set('email/support/cursor/INBOX', otherCursor)
    await mailServer.deliver(mail({ text: 'one' }), address)
    await until(() => JSON.stringify(logs).includes('another daemon reads'), 'the fence')
    assert.deepEqual(await cursorOf(store), otherCursor)
  })
})

describe('a folder with a new UIDVALIDITY', () => {
  test('is reconciled by Message-ID, also if a device writes the same one into all its mails', async () => {
    const address = 'renumbered@example.com'
    const device = (hour: number) =>
      mail({ id: 'device@x', text: `at ${hour}`, headers: { Date: `Sat, 21 Nov 2026 ${hour}:00:00 +0000` } })
    const first = await mailServer.daemon({ address })
    const known = [mail({ text: 'one' }), mail({ text: 'nameless', id: '' }), device(10), device(11)]
    for (const raw of known) await mailServer.deliver(raw, address)
    await first.message(3)
    await first.stop()
    await mailServer.dovecot.kill()
    await mailServer.dovecot.renumber(address)
    await mailServer.dovecot.start()
    await mailServer.deliver(mail({ text: 'meanwhile' }), address)
    await mailServer.deliver(device(12), address)

    const second = await mailServer.daemon({ address }, { store: first.store })
    await second.message(5)
    await mailServer.deliver(mail({ text: 'later' }), address)
    await second.message(6)
    const before = ['one', 'nameless', 'at 10', 'at 11']
    assert.deepEqual(second.texts().sort(), [...before, 'at 12', 'later', 'meanwhile'].sort())
  })

  test('does not repeat a mail that is older than the memory of keys', async () => {
    const address = 'quiet@example.com'
    const old = new Date(Date.now() - 8 * 86_400_000)
    await mailServer.as(address, (client) => client.append('INBOX', mail({ text: 'old' }), [], old))
    const first = await mailServer.daemon({ address, since: 'all' })
    await first.message()
    await first.stop()
    await mailServer.dovecot.kill()
    await mailServer.dovecot.renumber(address)
    await mailServer.dovecot.start()
    await mailServer.deliver(mail({ text: 'meanwhile' }), address)
    // The new store keeps the leases, since their tokens must grow: after a renewed lease, as on a
    // busy machine, the first daemon would otherwise have a higher token and fence the second.
    const { kv, leases } = first.store
    const store = Object.assign(createMemoryStore(), { kv, leases })
    const second = await mailServer.daemon({ address, since: 'all' }, { store })
    await second.message()
    assert.deepEqual(second.texts(), ['meanwhile'])
  })
})

describe('mails with the same Message-ID', () => {
  const dated = (hour: number, zone = '+0000') => ({ Date: `Sat, 21 Nov 2026 ${hour}:00:00 ${zone}` })
  const listed = { Subject: '[users] Help', Received: 'from list by mx', 'List-Id': '<users.example.org>' }
  const from = 'Anna via users <users@example.org>'

  /** Each case has its own Message-ID. `accepted`: the texts of its messages. */
  const cases: [mails: Parameters<typeof mail>[0][], accepted: string[]][] = [
    // With another Date and text.
    [
      [10, 11, 12, 11, 10].map((hour) => ({ text: `at ${hour}`, headers: dated(hour) })),
      ['at 10', 'at 11', 'at 12'],
    ],
    // With another sender and text.
    [
      ['eve@evil.example', 'anna@example.net'].map((from) => ({
        from,
        text: `of ${from}`,
        headers: dated(10),
      })),
      ['of eve@evil.example', 'of anna@example.net'],
    ],
    // Sent again with a new Date.
    [[10, 11].map((hour) => ({ text: 'the alarm', headers: dated(hour) })), ['the alarm']],
    // Changed by a mailing list, and with the time zone changed.
    [
      [
        { text: 'direct', headers: dated(10) },
        { from, text: 'listed', headers: { ...dated(10), ...listed } },
        { text: 'in another zone', headers: dated(11, '+0100') },
      ],
      ['direct'],
    ],
  ]
  test('are different messages if the text and the Date or sender differ, and otherwise one', async () => {
    const address = 'same@example.com'
    const daemon = await mailServer.daemon({ address })
    for (const [index, [mails]] of cases.entries()) {
      for (const each of mails)
        await mailServer.deliver(mail({ ...each, id: `alarm-${index}@scanner.example` }), address)
    }
    await mailServer.deliver(mail({ text: 'the end' }), address)
    await until(() => daemon.texts().includes('the end'), 'the last mail')
    assert.deepEqual(
      daemon.texts().slice(0, -1),
      cases.flatMap(([, accepted]) => accepted),
    )
  })

  test('in two folders are one message', async () => {
    const address = 'twice@example.com'
    await mailServer.as(address, (client) => client.mailboxCreate('Also'))
    const daemon = await mailServer.daemon({ address, folders: ['INBOX', 'Also'] })
    await until(() => cursorOf(daemon.store, 'support', 'Also'), 'the second folder')
    const raw = mail({ id: 'same@example.net', text: 'once' })
    await mailServer.deliver(raw, address)
    for (const each of [raw, mail({ text: 'other' })]) {
      await mailServer.as(address, (client) => client.append('Also', each))
    }
    await until(() => daemon.store.acceptCalls === 3, 'all three mails')
    assert.deepEqual(daemon.texts().sort(), ['once', 'other'])
  })
})
