import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createMemoryStore, type MemoryStore } from '../../fixtures/memory-store.ts'
import { until } from '../../fixtures/until.ts'
import { mail, startWorld, type World } from './harness.ts'

const at = (hour: number) => ({ Date: `Sat, 21 Nov 2026 ${hour}:00:00 +0000` })
const ID = 'alarm@scanner.example'

describe('mails with the same Message-ID', () => {
  let world: World
  before(async () => {
    world = await startWorld()
  })
  after(() => world.close())

  const reading = (user: string) => ({
    address: user,
    imap: {
      host: '127.0.0.1',
      port: world.dovecot.imapPort,
      tls: 'none',
      user,
      pass: world.dovecot.password,
    },
  })
  const texts = ({ messages }: MemoryStore) => messages.map(({ text }) => text)
  const end = async (user: string, store: MemoryStore, text = 'end') => {
    await world.deliver(mail({ text }), user)
    await until(() => texts(store).includes(text), `the mail: ${text}`)
  }

  test('and another Date and text are other mails, also where they come together', async () => {
    const user = 'device@example.com'
    for (const hour of [10, 11])
      await world.deliver(mail({ id: ID, text: `at ${hour}`, headers: at(hour) }), user)
    const daemon = await world.daemon({ ...reading(user), since: 'all' }, { start: 'later' })
    await daemon.transport.start()
    await until(() => daemon.store.messages.length === 2, 'both mails')
    for (const hour of [12, 11, 10]) {
      await world.deliver(mail({ id: ID, text: `at ${hour}`, headers: at(hour) }), user)
    }
    await end(user, daemon.store)
    assert.deepEqual(texts(daemon.store).sort(), ['at 10', 'at 11', 'at 12', 'end'])
    await daemon.stop()
  })

  test('and the same text are one mail that was sent again, though its Date is new', async () => {
    const user = 'again@example.com'
    const daemon = await world.daemon(reading(user))
    for (const hour of [10, 11])
      await world.deliver(mail({ id: ID, text: 'the alarm', headers: at(hour) }), user)
    await end(user, daemon.store)
    assert.deepEqual(texts(daemon.store), ['the alarm', 'end'])
    await daemon.stop()
  })

  test('and the same Date are one, whatever a list made of it and by whichever way it came', async () => {
    const user = 'lists@example.com'
    const daemon = await world.daemon(reading(user))
    await world.deliver(mail({ id: ID, text: 'direct', headers: at(10) }), user)
    await until(() => daemon.store.messages.length === 1, 'the mail')
    const listed = {
      ...at(10),
      Subject: '[users] Help',
      Received: 'from list by mx',
      'List-Id': '<users.example.org>',
    }
    const from = 'Anna via users <users@example.org>'
    await world.deliver(mail({ id: ID, from, text: 'listed', headers: listed }), user)
    const zoned = { Date: 'Sat, 21 Nov 2026 11:00:00 +0100' }
    await world.deliver(mail({ id: ID, text: 'in another zone', headers: zoned }), user)
    await end(user, daemon.store)
    assert.deepEqual(texts(daemon.store), ['direct', 'end'])
    await daemon.stop()
  })

  test('are taken once over a renumbered folder, each of them', async () => {
    const user = 'renumbered@example.com'
    const first = await world.daemon(reading(user))
    for (const hour of [10, 11])
      await world.deliver(mail({ id: ID, text: `at ${hour}`, headers: at(hour) }), user)
    await until(() => first.store.messages.length === 2, 'both mails')
    await end(user, first.store)
    await first.stop()
    await world.dovecot.kill()
    await world.dovecot.renumber(user)
    await world.dovecot.start()
    await world.deliver(mail({ id: ID, text: 'at 12', headers: at(12) }), user)
    // A store that has forgotten the keys of its messages: the reader itself must know what it read.
    const store = await keysOf(first.store)
    const second = await world.daemon(reading(user), { store })
    await end(user, store, 'second end')
    assert.deepEqual(texts(store), ['at 12', 'second end'])
    await second.stop()
  })

  test('that an earlier version took, without their Date, are not taken again', async () => {
    const user = 'upgraded@example.com'
    const raw = mail({ id: ID, text: 'old', headers: at(10) })
    const first = await world.daemon(reading(user))
    await world.deliver(raw, user)
    await until(() => first.store.messages.length === 1, 'the mail')
    await end(user, first.store)
    await first.stop()
    for (const key of await first.deps.kv.list('email/support/date/', 10)) await first.deps.kv.delete(key)
    const second = await world.daemon(reading(user), { store: first.store })
    await world.deliver(raw, user)
    await world.deliver(mail({ id: ID, text: 'another', headers: at(11) }), user)
    await world.deliver(raw, user)
    await end(user, first.store, 'second end')
    assert.deepEqual(texts(first.store), ['old', 'end', 'second end'])
    await second.stop()
  })
})

/** The keys and values of a store, and nothing of its messages. */
async function keysOf(from: MemoryStore): Promise<MemoryStore> {
  const store = createMemoryStore()
  for (const key of await from.kv.list('email/', 1000)) {
    const entry = await from.kv.get(key)
    if (entry) await store.kv.set(key, entry.value)
  }
  return store
}
