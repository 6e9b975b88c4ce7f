import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createMemoryStore } from '../../fixtures/memory-store.ts'
import { startRelay } from '../../fixtures/smtp-server.ts'
import { until } from '../../fixtures/until.ts'
import { mail, startWorld, type World } from './harness.ts'

describe('reading a mailbox while things break', () => {
  let world: World
  before(async () => {
    world = await startWorld()
  })
  after(() => world.close())

  const boxOf = (name: string) => `${name}@example.com`
  const reading = (user: string, port = world.dovecot.imapPort) => ({
    address: user,
    imap: { host: '127.0.0.1', port, tls: 'none', user, pass: world.dovecot.password },
  })
  const texts = (messages: readonly { text: string }[]) => messages.map(({ text }) => text).sort()

  test('mail that comes while the server is down is read once it is back, and nothing twice', async () => {
    const user = boxOf('killed')
    const daemon = await world.daemon(reading(user))
    await world.deliver(mail({ text: 'before' }), user)
    await until(() => daemon.store.messages.length === 1, 'the first message')
    await world.dovecot.kill()
    await until(() => daemon.transport.health().detail?.includes('trying again'), 'the failure to show')
    await world.dovecot.start()
    await world.deliver(mail({ text: 'after' }), user)
    await until(() => daemon.store.messages.length === 2, 'the second message')
    assert.deepEqual(texts(daemon.store.messages), ['after', 'before'])
    assert.match(daemon.transport.health().detail ?? '', /^reading/)
    await daemon.stop()
  })

  test('a connection that dies without a word is noticed by the sweep', async () => {
    const user = boxOf('silent')
    const relay = await startRelay(world.dovecot.imapPort)
    const daemon = await world.daemon(
      { ...reading(user, relay.port), sweep: 100 },
      { world: { imapTimeout: 300 } },
    )
    relay.silence()
    await world.deliver(mail({ text: 'unheard' }), user)
    await until(() => daemon.store.messages.length === 1, 'the message over a new connection')
    await daemon.stop()
    await relay.close()
  })

  test('a server that offers no IDLE is looked at by the sweep', async () => {
    const user = boxOf('no-idle')
    const relay = await startRelay(world.dovecot.imapPort, (chunk) => {
      // The same length, so that nothing else of the answer moves.
      for (let at = chunk.indexOf(' IDLE '); at !== -1; at = chunk.indexOf(' IDLE ', at))
        chunk.write(' XXXX ', at)
      return 'pass'
    })
    const daemon = await world.daemon({ ...reading(user, relay.port), sweep: 100 })
    await world.deliver(mail({ text: 'polled' }), user)
    await until(() => daemon.store.messages.length === 1, 'the message')
    await daemon.stop()
    await relay.close()
  })

  test('a connection cut after the fetch, before the cursor moved, loses nothing and doubles nothing', async () => {
    const user = boxOf('cut')
    const relay = await startRelay(world.dovecot.imapPort)
    const daemon = await world.daemon(reading(user, relay.port))
    const release = daemon.store.hold()
    for (const text of ['one', 'two', 'three']) await world.deliver(mail({ text }), user)
    await until(() => daemon.store.calls > 0, 'the fetch')
    relay.cut()
    release()
    await until(() => daemon.store.messages.length >= 3, 'all messages')
    await world.deliver(mail({ text: 'four' }), user)
    await until(() => daemon.store.messages.length >= 4, 'the last message')
    assert.deepEqual(texts(daemon.store.messages), ['four', 'one', 'three', 'two'])
    await daemon.stop()
    await relay.close()
  })

  test('a daemon that dies between accept and cursor is followed by one that takes the mail once', async () => {
    const user = boxOf('died')
    const store = createMemoryStore()
    const first = await world.daemon(reading(user), { store })
    const before = await first.deps.kv.get('email/support/cursor/INBOX')
    await world.deliver(mail({ text: 'one' }), user)
    await until(() => store.messages.length === 1, 'the message')
    await first.stop()
    // As it would stand had the daemon died before it wrote the cursor.
    if (before) await first.deps.kv.set('email/support/cursor/INBOX', before.value)
    const second = await world.daemon(reading(user), { store })
    await world.deliver(mail({ text: 'two' }), user)
    await until(() => store.messages.length === 2, 'the next message')
    assert.ok(store.calls >= 3, 'the first mail was offered again')
    assert.deepEqual(texts(store.messages), ['one', 'two'])
    await second.stop()
  })

  test('while the store is away mail waits, and is taken in order when it is back', async () => {
    const user = boxOf('no-store')
    const daemon = await world.daemon(reading(user))
    daemon.store.fail()
    await world.deliver(mail({ text: 'patience' }), user)
    await until(() => daemon.store.calls > 0, 'the first try')
    assert.equal(daemon.store.messages.length, 0)
    daemon.store.recover()
    await until(() => daemon.store.messages.length === 1, 'the message')
    await daemon.stop()
  })

  test('a connection outlives work that takes longer than it may be silent', async (t) => {
    const user = boxOf('long-wait')
    const relay = await startRelay(world.dovecot.imapPort)
    t.after(() => relay.close())
    const daemon = await world.daemon(reading(user, relay.port), { world: { imapTimeout: 300 } })
    const release = daemon.store.hold()
    await world.deliver(mail({ text: 'one' }), user)
    await until(() => daemon.store.calls > 0, 'the first try')
    const since = performance.now()
    await until(() => performance.now() - since > 1000, 'more than three times that silence')
    release()
    await until(() => daemon.store.messages.length === 1, 'the message')
    await world.deliver(mail({ text: 'two' }), user)
    await until(() => daemon.store.messages.length === 2, 'the next message')
    assert.equal(daemon.store.calls, 2)
    assert.deepEqual(
      daemon.logs.filter(({ message }) => message.includes('cannot be read')),
      [],
    )
    await daemon.stop()
  })

  test('a refused login turns health red, says why, and never puts the password into the log', async () => {
    const user = boxOf('locked-out')
    const options = reading(user)
    const daemon = await world.daemon(
      { ...options, imap: { ...options.imap, pass: 'wrong-Password-7' } },
      { start: 'later' },
    )
    await daemon.transport.start()
    const health = await until(() => {
      const now = daemon.transport.health()
      return now.ok ? undefined : now
    }, 'red health')
    assert.match(health.detail ?? '', /auth/i)
    assert.doesNotMatch(JSON.stringify(daemon.logs), /wrong-Password-7/)
    await daemon.stop()
  })

  test('a folder with a new UIDVALIDITY is reconciled by Message-ID', async () => {
    const user = boxOf('renumbered')
    const daemon = await world.daemon(reading(user))
    for (const text of ['one', 'two']) await world.deliver(mail({ text }), user)
    await world.deliver(mail({ text: 'nameless', id: '' }), user)
    await until(() => daemon.store.messages.length === 3, 'the first messages')
    await daemon.stop()
    await world.dovecot.kill()
    await world.dovecot.renumber(user)
    await world.dovecot.start()
    await world.deliver(mail({ text: 'meanwhile' }), user)

    // A store that has forgotten every key, as after seven days: the reader itself must know what it read.
    const store = createMemoryStore()
    for (const key of await daemon.deps.kv.list('email/', 100)) {
      const entry = await daemon.deps.kv.get(key)
      if (entry) await store.kv.set(key, entry.value)
    }
    const second = await world.daemon(reading(user), { store })
    await until(() => store.messages.length > 0, 'the new message')
    await world.deliver(mail({ text: 'later' }), user)
    await until(() => store.messages.length === 2, 'the message after it')
    assert.deepEqual(texts(store.messages), ['later', 'meanwhile'])
    await second.stop()
  })

  test('the same mail delivered twice, also to two folders, is one message', async () => {
    const user = boxOf('twice')
    await world.as(user, (client) => client.mailboxCreate('Also'))
    const daemon = await world.daemon({ ...reading(user), folders: ['INBOX', 'Also'] })
    const raw = mail({ id: 'same@example.net', text: 'once' })
    await world.deliver(raw, user)
    await world.deliver(raw, user)
    await world.as(user, (client) => client.append('Also', raw))
    await world.as(user, (client) => client.append('Also', mail({ text: 'other' })))
    await until(() => daemon.store.messages.length === 2, 'both messages')
    await until(() => daemon.store.calls === 4, 'all four mails')
    assert.deepEqual(texts(daemon.store.messages), ['once', 'other'])
    await daemon.stop()
  })

  test('of two daemons one reads, and the other takes over when it dies', async () => {
    const user = boxOf('shared')
    const store = createMemoryStore()
    const first = await world.daemon(reading(user), { store, start: 'later' })
    let dead = false
    first.deps.leases = {
      acquire: (...args) => (dead ? new Promise(() => {}) : store.leases.acquire(...args)),
      release: (...args) => (dead ? new Promise(() => {}) : store.leases.release(...args)),
    }
    await first.transport.start()
    await until(async () => (await store.kv.list('email/support/cursor', 1)).length > 0, 'the first daemon')
    const second = await world.daemon(reading(user), { store, start: 'later' })
    await second.transport.start()
    await world.deliver(mail({ text: 'one' }), user)
    await until(() => store.messages.length === 1, 'the message')
    assert.match(second.transport.health().detail ?? '', /another daemon/)
    assert.equal(store.calls, 1)

    // It dies: its lease is renewed no more, and it is told nothing.
    dead = true
    await world.deliver(mail({ text: 'two' }), user)
    await until(() => second.transport.health().detail?.startsWith('reading'), 'the takeover', 5000)
    await world.deliver(mail({ text: 'three' }), user)
    await until(() => store.messages.length === 3, 'all messages')
    assert.deepEqual(texts(store.messages), ['one', 'three', 'two'])
    await first.stop()
    await second.stop()
  })

  test('a daemon that lost the mailbox without knowing cannot move the cursor any more', async () => {
    const user = boxOf('fenced')
    const store = createMemoryStore()
    const first = await world.daemon(reading(user), { store })
    const key = 'email/support/cursor/INBOX'
    const now = await store.kv.get(key)
    assert.ok(now && typeof now.value === 'object' && now.value && !Array.isArray(now.value))
    await store.kv.set(key, { ...now.value, token: 99, uid: 41 })
    await world.deliver(mail({ text: 'one' }), user)
    await until(
      () => first.logs.some(({ fields }) => JSON.stringify(fields).includes('another daemon reads')),
      'the fence',
    )
    assert.deepEqual((await store.kv.get(key))?.value, { ...now.value, token: 99, uid: 41 })
    await first.stop()
  })
})
