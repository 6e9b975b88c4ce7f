import { z } from 'zod'
import { isJsonObject, type Json, objectsAt, pathGet, toJson } from '../../core/json.ts'
import type { ServiceOf } from '../../core/operation.ts'
import {
  type SessionEntry,
  type SessionId,
  type SessionMemory,
  sessionEntrySchema,
} from '../../core/session.ts'
import type { SkillContext } from '../../core/skill.ts'
import type { StateBackend, StateStoreName } from '../../core/state.ts'
import { updateKv } from '../../core/update-kv.ts'
import { defined } from '../../lib/defined.ts'
import { headOf } from '../../lib/head-of.ts'
import { type sessions, storeName } from '../operations.ts'

/** The stored value of a session, with the parts of its key. */
const sessionValue = z.object({
  name: z.string(),
  session: z.string(),
  entries: z.array(sessionEntrySchema),
})

const MOST_LISTED = 10_000

/** Session memory in files, in memory, or in the shared store. */
export function createSessionService(
  backends: Record<StateStoreName, StateBackend>,
): SessionMemory & ServiceOf<typeof sessions> {
  return {
    async read(id) {
      return entriesOf((await backends[id.store].get(keyOf(id)))?.value)
    },
    async append(id, entry, { ttl, ...limits }) {
      await updateKv(backends[id.store], keyOf(id), (current) => {
        const entries = withEntry(entriesOf(current), entry, limits).map((one) => ({ ...one }))
        return { value: { name: id.name, session: id.key, entries }, ttl }
      })
    },
    async compact(id, until, summary, ttl) {
      const value = await updateKv(backends[id.store], keyOf(id), (current) => {
        const before = entriesOf(current)
        const [oldest, ...rest] = before.filter(({ at }, index) => at > until || index === before.length - 1)
        // A concurrent run may have done it already.
        if (!oldest || rest.length + 1 === before.length) return undefined
        const { dropped: _, ...kept } = oldest
        return {
          value: {
            name: id.name,
            session: id.key,
            entries: [{ ...kept, summary: headOf(summary, LONGEST_TEXT) }, ...rest],
          },
          ttl,
        }
      })
      return entriesOf(value)
    },
    async delete({ name, key, store }) {
      const deleted = storesOf(store).map((one) => backends[one].delete(keyOf({ name, key })))
      return { ok: true, existed: (await Promise.all(deleted)).includes(true) }
    },
    async list({ store: only }) {
      const lists = storesOf(only).map(async (store) => {
        const keys = await backends[store].list('', MOST_LISTED)
        return (await Promise.all(keys.map(backends[store].get))).flatMap((found) => {
          if (!found) return []
          const { name, session, entries } = sessionValue.parse(found.value)
          const updatedAt = entries.at(-1)?.at ?? 0
          return [{ name, key: session, entries: entries.length, updatedAt, store }]
        })
      })
      return (await Promise.all(lists)).flat()
    },
  }
}

const storesOf = (only?: StateStoreName) => (only === undefined ? storeName.options : [only])

function entriesOf(value: Json | undefined) {
  return value === undefined ? [] : sessionValue.parse(value).entries
}

/** Unique for each pair of name and key. */
function keyOf({ name, key }: Omit<SessionId, 'store'>): string {
  return JSON.stringify([name, key])
}

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
    ...(isWanted('$args') && { args: slimArgs(ctx) }),
    ...(isWanted('$result') && { result: safeJson(result) }),
    ...(trace !== undefined && { agent: safeJson(trace) }),
    ...(values.length > 0 && { values: Object.fromEntries(values) }),
  }
}

/**
 * The arguments as JSON, with messages replaced by their ids: the field order of a stored message
 * may differ.
 */
export function slimArgs({ args, message }: SkillContext): Json {
  if (!isJsonObject(args) || !message || pathGet(args, 'message.id') !== message.id) return safeJson(args)
  const all = objectsAt(args, 'messages').map(({ id = null }) => ({ id }))
  return safeJson({ ...args, message: { id: message.id }, ...(args.messages && { messages: all }) })
}

/** A result that JSON cannot represent (a cycle, a bigint) must not fail the skill. */
function safeJson(value: unknown): Json {
  try {
    return toJson(value)
  } catch {
    return String(value)
  }
}

/** Maximum size of an entry and of a session, in characters of JSON. */
const LARGEST_ENTRY = 64_000
const LARGEST_SESSION = 256_000
/** Length to which a part of an oversized entry is cut. */
const SHORT = 4_000

type Limits = { maxEntries: number; maxTokens?: number }

/**
 * Adds an entry, and drops the oldest ones beyond the limits. `dropped` of the oldest remaining
 * entry counts them.
 */
function withEntry(
  entries: readonly SessionEntry[],
  entry: SessionEntry,
  { maxEntries, maxTokens = Number.POSITIVE_INFINITY }: Limits,
) {
  const message = pathGet(entry.args, 'message.id')
  // The entry of a redelivered message replaces its previous one.
  const others = entries.filter(({ args }) => !message || pathGet(args, 'message.id') !== message)
  const kept = [...others, bounded(entry)]
  let { dropped = 0, summary } = entries[0] ?? {}
  const isTooMuch = () =>
    kept.length > maxEntries || sizeOf(kept) > LARGEST_SESSION || tokensOf(kept) > maxTokens
  while (kept.length > 1 && isTooMuch()) {
    kept.shift()
    dropped += 1
  }
  const [oldest, ...rest] = kept
  const told = { ...(dropped > 0 && { dropped }), ...defined({ summary }) }
  return oldest ? [{ ...oldest, ...told }, ...rest] : kept
}

