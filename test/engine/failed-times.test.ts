import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeId } from '../../src/core/message-id.ts'
import type { DeadLetter, LetterFilter } from '../../src/core/store.ts'
import { failedTimes } from '../../src/engine/failed-times.ts'
import { newMessage } from './kit.ts'

const START = Date.parse('2026-11-29T10:00:00Z')
const SECOND = 1_000

/** A letter per second, of a message that arrived half a second before. */
function letterOf(n: number): DeadLetter {
  const id = makeId(START + n * SECOND - SECOND / 2, n)
  const at = START + n * SECOND
  const message = { ...newMessage(), id, conversation: id, receivedAt: at, attachments: [], trace: '' }
  return { id, queue: 'dispatch', lane: id, group: 'all', at, reason: 'permanent', errors: [], message }
}

function lettersOf(count: number) {
  const letters = Array.from({ length: count }, (_, n) => letterOf(count - n))
  return {
    async list({ queue, before, limit }: LetterFilter) {
      const from = before ? letters.findIndex(({ id }) => id === before.id) + 1 : 0
      const items = queue === 'dispatch' ? letters.slice(from, from + limit) : []
      return { items, more: queue === 'dispatch' && from + limit < letters.length }
    },
  }
}

test('of many dead letters, the newest are read, and it is said from when on they are complete', async () => {
  const { times, knownFrom = 0 } = await failedTimes(lettersOf(5_000), {})
  assert.ok(times.length >= 100 && times.length < 5_000)
  // The message of each letter that is not read arrived before `knownFrom`.
  assert.equal(Math.min(...times), knownFrom - SECOND / 2)
  assert.deepEqual(await failedTimes(lettersOf(2), {}), { times: [START + 1.5 * SECOND, START + SECOND / 2] })
  const ofEnd = await failedTimes(lettersOf(5_000), { since: START + 4_990 * SECOND })
  assert.deepEqual([ofEnd.times.length, ofEnd.knownFrom], [10, undefined])
})
