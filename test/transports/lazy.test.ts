import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Transport } from '../../src/core/transport.ts'
import { lazyTransport } from '../../transports/lazy.ts'

/** Writes down what it is told, in order. */
function recording(steps: string[]): Transport {
  const step = (name: string) => async () => void steps.push(name)
  return {
    start: step('start'),
    stop: step('stop'),
    close: step('close'),
    send: async () => ({ id: 'sent' }),
    health: () => ({ ok: true }),
    check: async () => [],
  }
}

describe('a transport that is loaded late', () => {
  test('and stopped while it loads does not run on after its end', async () => {
    const steps: string[] = []
    const { promise, resolve } = Promise.withResolvers<Transport>()
    const transport = lazyTransport(() => promise, { canProbe: true })
    const ending = [transport.start(), transport.stop(), transport.close()]
    resolve(recording(steps))
    await Promise.all(ending)
    assert.deepEqual(steps, ['start', 'stop', 'close'])
  })

  test('is not loaded in order to be stopped', async () => {
    const transport = lazyTransport(() => assert.fail('it was loaded'), { canProbe: true })
    await transport.stop()
    await transport.close()
    assert.equal(transport.health().ok, false)
  })

  test('that cannot be loaded says so at the start, and stops without a word', async () => {
    const transport = lazyTransport(async () => Promise.reject(new Error('no such module')), {
      canProbe: true,
    })
    await assert.rejects(transport.start(), /no such module/)
    await transport.stop()
  })

  test('is asked what became of a reply only where it can tell: where it cannot, the reply is sent again', async () => {
    const load = async () => recording([])
    assert.equal(lazyTransport(load, { canProbe: false }).probe, undefined)
    assert.equal(typeof lazyTransport(load, { canProbe: true }).probe, 'function')
  })
})
