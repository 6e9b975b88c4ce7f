import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createMemoryStore } from '../../fixtures/memory-store.ts'
import { startRelay } from '../../fixtures/smtp-server.ts'
import { until } from '../../fixtures/until.ts'
import { type Daemon, mail, startWorld, type World } from './harness.ts'

describe('a backlog', () => {
  let world: World
  before(async () => {
    world = await startWorld()
  })
  after(() => world.close())

  const reading = (user: string, port = world.dovecot.imapPort) => ({
    address: user,
    imap: { host: '127.0.0.1', port, tls: 'none', user, pass: world.dovecot.password },
    since: 'all',
  })
  const fill = (user: string, subjects: string[]) =>
    world.as(user, async (client) => {
      for (const subject of subjects) await client.append('INBOX', mail({ subject }))
    })
  const numbered = (count: number, name = 'good') =>
    Array.from({ length: count }, (_, at) => `${name} ${at + 1}`)
  const subjectsOf = (daemon: Daemon) => daemon.store.messages.map(({ subject }) => subject)
  const errorsOf = (daemon: Daemon) => daemon.logs.filter(({ level }) => level === 'error')
  const failures = (daemon: Daemon) =>
    daemon.logs.filter(({ message }) => message.includes('cannot be read; trying again')).length

  test('with mails that the server cannot read is taken but for those, which are named and stay', async () => {
    const user = 'spoiled@example.com'
    const subjects = numbered(130)
    await fill(user, subjects.with(44, 'poison').with(45, 'poison').with(119, 'poison'))
    assert.equal(await world.dovecot.spoil(user, 'Subject: poison'), 3)
    const daemon = await world.daemon(reading(user), { start: 'later' })
    await daemon.transport.start()
    await until(() => daemon.store.messages.length === 127, 'every other mail', 50_000)
    assert.deepEqual(
      subjectsOf(daemon),
      subjects.filter((_, at) => ![44, 45, 119].includes(at)),
    )
    assert.deepEqual(
      errorsOf(daemon).map(({ fields }) => fields),
      [45, 46, 120].map((uid) => ({ folder: 'INBOX', uid })),
    )
    assert.deepEqual(daemon.refused, ['unfetchable', 'unfetchable', 'unfetchable'])
    await world.deliver(mail({ subject: 'next' }), user)
    await until(() => subjectsOf(daemon).includes('next'), 'the next mail')
    const left = await world.as(user, (client) => client.search({ all: true }))
    assert.equal((left || []).length, 131)
    await daemon.stop()
  })

  test('of one mail that cannot be read is waited for, and named, until another one shows that it is the mail', async () => {
    const user = 'alone@example.com'
    await fill(user, ['poison'])
    await world.dovecot.spoil(user, 'Subject: poison')
    const daemon = await world.daemon(reading(user), { start: 'later' })
    await daemon.transport.start()
    await until(() => failures(daemon) >= 10, 'many failures')
    assert.deepEqual([daemon.refused, errorsOf(daemon)], [[], []])
    assert.match(daemon.transport.health().detail ?? '', /mail 1 of INBOX cannot be fetched/)
    await world.deliver(mail({ subject: 'good' }), user)
    await until(() => daemon.store.messages.length === 1, 'the other mail')
    assert.deepEqual(daemon.refused, ['unfetchable'])
    await daemon.stop()
  })

  test('behind a connection that breaks at each fetch is skipped nowhere, and taken whole once it holds', async (t) => {
    const user = 'breaking@example.com'
    await fill(user, numbered(5))
    let breaks = true
    const relay = await startRelay(world.dovecot.imapPort, (chunk) =>
      breaks && chunk.includes('BODY[]') ? 'cut' : 'pass',
    )
    t.after(() => relay.close())
    const daemon = await world.daemon(reading(user, relay.port), { start: 'later' })
    await daemon.transport.start()
    await until(() => failures(daemon) >= 25, 'many failures', 30_000)
    breaks = false
    await until(() => daemon.store.messages.length === 5, 'the backlog')
    assert.deepEqual(subjectsOf(daemon), numbered(5))
    assert.deepEqual([daemon.refused, errorsOf(daemon)], [[], []])
    await daemon.stop()
  })

  test('behind a line that breaks under much data loses no big mail, and names what holds it up', async (t) => {
    const user = 'thin@example.com'
    const big = mail({ subject: 'big', text: `${'x'.repeat(70)}\n`.repeat(10_000) })
    await world.as(user, async (client) => {
      for (const raw of [mail({ subject: 'one' }), big, mail({ subject: 'two' })]) {
        await client.append('INBOX', raw)
      }
    })
    let isThin = true
    let carried = 0
    const relay = await startRelay(world.dovecot.imapPort, (chunk) => {
      carried = chunk.includes('* OK') ? 0 : carried + chunk.length
      return isThin && carried > 300_000 ? 'cut' : 'pass'
    })
    t.after(() => relay.close())
    let time = Date.now()
    const daemon = await world.daemon(reading(user, relay.port), { start: 'later', now: () => time })
    await daemon.transport.start()
    await until(() => failures(daemon) >= 25, 'many failures', 30_000)
    assert.deepEqual([daemon.refused, errorsOf(daemon)], [[], []])
    time += 301_000
    const health = daemon.transport.health()
    assert.equal(health.ok, false)
    assert.match(health.detail ?? '', /mail 2 of INBOX cannot be fetched/)
    isThin = false
    await until(() => daemon.store.messages.length === 3, 'all of them')
    assert.deepEqual(subjectsOf(daemon), ['one', 'big', 'two'])
    await daemon.stop()
  })

  test('behind one mail on which a line breaks for hours goes on in the end', async (t) => {
    const user = 'hours@example.com'
    const big = mail({ subject: 'big', text: `${'x'.repeat(70)}\n`.repeat(10_000) })
    await world.as(user, async (client) => {
      for (const raw of [mail({ subject: 'one' }), big, mail({ subject: 'two' })]) {
        await client.append('INBOX', raw)
      }
    })
    let carried = 0
    const relay = await startRelay(world.dovecot.imapPort, (chunk) => {
      carried = chunk.includes('* OK') ? 0 : carried + chunk.length
      return carried > 300_000 ? 'cut' : 'pass'
    })
    t.after(() => relay.close())
    let time = Date.now()
    // Its leases go by the real clock.
    const store = createMemoryStore()
    const options = { start: 'later', store, now: () => time } as const
    const daemon = await world.daemon(reading(user, relay.port), options)
    await daemon.transport.start()
    await until(() => failures(daemon) >= 10, 'many failures', 30_000)
    time += 6 * 3_600_000
    await until(() => subjectsOf(daemon).includes('two'), 'the mail behind it', 30_000)
    assert.deepEqual(daemon.refused, ['unfetchable'])
    assert.deepEqual(
      errorsOf(daemon).map(({ fields }) => fields),
      [{ folder: 'INBOX', uid: 2 }],
    )
    await daemon.stop()
  })

  test('that takes longer than max-silence is no silence', async () => {
    const user = 'long@example.com'
    await fill(user, numbered(300))
    let time = Date.now()
    const daemon = await world.daemon(
      { ...reading(user), 'max-silence': '250s' },
      { start: 'later', now: () => time },
    )
    const red: unknown[] = []
    const { accept } = daemon.deps
    daemon.deps.accept = (message) => {
      time += 1000
      const health = daemon.transport.health()
      if (!health.ok) red.push(health)
      return accept(message)
    }
    await daemon.transport.start()
    await until(() => daemon.store.messages.length === 300, 'the backlog', 30_000)
    assert.deepEqual(red, [])
    await until(() => daemon.transport.health().detail === 'reading INBOX', 'the end')
    time += 251_000
    assert.equal(daemon.transport.health().ok, false)
    await daemon.stop()
  })
})
