import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startRelay } from '../../fixtures/relay.ts'
import { until } from '../../fixtures/until.ts'
import { type Daemon, mail, startWorld } from './harness.ts'

const world = await startWorld()

describe('a backlog', () => {
  const fill = (user: string, mails: string[]) =>
    world.as(user, async (client) => {
      for (const each of mails) await client.append('INBOX', each)
    })
  const numbered = (count: number) => Array.from({ length: count }, (_, at) => `good ${at + 1}`)
  const subjectsOf = (daemon: Daemon) => daemon.store.messages.map(({ subject }) => subject)
  const withSubjects = (subjects: string[]) => subjects.map((subject) => mail({ subject }))
  const setAside = ({ logs }: Daemon) =>
    logs.filter(({ level, message }) => level === 'error' && message.includes('cannot be fetched'))

  test('with mails that the server cannot read is taken but for those, which are named, stay, and are tried again', async () => {
    const address = 'spoiled@example.com'
    const subjects = numbered(130)
    await fill(address, withSubjects(subjects.with(44, 'poison').with(45, 'poison').with(119, 'poison')))
    assert.equal(await world.dovecot.spoil(address, 'Subject: poison'), 3)
    const daemon = await world.daemon(
      { address, since: 'all' },
      { start: 'later', world: { decisionTimeout: 5000 } },
    )
    await daemon.transport.start()
    await until(() => daemon.store.messages.length === 127, 'every other mail')
    assert.deepEqual(
      subjectsOf(daemon),
      subjects.filter((_, at) => ![44, 45, 119].includes(at)),
    )
    assert.deepEqual(
      setAside(daemon).map(({ fields }) => fields),
      [45, 46, 120].map((uid) => ({ folder: 'INBOX', uid })),
    )
    assert.deepEqual(daemon.refused, ['unfetchable', 'unfetchable', 'unfetchable'])
    await until(() => /INBOX.*mail 45 of INBOX/.test(daemon.transport.health().detail ?? ''), 'the names')
    assert.equal(await world.dovecot.spoil(address, 'Subject: poison', 'mend'), 3)
    await until(() => daemon.store.messages.length === 130, 'the mended ones')
    await world.deliver(mail({ subject: 'next' }), address)
    await until(() => subjectsOf(daemon).includes('next'), 'the next mail')
    await until(() => daemon.transport.health().detail === 'reading INBOX', 'nothing aside')
  })

  test('behind a line that breaks at each fetch, or under much data, is taken whole once it holds', async (t) => {
    for (const limit of [0, 300_000]) {
      const address = `thin-${limit}@example.com`
      const big = mail({ subject: 'big', text: `${'x'.repeat(70)}\n`.repeat(10_000) })
      await fill(address, [mail({ subject: 'one' }), big, mail({ subject: 'two' })])
      let isThin = true
      let carried = 0
      const relay = await startRelay(world.dovecot.imapPort, (chunk) => {
        carried = chunk.includes('* OK') ? 0 : carried + chunk.length
        const breaks = limit === 0 ? chunk.includes('BODY[]') : carried > limit
        return isThin && breaks ? 'cut' : 'pass'
      })
      t.after(() => relay.close())
      const more = { start: 'later', port: relay.port, world: { decisionTimeout: 1000 } } as const
      const daemon = await world.daemon({ address, since: 'all' }, more)
      await daemon.transport.start()
      await until(() => setAside(daemon).length >= (limit === 0 ? 3 : 1), 'what cannot be fetched')
      if (limit > 0) await until(() => subjectsOf(daemon).includes('two'), 'the mail behind it')
      isThin = false
      await until(() => daemon.store.messages.length === 3, 'all of them')
      assert.deepEqual(subjectsOf(daemon).sort(), ['big', 'one', 'two'])
    }
  })

  test('at whose second part the connection ends is taken but for the mail that ends it', async (t) => {
    const address = 'behind@example.com'
    const subjects = numbered(206)
    const long = (subject: string) => mail({ subject, text: 'word =20 '.repeat(1200) })
    await fill(address, subjects.with(203, 'poison').map(long))
    const relay = await startRelay(world.dovecot.imapPort, (chunk) =>
      chunk.includes('Subject: poison') ? 'cut' : 'pass',
    )
    t.after(() => relay.close())
    const daemon = await world.daemon({ address, since: 'all' }, { start: 'later', port: relay.port })
    await daemon.transport.start()
    await daemon.message(204)
    const others = subjects.filter((_, at) => at !== 203)
    assert.deepEqual(subjectsOf(daemon), others)
  })

  test('that takes longer than max-silence is no silence, and what comes after it is', async () => {
    const address = 'long@example.com'
    await fill(address, withSubjects(numbered(300)))
    let time = Date.now()
    const options = { address, since: 'all', 'max-silence': '250s' }
    const daemon = await world.daemon(options, { start: 'later', now: () => time })
    const red: unknown[] = []
    const { accept } = daemon.deps
    daemon.deps.accept = (message) => {
      time += 1000
      const health = daemon.transport.health()
      if (!health.ok) red.push(health)
      return accept(message)
    }
    await daemon.transport.start()
    await daemon.message(299)
    assert.deepEqual([red, subjectsOf(daemon)], [[], numbered(300)])
    await until(() => daemon.transport.health().detail === 'reading INBOX', 'the end')
    time += 251_000
    assert.equal(daemon.transport.health().ok, false)
  })
})
