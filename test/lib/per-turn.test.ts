import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { perTurn } from '../../src/lib/per-turn.ts'

describe('perTurn', () => {
  test('passes on the items of one turn together, including those added by promises', async () => {
    const calls: string[][] = []
    const add = perTurn((items: string[]) => void calls.push(items))
    const { port1, port2 } = new MessageChannel()
    port1.postMessage('next turn')
    add('first')
    await Promise.resolve().then(() => add('by a promise'))
    await once(port2, 'message')
    add('later')
    await new Promise((resolve) => setImmediate(resolve))
    port1.close()
    assert.deepEqual(calls, [['first', 'by a promise'], ['later']])
  })
})
