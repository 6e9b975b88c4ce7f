import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { completeMessage } from '../../src/core/message.ts'
import { createLogs } from '../../src/features/transcript/logs.ts'
import { createTranscript } from '../../src/features/transcript/transcript.ts'
import { rotatedFiles } from '../../src/lib/line-file.ts'
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

test('all lines of a log are read, although it is rotated meanwhile', async (t) => {
  const dir = temporaryDir(t)
  const logs = createLogs({ dir, maxSize: 500 })
  t.after(() => logs.close())
  let count = 0
  const rotate = async () => {
    const rotated = () => rotatedFiles(join(dir, 'events.jsonl')).length
    for (const before = rotated(); rotated() === before; ) await logs.event({ event: 'sent', n: ++count })
  }
  await rotate()
  await logs.event({ event: 'sent', n: ++count })
  const written = count
  const found: unknown[] = []
  for await (const { n } of logs.lines.events.entries()) {
    if (found.push(n) === 1) await rotate()
  }
  assert.deepEqual(
    found.slice(0, written),
    Array.from({ length: written }, (_, index) => index + 1),
  )
})
