import assert from 'node:assert/strict'
import { request } from 'node:http'
import { type TestContext, test } from 'node:test'
import express from 'express'
import { auditBoard } from '../../src/api/audited.ts'
import { OPERATOR } from '../../src/api/bearer.ts'
import type { AuditEntry } from '../../src/core/audit.ts'
import { serveHttp } from '../fixtures/http-server.ts'

type Recorded = Omit<AuditEntry, 'at'>

/** A server with a slow change behind the audit, and what is recorded. */
async function start(t: TestContext) {
  const recorded = Promise.withResolvers<Recorded>()
  const changing = Promise.withResolvers<void>()
  const record = async (entry: Recorded) => recorded.resolve(entry)
  const app = express()
  app.use(auditBoard({ record }, async () => OPERATOR))
  app.put('/pause', () => changing.resolve())
  app.put('/resume', (_request, response) => void response.json({}))
  const { port, close } = await serveHttp(app)
  t.after(close)
  const put = (path: string) => request({ host: '127.0.0.1', port, path, method: 'PUT' }).end()
  return { put, changing: changing.promise, recorded: recorded.promise }
}

test('a change in Bull Board is recorded with its outcome', async (t) => {
  const { put, recorded } = await start(t)
  put('/resume').on('response', (response) => response.resume())
  const { action, target, outcome, from } = await recorded
  assert.deepEqual(
    { action, target, outcome, from },
    { action: 'queue-board', target: { method: 'PUT', path: '/resume' }, outcome: 'ok', from: '127.0.0.1' },
  )
})

test('a change in Bull Board is recorded if its client disconnects before the answer', async (t) => {
  const { put, changing, recorded } = await start(t)
  const client = put('/pause').on('error', () => {})
  await changing
  client.destroy()
  const { target, outcome, error, from } = await recorded
  assert.deepEqual(target, { method: 'PUT', path: '/pause' })
  assert.deepEqual([outcome, from], ['cancelled', '127.0.0.1'])
  assert.match(String(error), /disconnected before the answer/)
})
