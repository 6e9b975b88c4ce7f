import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Connection } from '../../src/cli/connection.ts'
import { reportAttempts } from '../../src/cli/report-attempts.ts'
import { until } from '../fixtures/until.ts'

test('the search for a message by its key submits it once, as the same request', async () => {
  const ended = new AbortController()
  const submissions: object[] = []
  const daemon: Partial<Connection> = {
    running: true,
    invoke: async () => [],
    submit: async (submission) => {
      submissions.push(submission)
      return { id: 'm1', conversation: 'c', duplicate: false }
    },
  }
  const submitted = { gateway: 'cli', text: 'hi', conversation: 'c', key: 'k', request: 'r', wait: 60_000 }
  const reporting = reportAttempts(daemon as Connection, submitted as never, {
    isOwnKey: true,
    signal: ended.signal,
    err() {},
  })
  await until(() => submissions.length > 0, 'the search by key')
  ended.abort()
  await reporting
  assert.deepEqual(submissions, [{ ...submitted, wait: 0 }])
})
