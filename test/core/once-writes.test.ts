import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOnceWrites } from '../../src/core/once-writes.ts'

test('calls that wait for the same write share it, so that they do not queue up while the store is away', async () => {
  let writes = 0
  let collected = ['a']
  const away = async () => {
    writes++
    throw new Error('away')
  }
  const { flush } = createOnceWrites({ get: away, set: away }, () => {
    const taken = collected
    collected = []
    return taken.map((key) => ({ key, change: () => ({ value: {}, ttl: 1 }) }))
  })
  const first = flush()
  await assert.rejects(first, { message: 'away' })
  const results = await Promise.allSettled(Array.from({ length: 10 }, flush))
  assert.ok(results.every(({ status }) => status === 'rejected'))
  assert.equal(writes, 2)
})
