import { isJsonObject, type Json, objectsAt, pathGet, toJson } from '../../core/json.ts'
import { type SessionEntry, sessionEntrySchema } from '../../core/session.ts'
import type { SkillContext } from '../../core/skill.ts'
import { defined } from '../../lib/defined.ts'
import { headOf } from '../../lib/head-of.ts'
import { MAX_TEXT, renderEntry, tokensIn } from './render-history.ts'

/**
 * Makes the session entry of an invocation from the `capture` paths: arguments, result, the
 * conversation with the model, paths into ctx or into the result (`result.summary`).
 */
export function captureEntry(ctx: SkillContext, capture: readonly string[], at: number): SessionEntry {
  const { result } = ctx.locals
  const isWanted = (part: string) => capture.includes('$all') || capture.includes(part)
  const trace = isWanted('$agent') ? pathGet(ctx.locals, 'agent.trace') : undefined
  const values = capture.flatMap((path) => {
    const value = path.startsWith('$') ? undefined : pathGet({ ...ctx, result }, path)
    return value === undefined ? [] : [[path, safeJson(value)]]
  })
  return {
    at,
    ...defined({ messageId: givenMessageId(ctx) }),
    ...(isWanted('$args') && { args: slimArgs(ctx) }),
    ...(isWanted('$result') && { result: safeJson(result) }),
    ...(trace !== undefined && { agent: safeJson(trace) }),
    ...(values.length > 0 && { values: Object.fromEntries(values) }),
  }
}

/**
 * The id of the message that was dispatched to the skill, even if its schema drops the message.
 * Undefined for a skill that another skill invoked with other arguments.
 */
function givenMessageId({ call, message }: SkillContext): string | undefined {
  return message && pathGet(call.given, 'message.id') === message.id ? message.id : undefined
}

/**
 * The arguments as JSON, with messages replaced by their ids. A hash of the arguments must be the
 * same after a restart, and a message from the store may have another order of fields.
 */
export function slimArgs({ args, message }: SkillContext): Json {
  if (!isJsonObject(args) || !message || pathGet(args, 'message.id') !== message.id) return safeJson(args)
  const all = objectsAt(args, 'messages').map(({ id = null }) => ({ id }))
  return safeJson({ ...args, message: { id: message.id }, ...(args.messages && { messages: all }) })
}

/** A value as JSON. What JSON cannot represent (a cycle, a bigint) becomes a text. */
function safeJson(value: unknown): Json {
  try {
    return toJson(value)
  } catch {
    return String(value)
  }
}

/** Maximum size of an entry, in characters of JSON. */
const MAX_ENTRY = 64_000
/** Maximum size of a session, in characters of JSON. */
const MAX_SESSION = 256_000
/** Length to which a part of an entry over `MAX_ENTRY` is cut. */
const CUT_LENGTH = 4_000

type Limits = { maxEntries: number; maxTokens?: number }

/**
 * Adds an entry, and drops the oldest ones beyond the limits. If a message is delivered again, its
 * new entry replaces the previous one. The oldest remaining entry counts the dropped ones
 * (`dropped`).
 */
export function withEntry(
  entries: readonly SessionEntry[],
  entry: SessionEntry,
  { maxEntries, maxTokens = Number.POSITIVE_INFINITY }: Limits,
): SessionEntry[] {
  const { dropped: droppedBefore = 0, summary } = entries[0] ?? {}
  const messageId = messageIdOf(entry)
  const others = entries.filter((other) => messageId === undefined || messageIdOf(other) !== messageId)
  const all = [...others, withCutTexts(entry)]
  const isOverLimit = (kept: readonly SessionEntry[]) =>
    kept.length > maxEntries || sizeOf(kept) > MAX_SESSION || tokensOf(kept) > maxTokens
  /**
   * The session without its first entries. The oldest remaining one has their count and summary.
   */
  const without = (count: number) => {
    const [oldest = entry, ...rest] = all.slice(count)
    const dropped = droppedBefore + count
    return [{ ...oldest, ...(dropped > 0 && { dropped }), ...defined({ summary }) }, ...rest]
  }

  let dropping = 0
  while (dropping < all.length - 1 && isOverLimit(without(dropping))) dropping += 1
  return without(dropping)
}

/** The message of an entry. Earlier versions stored its id only in the arguments. */
function messageIdOf({ messageId, args }: SessionEntry): unknown {
  return messageId ?? pathGet(args, 'message.id')
}

function tokensOf(entries: readonly SessionEntry[]): number {
  return entries.reduce(
    (sum, entry) => sum + tokensIn(renderEntry(entry)),
    tokensIn(entries[0]?.summary ?? ''),
  )
}

/**
 * The entries to replace by a summary; `[]` if the session is within its limits. The newest entries
 * stay, up to half of the limits, and at least one.
 */
export function entriesToSummarize(entries: readonly SessionEntry[], maxEntries: number, maxTokens: number) {
  if (entries.length < maxEntries && tokensOf(entries) <= maxTokens) return []
  let tokensLeft = maxTokens / 2
  let staying = 0
  for (const entry of entries.toReversed()) {
    tokensLeft -= tokensIn(renderEntry(entry))
    if (staying > 0 && (tokensLeft < 0 || staying >= maxEntries / 2)) break
    staying++
  }
  return entries.slice(0, -staying)
}

/**
 * Cuts long texts. Then cuts whole parts of an entry that is still too large: the conversation with
 * the model first, the arguments last.
 */
function withCutTexts(entry: SessionEntry): SessionEntry {
  const cutText = (_key: string, value: Json) => (typeof value === 'string' ? headOf(value, MAX_TEXT) : value)
  const small = sessionEntrySchema.parse(JSON.parse(JSON.stringify(entry, cutText)))
  for (const part of ['agent', 'values', 'result', 'args'] as const) {
    if (sizeOf(small) <= MAX_ENTRY) break
    const value = small[part]
    if (value === undefined) continue
    const text = headOf(JSON.stringify(value), CUT_LENGTH)
    if (part === 'values') small.values = { captured: text }
    else small[part] = text
  }
  return small
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length
}
