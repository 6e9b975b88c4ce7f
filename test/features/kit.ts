import { z } from 'zod'
import { type Call, createSendCounter } from '../../src/core/call.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { jsonSchemaOf } from '../../src/features/documents/document-schema.ts'
import type { Change, DocumentBackend, DocumentSpec } from '../../src/features/documents/spec.ts'
import { temporaryDir } from '../fixtures/folder.ts'
import { messageOf } from '../runtime/support/message.ts'

export { silent, toEvent } from '../contract/store/kit.ts'
export { temporaryDir }

/** A call on the command line, or with a message that `who` wrote on the gateway `channel`. */
export function callFrom(channel = 'cli', { verified = true, conversation = 'c-1', who = 'ada' } = {}): Call {
  const from = { id: who, ...(verified && { verified }) }
  const message = messageOf({ gateway: channel, conversation, from, id: 'm-1' })
  return {
    rootId: 'root',
    trace: 't',
    caller:
      channel === 'cli' ? { kind: 'cli' } : { kind: 'route', ...(verified && { id: `${channel}:${who}` }) },
    ...(channel !== 'cli' && { message }),
    sends: createSendCounter(),
    skill: 'test',
    depth: 0,
    signal: new AbortController().signal,
  }
}

/** A small document of version 2. In version 1, `count` was `total`. */
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

/** The changes of the document `notes`. */
export async function changesOf(backend: DocumentBackend): Promise<Change[]> {
  return await Array.fromAsync(backend.changes('notes'))
}

export const increment = (document: JsonObject) => {
  document.count = Number(document.count) + 1
}
