import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, test } from 'node:test'
import { pause } from '../../../src/lib/pause.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { createMemoryStore } from '../../fixtures/memory-store.ts'
import { startRelay } from '../../fixtures/relay.ts'
import { until } from '../../fixtures/until.ts'
import { cursorOf, mail, startWorld } from './harness.ts'

const world = await startWorld()

test('mail that comes while the server is down is read once it is back, and nothing twice', async () => {
  const address = 'killed@example.com'
  const daemon = await world.daemon({ address })
  await world.deliver(mail({ text: 'before' }), address)
  await daemon.message()
  await world.dovecot.kill()
  await until(() => daemon.transport.health().detail?.includes('trying again'), 'the failure to show')
  await world.dovecot.start()
  await world.deliver(mail({ text: 'after' }), address)
  await daemon.message(1)
  assert.deepEqual(daemon.texts(), ['before', 'after'])
  assert.match(daemon.transport.health().detail ?? '', /^reading/)
})

describe('reading a mailbox while things break', { concurrency: 4 }, () => {
  test('a connection that dies without a word is noticed by the sweep', async (t) => {
    const address = 'silent@example.com'
    const relay = await startRelay(world.dovecot.imapPort)
    t.after(() => relay.close())
    const daemon = await world.daemon(
      { address, sweep: 100 },
      { port: relay.port, world: { imapTimeout: 300 } },
    )
    relay.silence()
    await world.deliver(mail({ text: 'unheard' }), address)
    await daemon.message()
  })

  test('a server that says nothing any more does not keep a daemon from stopping', async (t) => {
    const address = 'stuck@example.com'
    const relay = await startRelay(world.dovecot.imapPort)
    t.after(() => relay.close())
    const daemon = await world.daemon({ address, sweep: 20 }, { port: relay.port })
    const deaf = createServer(() => {}).listen(0, '127.0.0.1')
    t.after(() => deaf.close())
    await once(deaf, 'listening')
    const { port } = deaf.address() as AddressInfo
    const unheard = await world.daemon({ address }, { port, start: 'later' })
    await unheard.transport.start()
    relay.silence()
    await pause(200)
    for (const { transport } of [daemon, unheard]) {
      const began = performance.now()
      await transport.stop()
      // Long before the server is given up.
      await assertPrompt('the stop', performance.now() - began, 5_000)
    }
  })

  test('a server that offers no IDLE is looked at by the sweep', async (t) => {
    const address = 'no-idle@example.com'
    const relay = await startRelay(world.dovecot.imapPort, (chunk) => {
      // The same length, so that nothing else of the answer moves.
      for (let at = chunk.indexOf(' IDLE '); at !== -1; at = chunk.indexOf(' IDLE ', at))
        chunk.write(' XXXX ', at)
      return 'pass'
    })
    t.after(() => relay.close())
    const daemon = await world.daemon({ address, sweep: 100 }, { port: relay.port })
    await world.deliver(mail({ text: 'polled' }), address)
    await daemon.message()
  })

  test('a connection cut after the fetch, before the cursor moved, loses nothing and doubles nothing', async (t) => {
    const address = 'cut@example.com'
    const relay = await startRelay(world.dovecot.imapPort)
    t.after(() => relay.close())
    const daemon = await world.daemon({ address }, { port: relay.port })
    const release = daemon.store.hold()
    for (const text of ['one', 'two', 'three']) await world.deliver(mail({ text }), address)
    await until(() => daemon.store.calls > 0, 'the fetch')
    relay.cut()
    release()
    await daemon.message(2)
    await world.deliver(mail({ text: 'four' }), address)
    await daemon.message(3)
    assert.deepEqual(daemon.texts(), ['one', 'two', 'three', 'four'])
  })

  test('while the store is away mail waits, and is taken in order when it is back', async () => {
    const address = 'no-store@example.com'
    const daemon = await world.daemon({ address, 'allowed-senders': ['*@example.net'] })
    daemon.store.fail()
    await world.deliver(mail({ text: 'patience' }), address)
    await world.deliver(mail({ from: 'mallory@example.org' }), address)
    await world.deliver(mail({ text: 'virtue' }), address)
    await until(() => daemon.store.calls > 9, 'several tries')
    daemon.store.recover()
    await daemon.message(1)
    assert.deepEqual(daemon.texts(), ['patience', 'virtue'])
    await until(() => daemon.refused.length > 0, 'the one that was refused')
    assert.deepEqual(daemon.refused, ['sender'])
  })

  test('a refused login turns health red, says why, and never puts the password into the log', async () => {
    const { imapPort: port } = world.dovecot
    const imap = {
      host: '127.0.0.1',
      port,
      tls: 'none',
      user: 'locked@example.com',
      pass: 'wrong-Password-7',
    }
    const daemon = await world.daemon({ imap }, { start: 'later' })
    await daemon.transport.start()
    await until(() => !daemon.transport.health().ok, 'red health')
    assert.match(daemon.transport.health().detail ?? '', /auth/i)
    assert.doesNotMatch(JSON.stringify(daemon.logs), /wrong-Password-7/)
  })

  test('of two daemons one reads, and the other takes over when it dies', async () => {
    const address = 'shared@example.com'
    const first = await world.daemon({ address }, { start: 'later' })
    const { store } = first
    let dead = false
    first.deps.leases = {
      acquire: (...args) => (dead ? new Promise(() => {}) : store.leases.acquire(...args)),
      release: (...args) => (dead ? new Promise(() => {}) : store.leases.release(...args)),
    }
    await first.transport.start()
    await until(() => cursorOf(store), 'the first daemon')
    const second = await world.daemon({ address }, { store, start: 'later' })
    await second.transport.start()
    await world.deliver(mail({ text: 'one' }), address)
    await first.message()
    assert.match(second.transport.health().detail ?? '', /another daemon/)
    assert.equal(store.calls, 1)

    // It dies: its lease is renewed no more, and it is told nothing.
    dead = true
    await world.deliver(mail({ text: 'two' }), address)
    await until(() => second.transport.health().detail?.startsWith('reading'), 'the takeover', 5000)
    await world.deliver(mail({ text: 'three' }), address)
    await second.message(2)
    assert.deepEqual(second.texts(), ['one', 'two', 'three'])
  })

  test('a daemon that lost the mailbox without knowing cannot move the cursor any more', async () => {
    const address = 'fenced@example.com'
    const { store, logs } = await world.daemon({ address })
    const taken = { ...(await cursorOf(store)), token: 99, uid: 41 }
    await store.kv.set('email/support/cursor/INBOX', taken)
    await world.deliver(mail({ text: 'one' }), address)
    await until(() => JSON.stringify(logs).includes('another daemon reads'), 'the fence')
    assert.deepEqual(await cursorOf(store), taken)
  })
})

