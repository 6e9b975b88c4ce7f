import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { z } from 'zod'
import type { Call } from '../../src/core/call.ts'
import type { Event } from '../../src/core/event.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { Log } from '../../src/core/log.ts'
import type { Message } from '../../src/core/message.ts'
import { jsonSchemaOf } from '../../src/state/documents/schema.ts'
import type { Change, DocumentBackend, DocumentSpec } from '../../src/state/documents/spec.ts'

/** A fresh directory that goes when the test ends. */
export function temporaryDir(t: Pick<TestContext, 'after'>, parent = tmpdir()): string {
  const dir = mkdtempSync(join(parent, 'trivium-state-'))
  t.after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10 }))
  return dir
}

/** The same in memory, where the system has such a place: for tests that sync a thousand times. */
export function memoryDir(t: Pick<TestContext, 'after'>): string {
  return temporaryDir(t, existsSync('/dev/shm') ? '/dev/shm' : tmpdir())
}

/** A log for tests that look at none. */
export const quiet: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet }

/** What a store needs to open; the tests of state accept no messages. */
export const toEvent = (message: Message): Event => ({
  id: message.id,
  topic: 'gateway-message',
  type: message.transport,
  source: message.gateway,
  data: {},
  timestamp: message.receivedAt,
})

/** A call on the command line, or with a message that somebody wrote on this gateway. */
export function callFrom(channel = 'cli', { verified = true, conversation = 'c-1', who = 'ada' } = {}): Call {
  const message: Message = {
    id: 'm-1',
    gateway: channel,
    transport: 'websocket',
    conversation,
    key: 'k',
    receivedAt: 0,
    from: { id: who, ...(verified && { verified }) },
    text: '',
    data: {},
    attachments: [],
    trace: 't',
  }
  return {
    rootId: 'root',
    trace: 't',
    caller:
      channel === 'cli' ? { kind: 'cli' } : { kind: 'route', ...(verified && { id: `${channel}:${who}` }) },
    ...(channel !== 'cli' && { message }),
    sends: { next: () => 0, refused() {}, count: 0 },
    skill: 'test',
    depth: 0,
    signal: new AbortController().signal,
  }
}

/** A small document of version 2: version 1 had `total` where 2 has `count`. */
export const notes: DocumentSpec<{
  schema_version: number
  count: number
  notes: { id: string; text: string }[]
}> = {
  name: 'notes',
  version: 2,
  schema: jsonSchemaOf(
    z.strictObject({
      schema_version: z.literal(2),
      count: z.int().min(0),
      notes: z.array(z.strictObject({ id: z.string(), text: z.string() })),
    }),
  ),
  migrations: { 1: ({ total, ...rest }) => ({ ...rest, count: total ?? 0 }) },
  initial: () => ({ schema_version: 2, count: 0, notes: [] }),
}

/** The events of the notes, none of which is broken. */
export async function eventsOf(backend: DocumentBackend): Promise<Change[]> {
  return (await Array.fromAsync(backend.changes('notes'))).flatMap((one) =>
    one instanceof Error ? [] : [one],
  )
}

export const increment = (document: JsonObject) => {
  document.count = Number(document.count) + 1
}
