import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MINUTE } from '../../src/core/units.ts'
import { viewerOf } from '../../src/core/viewer.ts'
import type { AssistantState } from '../../src/features/assistant/assistant-state.ts'
import { createDigest } from '../../src/features/assistant/digest.ts'
import type { Line } from '../../src/features/assistant/transcript-database.ts'
import { createMemoryStore } from '../fixtures/memory-store.ts'
import { callFrom, silent } from './kit.ts'

const EMPTY: AssistantState = {
  schema_version: 2,
  assistant_name: 'trivium',
  memory: [],
  searches: [],
  delegations: [],
  schedules: [],
  next_ids: {},
}

test('a digest covers what arrived while the model wrote the last one', async () => {
  let time = Date.UTC(2026, 4, 6, 12)
  const lines: Line[] = []
  const say = (text: string) => {
    const at = new Date(time).toISOString()
    lines.push({
      time: at,
      role: 'user',
      channel: 'desk',
      conversation: 'c',
      message: '',
      sender: 'ada',
      text,
    })
  }
  const written: string[] = []
  const digest = createDigest({
    load: async () => EMPTY,
    viewer: (call) => viewerOf(call, 'person'),
    index: { since: async (start) => lines.filter((line) => line.time >= start) },
    kv: createMemoryStore().kv,
    context: {
      hasModel: () => true,
      timezone: () => 'UTC',
      async run(_, args) {
        written.push(JSON.stringify(args))
        time += MINUTE
        say('the roof leaks')
        time += MINUTE
        return 'a digest'
      },
    },
    now: () => time,
    log: silent,
  })
  say('good morning')
  time += MINUTE
  await digest['digest-now']({ text: '' }, callFrom())
  await digest['digest-now']({ text: '' }, callFrom())
  assert.match(written[1] ?? '', /the roof leaks/)
  assert.doesNotMatch(written[1] ?? '', /good morning/)
})