describe('a folder with a new UIDVALIDITY', () => {
  test('is reconciled by Message-ID, also where a device writes one into all its mails', async () => {
    const address = 'renumbered@example.com'
    const device = (hour: number) =>
      mail({ id: 'device@x', text: `at ${hour}`, headers: { Date: `Sat, 21 Nov 2026 ${hour}:00:00 +0000` } })
    const first = await world.daemon({ address })
    const known = [mail({ text: 'one' }), mail({ text: 'nameless', id: '' }), device(10), device(11)]
    for (const raw of known) await world.deliver(raw, address)
    await first.message(3)
    await first.stop()
    await world.dovecot.kill()
    await world.dovecot.renumber(address)
    await world.dovecot.start()
    await world.deliver(mail({ text: 'meanwhile' }), address)
    await world.deliver(device(12), address)

    const second = await world.daemon({ address }, { store: first.store })
    await second.message(5)
    await world.deliver(mail({ text: 'later' }), address)
    await second.message(6)
    const before = ['one', 'nameless', 'at 10', 'at 11']
    assert.deepEqual(second.texts().sort(), [...before, 'at 12', 'later', 'meanwhile'].sort())
  })

  test('gives nothing twice that is so old that its key is forgotten', async () => {
    const address = 'quiet@example.com'
    const old = new Date(Date.now() - 8 * 86_400_000)
    await world.as(address, (client) => client.append('INBOX', mail({ text: 'old' }), [], old))
    const first = await world.daemon({ address, since: 'all' })
    await first.message()
    await first.stop()
    await world.dovecot.kill()
    await world.dovecot.renumber(address)
    await world.dovecot.start()
    await world.deliver(mail({ text: 'meanwhile' }), address)
    // The tokens of leases grow on: else a daemon that had to take its lease anew, as on a busy machine, would fence this one.
    const { kv, leases } = first.store
    const store = Object.assign(createMemoryStore(), { kv, leases })
    const second = await world.daemon({ address, since: 'all' }, { store })
    await second.message()
    assert.deepEqual(second.texts(), ['meanwhile'])
  })
})

describe('mails with the same Message-ID', () => {
  const dated = (hour: number, zone = '+0000') => ({ Date: `Sat, 21 Nov 2026 ${hour}:00:00 ${zone}` })
  const listed = { Subject: '[users] Help', Received: 'from list by mx', 'List-Id': '<users.example.org>' }
  const from = 'Anna via users <users@example.org>'

  /** Each with an id of its own, and what is taken of them. */
  const cases: [mails: Parameters<typeof mail>[0][], taken: string[]][] = [
    // Another Date and text.
    [
      [10, 11, 12, 11, 10].map((hour) => ({ text: `at ${hour}`, headers: dated(hour) })),
      ['at 10', 'at 11', 'at 12'],
    ],
    // Another sender and text.
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
    // What a list made of it, and in another zone.
    [
      [
        { text: 'direct', headers: dated(10) },
        { from, text: 'listed', headers: { ...dated(10), ...listed } },
        { text: 'in another zone', headers: dated(11, '+0100') },
      ],
      ['direct'],
    ],
  ]
  test('are others where text and Date or sender differ, and else one, whatever a list made of it', async () => {
    const address = 'same@example.com'
    const daemon = await world.daemon({ address })
    for (const [at, [mails]] of cases.entries()) {
      for (const each of mails)
        await world.deliver(mail({ ...each, id: `alarm-${at}@scanner.example` }), address)
    }
    await world.deliver(mail({ text: 'the end' }), address)
    await until(() => daemon.texts().includes('the end'), 'the mail behind them')
    assert.deepEqual(
      daemon.texts().slice(0, -1),
      cases.flatMap(([, taken]) => taken),
    )
  })

  test('in two folders are one message', async () => {
    const address = 'twice@example.com'
    await world.as(address, (client) => client.mailboxCreate('Also'))
    const daemon = await world.daemon({ address, folders: ['INBOX', 'Also'] })
    await until(() => cursorOf(daemon.store, 'support', 'Also'), 'the second folder')
    const raw = mail({ id: 'same@example.net', text: 'once' })
    await world.deliver(raw, address)
    for (const each of [raw, mail({ text: 'other' })]) {
      await world.as(address, (client) => client.append('Also', each))
    }
    await until(() => daemon.store.calls === 3, 'all three mails')
    assert.deepEqual(daemon.texts().sort(), ['once', 'other'])
  })
})
