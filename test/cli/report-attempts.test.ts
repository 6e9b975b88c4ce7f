import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Connection } from '../../src/cli/connection.ts'
import { reportAttempts } from '../../src/cli/report-attempts.ts'
import { until } from '../fixtures/until.ts'

for (const duplicate of [false, true]) {
  const title = duplicate ? 'finds an older message of the key' : 'says that it was the first with the key'
  test(`the search for a message by its key ${title}`, async () => {
    const ended = new AbortController()
    let submits = 0
    let accepted = 0
    const daemon: Partial<Connection> = {
      running: true,
      invoke: async () => [],
      submit: async () => {
        submits++
        return { id: 'm1', conversation: 'c', duplicate }
      },
    }
    const submitted = { gateway: 'cli', text: 'hi', conversation: 'c', key: 'k', wait: 60_000 }
    const reporting = reportAttempts(daemon as Connection, submitted as never, {
      isOwnKey: true,
      signal: ended.signal,
      err() {},
      accepted: () => accepted++,
    })
    await until(() => submits > 0, 'the search by key')
    ended.abort()
    await reporting
    assert.deepEqual([submits, accepted], [1, duplicate ? 0 : 1])
  })
}
