import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startRelay } from '../../fixtures/relay.ts'
import { until } from '../../fixtures/until.ts'
import { type Daemon, mail, startMailServer } from './harness.ts'

const mailServer = await startMailServer()

describe('a backlog', () => {
  const fill = (user: string, mails: string[]) =>
    mailServer.as(user, async (client) => {
      for (const each of mails) await client.append('INBOX', each)
    })
  const numbered = (count: number) => Array.from({ length: count }, (_, index) => `good ${index + 1}`)
  const subjectsOf = (daemon: Daemon) => daemon.store.messages.map(({ subject }) => subject)
  const withSubjects = (subjects: string[]) => subjects.map((subject) => mail({ subject }))
  const unfetchable = ({ logs }: Daemon) =>
    logs.filter(({ level, message }) => level === 'error' && message.includes('cannot be fetched'))

  test('is accepted except for mails that the server cannot read, which are listed, stay, and are retried', async () => {
    const address = 'spoiled@example.com'
    const subjects = numbered(130)
    await fill(address, withSubjects(subjects.with(44, 'poison').with(45, 'poison').with(119, 'poison')))
    assert.equal(await mailServer.dovecot.spoil(address, 'Subject: poison'), 3)
    const daemon = await mailServer.daemon(
      { address, since: 'all' },
      // Unfetchable mails are tried again after a fifth of this time (ms).
      { start: 'later', overrides: { decisionTimeout: 5000 } },
    )
    await daemon.transport.start()
    await until(() => daemon.store.messages.length === 127, 'all readable mails')
    assert.deepEqual(
      subjectsOf(daemon),
      subjects.filter((_, index) => ![44, 45, 119].includes(index)),
    )
    await until(() => daemon.refused.length >= 3, 'the unfetchable mails')
    assert.deepEqual(
      unfetchable(daemon).map(({ fields }) => fields),
      [45, 46, 120].map((uid) => ({ folder: 'INBOX', uid })),
    )
    assert.deepEqual(daemon.refused, ['unfetchable', 'unfetchable', 'unfetchable'])
    const detail = () => daemon.transport.health().detail ?? ''
    await until(() => /INBOX.*mail 45 of INBOX/.test(detail()), 'the first unfetchable mail in health')
    assert.equal(await mailServer.dovecot.mend(address, 'Subject: poison'), 3)
    await until(() => daemon.store.messages.length === 130, 'the repaired mails')
    await mailServer.deliver(mail({ subject: 'next' }), address)
    await until(() => subjectsOf(daemon).includes('next'), 'the next mail')
    await until(() => detail() === 'reading INBOX', 'no mail set aside')
  })

  test('is accepted completely once the connection stops breaking (at each fetch, or after much data)', async (t) => {
    for (const breaksAt of ['each fetch', '300 kB'] as const) {
      const address = `unstable-${breaksAt.replace(' ', '-')}@example.com`
      const big = mail({ subject: 'big', text: `${'x'.repeat(70)}\n`.repeat(10_000) })
      await fill(address, [mail({ subject: 'one' }), big, mail({ subject: 'two' })])
      let isUnstable = true
      /** Bytes of the current connection, which begins with the greeting "* OK". */
      let transferred = 0
      const relay = await startRelay(mailServer.dovecot.imapPort, (chunk) => {
        transferred = chunk.includes('* OK') ? 0 : transferred + chunk.length
        const breaks = breaksAt === 'each fetch' ? chunk.includes('BODY[]') : transferred > 300_000
        return isUnstable && breaks ? 'cut' : 'pass'
      })
      t.after(() => relay.close())
      const more = { start: 'later', port: relay.port, overrides: { decisionTimeout: 1000 } } as const
      const daemon = await mailServer.daemon({ address, since: 'all' }, more)
      await daemon.transport.start()
      await until(
        () => unfetchable(daemon).length >= (breaksAt === 'each fetch' ? 3 : 1),
        'what cannot be fetched',
      )
      if (breaksAt === '300 kB') await until(() => subjectsOf(daemon).includes('two'), 'the mail behind it')
      isUnstable = false
      await until(() => daemon.store.messages.length === 3, 'all mails')
      assert.deepEqual(subjectsOf(daemon).sort(), ['big', 'one', 'two'])
    }
  })

  test('is accepted except for a mail that ends the connection', async (t) => {
    const address = 'ending@example.com'
    const subjects = numbered(206)
    // 10 kB each, so that the mails before `poison` arrive in chunks of their own.
    const long = (subject: string) => mail({ subject, text: `${'x'.repeat(70)}\n`.repeat(150) })
    await fill(address, subjects.with(203, 'poison').map(long))
    const relay = await startRelay(mailServer.dovecot.imapPort, (chunk) =>
      chunk.includes('Subject: poison') ? 'cut' : 'pass',
    )
    t.after(() => relay.close())
    const daemon = await mailServer.daemon({ address, since: 'all' }, { start: 'later', port: relay.port })
    await daemon.transport.start()
    await until(() => daemon.store.messages.length === 205, 'all other mails')
    const others = subjects.filter((_, index) => index !== 203)
    assert.deepEqual(subjectsOf(daemon), others)
  })

  test('that takes longer than `max-silence` keeps health green, and later silence does not', async () => {
    const address = 'long@example.com'
    await fill(address, withSubjects(numbered(300)))
    let time = Date.now()
    const options = { address, since: 'all', 'max-silence': '250s' }
    const daemon = await mailServer.daemon(options, { start: 'later', now: () => time })
    const redDuringBacklog: unknown[] = []
    const { accept } = daemon.deps
    daemon.deps.accept = (message) => {
      time += 1000
      const health = daemon.transport.health()
      if (!health.ok) redDuringBacklog.push(health)
      return accept(message)
    }
    await daemon.transport.start()
    await until(() => daemon.store.messages.length === 300, 'all mails')
    assert.deepEqual([redDuringBacklog, subjectsOf(daemon)], [[], numbered(300)])
    await until(() => daemon.transport.health().detail === 'reading INBOX', 'the end')
    time += 251_000
    assert.equal(daemon.transport.health().ok, false)
  })
})

test('a mailbox that is rarely read is not reported as down between two sweeps', async () => {
  let time = Date.now()
  const options = { address: 'quiet@example.com', sweep: '10m' }
  const daemon = await mailServer.daemon(options, { start: 'later', now: () => time })
  await daemon.transport.start()
  await until(() => daemon.transport.health().detail === 'reading INBOX', 'the first sweep')
  // Without `max-silence`, the gateway is down after twice `sweep`.
  time += 11 * 60_000
  assert.equal(daemon.transport.health().ok, true)
  time += 10 * 60_000
  assert.equal(daemon.transport.health().ok, false)
})
