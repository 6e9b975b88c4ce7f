import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import type { Transport, TransportDeps, TransportKind } from '../../src/core/transport.ts'
import type { GatewaySpec } from '../../src/engine/gateway-lifecycle.ts'
import { createGateways } from '../../src/engine/gateways.ts'
import { createMemoryLog } from '../runtime/support/log.ts'

/** A kind whose gateways need a place of their own, and take a turn of the event loop to give it back. */
function stage(trouble: { create?: string; start?: string; stop?: string } = {}) {
  const steps: string[] = []
  const taken = new Set<string>()
  const kind: TransportKind = {
    kind: 'test',
    options: z.unknown(),
    eventData: () => ({}),
    async create(_options, { gateway }): Promise<Transport> {
      if (gateway === trouble.create) throw new Error('options contradict')
      return {
        async start() {
          if (gateway === trouble.start) throw new Error('cannot start')
          if (taken.has(gateway)) throw new Error('the place is taken')
          taken.add(gateway)
          steps.push(`start ${gateway}`)
        },
        async send({ key }) {
          return { id: key }
        },
        async stop() {
          await new Promise((resolve) => setImmediate(resolve))
          taken.delete(gateway)
          steps.push(`stop ${gateway}`)
          if (gateway === trouble.stop) throw new Error('cannot stop')
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
  test('that changed start anew, those that are gone stop, and the rest is left alone', async () => {
    const { gateways, steps } = stage()
    await gateways.apply([spec('a'), spec('b', 1), spec('c')])
    steps.length = 0
    await gateways.apply([spec('a'), spec('b', 2)])
    assert.deepEqual(steps.toSorted(), ['start b', 'stop b', 'stop c'])
    assert.ok(gateways.get('a'))
    assert.equal(gateways.get('c'), undefined)
    assert.deepEqual(gateways.spec('b')?.options, 2)
  })

  test('that cannot be made or cannot start hold up no other, and say why', async () => {
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

  test('that could not start are tried again at the next reload', async () => {
    const trouble = { start: 'a' }
    const { gateways, states } = stage(trouble)
    await gateways.apply([spec('a')])
    trouble.start = 'nobody'
    await gateways.apply([spec('a')])
    assert.deepEqual(states(), [['a', true]])
  })

  test('are connected anew one at a time, also where they could not start, and the rest is left alone', async () => {
    const trouble = { start: 'b' }
    const { gateways, steps } = stage(trouble)
    await gateways.apply([spec('a'), spec('b')])
    assert.partialDeepStrictEqual(await gateways.reconnect('b'), { ok: false, detail: 'cannot start' })
    trouble.start = 'nobody'
    assert.partialDeepStrictEqual(await gateways.reconnect('b'), { name: 'b', ok: true })
    steps.length = 0
    const [first, , again] = await Promise.allSettled([
      gateways.reconnect('a'),
      gateways.apply([spec('a'), spec('b')]),
      gateways.reconnect('a'),
    ])
    assert.deepEqual([first.status, again.status], ['fulfilled', 'fulfilled'])
    assert.deepEqual(steps, ['stop a', 'start a', 'stop a', 'start a'])
    await assert.rejects(gateways.reconnect('none'), { code: 'gateway_not_found' })
    await gateways.stop()
    await assert.rejects(gateways.reconnect('a'), { code: 'gateway_not_found' })
  })

  test('that do not stop cleanly hold up no reload', async () => {
    const { gateways, states } = stage({ stop: 'a' })
    await gateways.apply([spec('a')])
    await gateways.apply([spec('b')])
    assert.deepEqual(states(), [['b', true]])
  })
})
