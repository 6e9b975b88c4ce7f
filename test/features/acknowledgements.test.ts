import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Trouble } from '../../src/core/trouble.ts'
import { HOUR, MINUTE } from '../../src/core/units.ts'
import { createAcknowledgements } from '../../src/features/troubles/acknowledgements.ts'
import { error, warning } from '../../src/features/troubles/trouble-parts.ts'
import { openStore } from '../runtime/support/store.ts'

const WORDS = { title: 'A title', text: 'a text', todo: 'Check it.' }
const down = (count = 1) => error('gateway-down', { gateway: 'support' }, { ...WORDS, count })
const dead = (count: number, since: number) =>
  error('dead-letters', { queue: 'outbox' }, { ...WORDS, count, since })

/** Acknowledgements in an own store; `owners`: who has which of the troubles, in their order. */
async function setUp(t: Parameters<typeof openStore>[0]) {
  const { kv } = await openStore(t)
  const clock = { at: 1_000 * HOUR }
  const start = () => createAcknowledgements(kv, () => clock.at)
  const ownersIn = async (daemon: ReturnType<typeof start>, troubles: Trouble[], mayRead = true) =>
    (await daemon.addTo(troubles, mayRead)).map(({ code, acknowledged }) => [code, acknowledged?.by])
  /** Time passes, and the daemon lists the troubles every minute. */
  const pass = async (daemon: ReturnType<typeof start>, ms: number, troubles: Trouble[]) => {
    for (const end = clock.at + ms; clock.at < end; ) {
      clock.at += MINUTE
      await daemon.addTo(troubles, true)
    }
  }
  return { clock, start, ownersIn, pass }
}

test('a trouble that somebody has goes last, with its owner, also in another daemon and after a restart', async (t) => {
  const { clock, start, ownersIn, pass } = await setUp(t)
  const first = start()
  const other = start()
  const unrouted = warning('unrouted', {}, WORDS)
  await first.add(down(), 'oidc:ingrid', { reason: 'calling them' })
  const expected = [
    ['unrouted', undefined],
    ['gateway-down', 'oidc:ingrid'],
  ]
  assert.deepEqual(await ownersIn(first, [down(), unrouted]), expected)
  assert.deepEqual(await ownersIn(other, [down(), unrouted]), expected)
  assert.deepEqual((await first.addTo([down()], true))[0]?.acknowledged, {
    at: clock.at,
    by: 'oidc:ingrid',
    reason: 'calling them',
  })
  await pass(first, HOUR, [down(), unrouted])
  assert.deepEqual(await ownersIn(first, [down(), unrouted]), expected)
  clock.at += 9 * HOUR
  const restarted = start()
  assert.deepEqual(await ownersIn(restarted, [down(), unrouted]), expected)
  assert.deepEqual(await ownersIn(restarted, [down(), unrouted], false), expected)
})

test('it ends when the trouble has ended, at its time, and when it is released', async (t) => {
  const { clock, start, ownersIn, pass } = await setUp(t)
  const daemon = start()
  await daemon.add(down(), 'ada', {})
  await pass(daemon, 10 * MINUTE, [])
  assert.deepEqual(await ownersIn(daemon, [down()]), [['gateway-down', 'ada']])
  await pass(daemon, 20 * MINUTE, [])
  assert.deepEqual(await ownersIn(daemon, [down()]), [['gateway-down', undefined]])
  await daemon.add(down(), 'ada', { until: clock.at + HOUR })
  await pass(daemon, 59 * MINUTE, [down()])
  assert.deepEqual(await ownersIn(daemon, [down()]), [['gateway-down', 'ada']])
  await pass(daemon, MINUTE, [down()])
  assert.deepEqual(await ownersIn(daemon, [down()]), [['gateway-down', undefined]])
  await daemon.add(down(), 'ada', {})
  await daemon.add(down(), 'ingrid', {})
  assert.deepEqual(await ownersIn(daemon, [down()]), [['gateway-down', 'ingrid']])
  assert.deepEqual([await daemon.remove(down().key), await daemon.remove(down().key)], [true, false])
  assert.deepEqual(await ownersIn(daemon, [down()]), [['gateway-down', undefined]])
})

test('it stays while the store is away, but not beyond its time', async (t) => {
  const { clock, start, ownersIn } = await setUp(t)
  const daemon = start()
  await daemon.add(down(), 'ada', { until: clock.at + 2 * HOUR })
  const away = async (ms: number) => {
    for (const end = clock.at + ms; clock.at < end; clock.at += MINUTE) await daemon.addTo([], false)
  }
  await away(HOUR)
  assert.deepEqual(await ownersIn(daemon, [down()]), [['gateway-down', 'ada']])
  await away(HOUR)
  assert.deepEqual(await ownersIn(daemon, [down()], false), [['gateway-down', undefined]])
})

test('a trouble that gets clearly worse, or that began again, counts again and goes on counting', async (t) => {
  const { clock, start, ownersIn } = await setUp(t)
  const daemon = start()
  const since = clock.at - HOUR
  await daemon.add(dead(2, since), 'ada', {})
  assert.deepEqual(await ownersIn(daemon, [dead(19, since)]), [['dead-letters', 'ada']])
  assert.deepEqual(await ownersIn(daemon, [dead(20, since)]), [['dead-letters', undefined]])
  assert.deepEqual(await ownersIn(daemon, [dead(2, since)]), [['dead-letters', undefined]])
  await daemon.add(dead(2, since), 'ada', {})
  assert.deepEqual(await ownersIn(daemon, [dead(2, clock.at + MINUTE)]), [['dead-letters', undefined]])
  const lag = warning('backlog', {}, WORDS)
  await daemon.add(lag, 'ada', {})
  assert.deepEqual(await ownersIn(daemon, [{ ...lag, since: clock.at + MINUTE }]), [['backlog', 'ada']])
  assert.deepEqual(await ownersIn(daemon, [{ ...lag, severity: 'error' }]), [['backlog', undefined]])
})
