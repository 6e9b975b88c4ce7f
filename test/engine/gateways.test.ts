import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import type { Transport, TransportDeps, TransportKind } from '../../src/core/transport.ts'
import type { GatewaySpec } from '../../src/engine/gateway-lifecycle.ts'
import { createGateways } from '../../src/engine/gateways.ts'
import { createMemoryLog } from '../runtime/support/log.ts'

/**
 * Gateways of a kind of which only one per name can run, and whose stop takes a turn of the event
 * loop. `failing`: the gateway whose `create`, `start` or `stop` throws.
 */
function stage(failing: { create?: string; start?: string; stop?: string } = {}) {
  const steps: string[] = []
  const running = new Set<string>()
  const kind: TransportKind = {
    kind: 'test',
    options: z.unknown(),
    eventData: () => ({}),
    async create(_options, { gateway }): Promise<Transport> {
      if (gateway === failing.create) throw new Error('options contradict')
      return {
        async start() {
          if (gateway === failing.start) throw new Error('cannot start')
          if (running.has(gateway)) throw new Error('is already running')
          running.add(gateway)
          steps.push(`start ${gateway}`)
        },
        async send({ key }) {
          return { id: key }
        },
        async stop() {
          await new Promise((resolve) => setImmediate(resolve))
          running.delete(gateway)
          steps.push(`stop ${gateway}`)
          if (gateway === failing.stop) throw new Error('cannot stop')
        },
        async close() {},
        health: () => ({ ok: true }),
        check: async () => [],
      }
    },
  }
  const gateways = createGateways({
    kinds: new Map([['test', kind]]),
    log: createMemoryLog(),
    now: Date.now,
  })
  gateways.connect((gateway) => ({ gateway }) as TransportDeps)
  const states = () => gateways.list().map(({ name, ok, detail }) => [name, detail ?? ok])
  return { gateways, steps, states }
}

const spec = (name: string, options: unknown = {}): GatewaySpec => ({
  name,
  transport: 'test',
  options,
  open: false,
})

describe('gateways', () => {
  test('restart if they changed, stop if they were removed, and otherwise keep running', async () => {
    const { gateways, steps } = stage()
    await gateways.apply([spec('a'), spec('b', 1), spec('c')])
    steps.length = 0
    await gateways.apply([spec('a'), spec('b', 2)])
    assert.deepEqual(steps.toSorted(), ['start b', 'stop b', 'stop c'])
    assert.ok(gateways.get('a'))
    assert.equal(gateways.get('c'), undefined)
    assert.deepEqual(gateways.spec('b')?.options, 2)
  })

  test('that cannot be created or started have a reason, and do not prevent others from starting', async () => {
    const { gateways, states } = stage({ create: 'a', start: 'b' })
    await gateways.apply([spec('a'), spec('b'), spec('c'), { ...spec('d'), transport: 'none' }])
    assert.deepEqual(states(), [
      ['a', 'options contradict'],
      ['b', 'cannot start'],
      ['c', true],
      ['d', 'no transport is called none'],
    ])
    await gateways.stop()
    await gateways.close()
  })

  test('that could not start are started by the next reload', async () => {
    const failing = { start: 'a' }
    const { gateways, states } = stage(failing)
    await gateways.apply([spec('a')])
    failing.start = 'none'
    await gateways.apply([spec('a')])
    assert.deepEqual(states(), [['a', true]])
  })

  test('reconnect one at a time, also after a failed start, while others keep running', async () => {
    const failing = { start: 'b' }
    const { gateways, steps } = stage(failing)
    await gateways.apply([spec('a'), spec('b')])
    assert.partialDeepStrictEqual(await gateways.reconnect('b'), { ok: false, detail: 'cannot start' })
    failing.start = 'none'
    assert.partialDeepStrictEqual(await gateways.reconnect('b'), { name: 'b', ok: true })
    steps.length = 0
    const [first, , second] = await Promise.allSettled([
      gateways.reconnect('a'),
      gateways.apply([spec('a'), spec('b')]),
      gateways.reconnect('a'),
    ])
    assert.deepEqual([first.status, second.status], ['fulfilled', 'fulfilled'])
    assert.deepEqual(steps, ['stop a', 'start a', 'stop a', 'start a'])
    await assert.rejects(gateways.reconnect('none'), { code: 'gateway_not_found' })
    await gateways.stop()
    await assert.rejects(gateways.reconnect('a'), { code: 'gateway_not_found' })
  })

  test('that fail to stop do not prevent a reload', async () => {
    const { gateways, states } = stage({ stop: 'a' })
    await gateways.apply([spec('a')])
    await gateways.apply([spec('b')])
    assert.deepEqual(states(), [['b', true]])
  })
})
