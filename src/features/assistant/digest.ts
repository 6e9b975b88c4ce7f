import { z } from 'zod'
import type { Call } from '../../core/call.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { requireRoom } from '../../core/limits.ts'
import type { Log } from '../../core/log.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { textOf } from '../../core/skill.ts'
import type { KeyValues } from '../../core/store.ts'
import { DAY, HOUR, parseDuration } from '../../core/units.ts'
import type { viewerOf } from '../../core/viewer.ts'
import { type AssistantState, isOpen, LIMITS } from './assistant-state.ts'
import type { AssistantContext } from './context.ts'
import type * as operations from './operations.ts'
import { readWhen, showTime } from './time-words.ts'
import type { Line } from './transcript-database.ts'
import type { TranscriptIndex } from './transcript-index.ts'
import { startOf } from './when/moment.ts'

/** Period (ms) of a person's first digest, if they name none. */
const FIRST_PERIOD = DAY
/** Maximum period (ms) of a digest for which no period was named. */
const MAX_PERIOD = 7 * DAY
/** Key prefix of the last digests, by person. */
const LAST_PREFIX = 'assistant-digest:'
/** The last digest. */
const lastSchema = z.object({
  /** When it was made (Unix ms). */
  at: z.number(),
  /** When its period started (Unix ms). */
  since: z.number(),
  /** The id of the message that requested it. */
  message: z.string(),
})
/** How long (ms) the last digest is remembered. */
const LAST_RETENTION = 30 * DAY
/** Maximum number of transcript lines that are read. */
const MAX_LINES = 2_000
/** Maximum characters of all lines for the model. */
const MAX_MATERIAL = 60_000
/** Maximum characters of a line for the model. */
const MAX_MATERIAL_LINE = 1_200
/** Maximum number of conversations and entries in a digest without a model. */
const MAX_LISTED = 20
/** Maximum characters of a conversation or entry in a digest without a model. */
const MAX_LISTED_LINE = 120
/** The skill with which the model writes the digest. */
const WRITER = 'write-digest'

/**
 * Summarises what the caller may see: by a model if there is one, else by counts and first lines.
 */
export function createDigest(deps: {
  load(): Promise<AssistantState>
  viewer(call: Call): ReturnType<typeof viewerOf>
  index: Pick<TranscriptIndex, 'since'>
  kv: Pick<KeyValues, 'get' | 'set'>
  context: Pick<AssistantContext, 'run' | 'hasModel' | 'timezone'>
  now: () => number
  log: Log
}) {
  const { load, viewer, index, kv, context, now, log } = deps

  /**
   * The start of a period that begins at the last digest. A retry of a message gets the same start
   * as its first attempt.
   */
  const sinceLast = async (key: string, message: string) => {
    const last = lastSchema.safeParse((await kv.get(key))?.value).data
    if (message !== '' && last?.message === message) return last.since
    return Math.max(last?.at ?? now() - FIRST_PERIOD, now() - MAX_PERIOD)
  }

  return {
    async 'digest-now'({ text }, call) {
      const { owner, sees, reads } = viewer(call)
      const key = LAST_PREFIX + owner
      const message = call.message?.id ?? ''
      requireRoom(LIMITS.timeInWords, text)
      // Before the lines are read, so that a message that arrives later is in the next digest.
      const at = now()
      const requestedStart = await readStart(text, at, context.timezone())
      const since = requestedStart ?? (await sinceLast(key, message))
      const iso = new Date(since).toISOString()
      const lines = await index.since(iso, reads, { asking: message, limit: MAX_LINES })
      const { memory, delegations } = await load()
      const notes = memory.filter((note) => sees(note.owner) && note.time >= iso)
      const open = delegations.filter((one) => isOpen(one) && sees(one.owner ?? one.channel))
      const counts = countAll(lines, notes.length, open.length)
      const head = `Since ${showTime(since, context.timezone())}: ${counts || 'nothing happened'}.`
      const entries = [
        ...notes,
        ...open.map(({ id, task, worker }) => ({ id, text: `${worker}: ${task}` })),
      ].map((entry) => `- ${entry.id}: ${oneLine(entry.text)}`)
      const list = cut(firstLines(lines), entries)
      const written = lines.length > 0 && context.hasModel() ? await write(text, lines, call) : undefined
      if (requestedStart === undefined) await kv.set(key, { at, since, message }, { ttl: LAST_RETENTION })
      return { text: written === undefined ? [head, ...list].join('\n') : `${head}\n\n${written}`, since }
    },
  } satisfies Partial<ServiceOf<typeof operations.assistant>>

  /** The digest by the model; undefined if the model fails. */
  async function write(topic: string, lines: readonly Line[], call: Call): Promise<string | undefined> {
    const material = lines
      .map(({ time, channel, role, sender, text }) =>
        `${time} ${channel} ${sender || role}: ${text}`.slice(0, MAX_MATERIAL_LINE),
      )
      .join('\n')
      .slice(-MAX_MATERIAL)
    const text = topic ? `Asked for: ${topic}\n\n${material}` : material
    try {
      // The prompt is the assistant's own, so it runs regardless of the sender's rights.
      return textOf(await context.run(WRITER, { text }, { ...call, caller: { kind: 'code' } })) || undefined
    } catch (error) {
      if (call.signal.aborted) throw error
      log.warn(
        { reason: reasonOf(error) },
        'the model failed to write the digest, which has only counts and first lines',
      )
      return undefined
    }
  }
}

