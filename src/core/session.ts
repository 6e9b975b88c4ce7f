import { z } from 'zod'
import type { StateStoreName } from './state.ts'

/** One remembered invocation of a session; `capture` selects its parts. `at` is Unix ms. */
export const sessionEntrySchema = z.object({
  at: z.number(),
  /** The message that started the invocation. There is one entry per message. */
  messageId: z.string().exactOptional(),
  args: z.json().exactOptional(),
  result: z.json().exactOptional(),
  /** The conversation with the model. */
  agent: z.json().exactOptional(),
  /** Captured paths into ctx, by path. */
  values: z.record(z.string(), z.json()).exactOptional(),
  /** Number of forgotten entries before this one; only on the oldest. */
  dropped: z.int().exactOptional(),
  /** Summary of removed entries; only on the oldest. */
  summary: z.string().exactOptional(),
})

export type SessionEntry = z.infer<typeof sessionEntrySchema>

/** Identifies a session. `name` is the skill's name, or the shared name of several skills. */
export type SessionId = { name: string; key: string; store: StateStoreName }

/** The memory of skills: earlier invocations, by session. */
export type SessionMemory = {
  /** Oldest first; `[]` for a missing or expired session. */
  read(id: SessionId): Promise<SessionEntry[]>
  /**
   * Drops the oldest entries beyond `maxEntries`, `maxTokens` and the size limit. The session
   * expires `ttl` ms after its last entry.
   */
  append(
    id: SessionId,
    entry: SessionEntry,
    limits: { maxEntries: number; maxTokens?: number; ttl: number },
  ): Promise<void>
  /**
   * Replaces the entries up to `until`, except the newest, with a summary. Returns the remaining
   * entries.
   */
  compact(id: SessionId, until: number, summary: string, ttl: number): Promise<SessionEntry[]>
}