/** Estimated number of tokens, on the safe side, as tokenizers differ. */
function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 3)
}

function tokensOf(entries: readonly SessionEntry[]): number {
  return entries.reduce(
    (sum, entry) => sum + tokensIn(renderEntry(entry)),
    tokensIn(entries[0]?.summary ?? ''),
  )
}

/** The entries to summarise if there are too many. The newest entries stay, up to half of the limits. */
export function outgrown(entries: readonly SessionEntry[], maxEntries: number, maxTokens: number) {
  if (entries.length < maxEntries && tokensOf(entries) <= maxTokens) return []
  let [room, kept] = [maxTokens / 2, 0]
  for (const entry of entries.toReversed()) {
    room -= tokensIn(renderEntry(entry))
    if (kept > 0 && (room < 0 || kept >= maxEntries / 2)) break
    kept++
  }
  return entries.slice(0, -kept)
}

/** Cuts an oversized entry; the conversation with the model first, the arguments last. */
function bounded(entry: SessionEntry): SessionEntry {
  const cut = (_key: string, value: Json) => (typeof value === 'string' ? headOf(value, LONGEST_TEXT) : value)
  const small = sessionEntrySchema.parse(JSON.parse(JSON.stringify(entry, cut)))
  for (const part of ['agent', 'values', 'result', 'args'] as const) {
    if (sizeOf(small) <= LARGEST_ENTRY) break
    const text = headOf(JSON.stringify(small[part] ?? null), SHORT)
    if (part === 'values') small.values = { captured: text }
    else small[part] = text
  }
  return small
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length
}

/** Arguments that every dispatched skill gets, and that are not part of the conversation. */
const ROUTING = ['message', 'messages', 'route', 'sessionId', 'from']

/** Maximum characters of one text, and of the whole history, in a prompt. */
const LONGEST_TEXT = 16_000
const LONGEST_HISTORY = 64_000

/** Renders entries for a prompt, oldest first. Marks cut texts and omitted older entries. */
export function renderHistory(
  entries: readonly SessionEntry[],
  maxTokens: number = Number.POSITIVE_INFINITY,
): string {
  const { dropped = 0, summary } = entries[0] ?? {}
  const kept: string[] = []
  let room = LONGEST_HISTORY
  let tokens = maxTokens - tokensIn(summary ?? '')
  for (const entry of entries.toReversed()) {
    const text = renderEntry(entry)
    room -= text.length
    tokens -= tokensIn(text)
    if (Math.min(room, tokens) < 0 && kept.length > 0) break
    kept.unshift(text)
  }
  const missing = entries.length - kept.length + dropped
  return [
    ...(summary === undefined ? [] : [`[summary of earlier entries]\n${summary}`]),
    ...(missing > 0 ? [`[${missing} older entries omitted]`] : []),
    ...kept,
  ].join('\n\n')
}

function renderEntry(entry: SessionEntry): string {
  const lines = [`[${new Date(entry.at).toISOString()}]`]
  const { 'args.text': captured, ...values } = entry.values ?? {}
  const said = entry.args === undefined ? asText(captured ?? '') : textOfArgs(entry.args)
  if (said) lines.push(`user: ${said}`)
  for (const [path, value] of Object.entries(values)) lines.push(`${path}: ${asText(value)}`)
  lines.push(...stepsOf(entry))
  if (entry.result !== undefined && entry.result !== null) lines.push(`you: ${asText(entry.result)}`)
  return lines.join('\n')
}

/** The conversation with the model, without what is already in the arguments and the result. */
function stepsOf({ agent, args, result }: SessionEntry): string[] {
  if (!Array.isArray(agent)) return agent === undefined ? [] : [`trace: ${asText(agent)}`]
  return agent.flatMap((message, index) => {
    const { role, content } = Object(message)
    if (index === 0 && role === 'user' && args !== undefined) return []
    const parts = Array.isArray(content) ? content : [{ type: 'text', text: content ?? '' }]
    return parts.flatMap((part) => {
      const { type, text, toolName, input, output } = Object(part)
      if (type === 'tool-call') return [`you called ${toolName}: ${asText(input ?? null)}`]
      if (type === 'tool-result')
        return [`${toolName} gave: ${asText(toJson(pathGet(output, 'value') ?? null))}`]
      return type !== 'text' || text === '' || text === result ? [] : [`${role}: ${asText(text)}`]
    })
  })
}

function textOfArgs(args: Json): string {
  if (!isJsonObject(args)) return asText(args)
  const rest = Object.entries(args).filter(([name]) => name !== 'text' && !ROUTING.includes(name))
  const text = pathGet(args, 'text')
  const extra = rest.length > 0 ? asText(Object.fromEntries(rest)) : ''
  return [typeof text === 'string' ? asText(text) : '', extra].filter(Boolean).join('\n')
}

function asText(value: Json): string {
  const text = typeof value === 'string' ? value : pathGet(value, 'text')
  return headOf(typeof text === 'string' ? text : JSON.stringify(value), LONGEST_TEXT)
}