const PERIODS: Record<string, number> = { hour: HOUR, day: DAY, week: 7 * DAY, month: 30 * DAY }

/**
 * Parses the requested period and returns its start (Unix ms): "12h", "of today", "since monday",
 * "of the last week", each optionally with "about …". Undefined if the text names no period. Throws
 * `usage` for other words, because an unintended digest would also move the start of the next one.
 */
async function readStart(text: string, now: number, timezone: string): Promise<number | undefined> {
  const request = text.replace(/[\s.!?]+$/, '').replace(/,?\s*\bplease$/i, '')
  const plain = request
    .replace(/(?:^|\s)(?:about|on the subject of)\s+\S.*$/is, '')
    .replace(/^(?:of|for|since|from|over|in|on)\s+/i, '')
    .replace(/^the\s+/i, '')
    .trim()
  if (plain === '') return undefined
  // `parseDuration` takes a number without a unit as milliseconds.
  const length = /[a-z]$/i.test(plain) ? parseDuration(plain.replace(/^(?:last|past)\s+/i, '')) : undefined
  if (length !== undefined) return now - length
  const [, unit] = /^(?:(?:last|past|this)\s+)?(hour|day|week|month)$/i.exec(plain) ?? []
  const period = PERIODS[unit?.toLowerCase() ?? '']
  if (period !== undefined) return now - period
  const isSpan = /^\w+\s+(?:minute|hour|day|week|month)s?$/i.test(plain)
  const start = await startOf(isSpan ? `last ${plain}` : plain, timezone, now)
  if (start !== undefined && start < now) return start
  const planned = await readWhen(`digest ${request}`, { timezone, now }).catch(() => undefined)
  const hint =
    planned?.what === 'digest'
      ? `Did you mean: schedule digest ${request}?`
      : 'Examples: digest, digest today, digest 12h, digest of the week.'
  const details = `A digest needs a past period, and "${oneLine(request)}" is not one. ${hint}`
  throw new TriviumError('usage', { details })
}

/** `3 messages, 2 answers, 1 new note`, without the kinds that have no entry. */
function countAll(lines: readonly Line[], notes: number, openWork: number): string {
  const messages = lines.filter(({ role }) => role === 'user').length
  return [
    countOf(messages, 'message'),
    countOf(lines.length - messages, 'answer'),
    countOf(notes, 'new note'),
    countOf(openWork, 'piece of open work', 'pieces of open work'),
  ]
    .filter((count) => count !== undefined)
    .join(', ')
}

/**
 * One line per conversation: its first message and the number of its other lines. Latest
 * conversation first.
 */
function firstLines(lines: readonly Line[]): string[] {
  const conversations = Map.groupBy(
    lines.toReversed(),
    ({ channel, conversation }) => `${channel}/${conversation}`,
  )
  return [...conversations.values()].flatMap((ofConversation) => {
    const first = ofConversation.findLast(({ role }) => role === 'user') ?? ofConversation.at(-1)
    if (!first) return []
    const source = first.sender ? `${first.channel} ${first.sender}` : first.channel
    const more = ofConversation.length > 1 ? ` (+${ofConversation.length - 1})` : ''
    return `- ${source}: ${oneLine(first.text)}${more}`
  })
}

/** At most `MAX_LISTED` lines of both lists together. Each list gets at least half of the room. */
function cut(conversations: readonly string[], entries: readonly string[]): string[] {
  const room = Math.max(MAX_LISTED / 2, MAX_LISTED - conversations.length)
  const shown = entries.slice(0, room)
  return [...conversations.slice(0, MAX_LISTED - shown.length), ...shown]
}

function oneLine(text: string): string {
  const plain = text.replaceAll(/\s+/g, ' ').trim()
  return plain.length > MAX_LISTED_LINE ? `${plain.slice(0, MAX_LISTED_LINE)}…` : plain
}

function countOf(count: number, one: string, many = `${one}s`): string | undefined {
  return count === 0 ? undefined : `${count} ${count === 1 ? one : many}`
}
