import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { completeMessage } from '../../src/core/message.ts'
import { createLogs } from '../../src/features/transcript/logs.ts'
import { createTranscript } from '../../src/features/transcript/transcript.ts'
import { temporaryDir } from '../fixtures/folder.ts'

test('a flush writes the lines of the current batch', async (t) => {
  const dir = temporaryDir(t)
  const logs = createLogs({ dir })
  const transcript = createTranscript(logs, () => undefined, {
    skillOf: () => undefined,
    shown: (text) => text,
    now: () => 1_700_000_000_000,
  })
  const head = { id: 'm1', gateway: 'team', receivedAt: 1_700_000_000_000 }
  const message = completeMessage(head, {
    transport: 'slack',
    conversation: 'c',
    text: 'hi',
    data: {},
    from: { id: 'U1' },
  })
  transcript.batched.received(message)
  transcript.batched.processed(message, { skill: 'bolt:app.js', ok: true, approval_required: false })
  await transcript.flush()
  await logs.close()
  assert.match(readFileSync(join(dir, 'messages.jsonl'), 'utf8'), /"content":"hi"/)
  assert.match(
    readFileSync(join(dir, 'events.jsonl'), 'utf8'),
    /^\{"time":"2023-11-14T22:13:20.000Z","event":"message_processed"/,
  )
})
