import { z } from 'zod'
import type { Call } from '../../core/call.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { requireRoom } from '../../core/limits.ts'
import type { Log } from '../../core/log.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { textOf } from '../../core/skill.ts'
import type { KeyValues } from '../../core/store.ts'
import { parseDuration } from '../../core/units.ts'
import type { viewerOf } from '../../core/viewer.ts'
import { type AssistantState, isOpen, LIMITS } from './assistant-state.ts'
import type { AssistantContext } from './context.ts'
import type * as operations from './operations.ts'
import { readWhen, showTime } from './time-words.ts'
import type { Line } from './transcript-database.ts'
import type { TranscriptIndex } from './transcript-index.ts'
import { beginOf } from './when/moment.ts'

const [HOUR, DAY] = [3_600_000, 86_400_000]
/** Period of the first digest, and the maximum period of a digest without a time. */
const [FIRST, FURTHEST] = [DAY, 7 * DAY]
/** Key prefix of a person's last digest: its time, start and message. */
const LAST = 'assistant-digest:'
const lastSchema = z.object({ at: z.number(), since: z.number(), message: z.string() })
/** Maximum lines read, characters for a model, and conversations and characters listed without one. */
const [LINES, MATERIAL, LISTED, FIRST_LINE] = [2_000, 60_000, 20, 120]
const WRITER = 'write-digest'

/** Summarises what the caller may see: by a model if there is one, else by counts and first lines. */
export function createDigest(deps: {
  load(): Promise<AssistantState>
  viewer(call: Call): ReturnType<typeof viewerOf>
  index: Pick<TranscriptIndex, 'since'>
  kv: Pick<KeyValues, 'get' | 'set'>
  world: Pick<AssistantContext, 'run' | 'hasModel' | 'timezone'>
  now: () => number
  log: Log
}) {
  const { load, viewer, index, kv, world, now, log } = deps

  /** The time of the last digest; for a retried message, the start of its own digest. */
  const sinceLast = async (key: string, message: string) => {
    const last = lastSchema.safeParse((await kv.get(key))?.value).data
    if (message !== '' && last?.message === message) return last.since
    return Math.max(last?.at ?? now() - FIRST, now() - FURTHEST)
  }

  return {
    async 'digest-now'({ text }, call) {
      const { owner, sees, reads } = viewer(call)
      const key = LAST + owner
      const message = call.message?.id ?? ''
      requireRoom(LIMITS.timed, text)
      const named = await periodOf(text, now(), world.timezone())
      const since = named ?? (await sinceLast(key, message))
      const iso = new Date(since).toISOString()
      const lines = await index.since(iso, reads, { asking: message, limit: LINES })
      const { memory, delegations } = await load()
      const notes = memory.filter((note) => sees(note.owner) && note.time >= iso)
      const open = delegations.filter((one) => isOpen(one) && sees(one.owner ?? one.channel))
      const people = lines.filter(({ role }) => role === 'user').length
      const counts = [
        countOf(people, 'message'),
        countOf(lines.length - people, 'answer'),
        countOf(notes.length, 'new note'),
        countOf(open.length, 'piece of open work', 'pieces of open work'),
      ].filter((count) => !count.startsWith('0 '))
      const head = `Since ${showTime(since, world.timezone())}: ${counts.join(', ') || 'nothing happened'}.`
      const extras = [
        ...notes,
        ...open.map(({ id, task: text, worker }) => ({ id, text: `${worker}: ${text}` })),
      ]
      const listed = [...firstLines(lines), ...extras.map(({ id, text }) => `- ${id}: ${oneLine(text)}`)]
      const brief = [head, ...listed.slice(0, LISTED)].join('\n')
      const written = lines.length > 0 && world.hasModel() ? await write(text, lines, call) : undefined
      if (named === undefined) await kv.set(key, { at: now(), since, message }, { ttl: 30 * DAY })
      return { text: written === undefined ? brief : `${head}\n\n${written}`, since }
    },
  } satisfies Partial<ServiceOf<typeof operations.assistant>>

  /** Undefined if the model fails; the digest then falls back to counts. */
  async function write(topic: string, lines: readonly Line[], call: Call): Promise<string | undefined> {
    const said = lines.map(({ time, channel, role, sender, text }) =>
      `${time} ${channel} ${sender || role}: ${text}`.slice(0, FIRST_LINE * 10),
    )
    const text = `${topic ? `Asked for: ${topic}\n\n` : ''}${said.join('\n').slice(-MATERIAL)}`
    try {
      // The prompt is the assistant's own, so it runs regardless of the sender's rights.
      return textOf(await world.run(WRITER, { text }, { ...call, caller: { kind: 'code' } })) || undefined
    } catch (error) {
      if (call.signal.aborted) throw error
      log.warn(
        { reason: reasonOf(error) },
        'the model failed to write the digest; it has counts and first lines only',
      )
      return undefined
    }
  }
}

/**
 * Parses the start of the requested period: "12h", "of today", "since monday", "of the last week", each optionally with "about …".
 * Undefined without a time. Throws `usage` for other words, because an unintended digest would also move the time of the last one.
 */
async function periodOf(text: string, now: number, timezone: string): Promise<number | undefined> {
  const asked = text.replace(/[\s.!?]+$/, '').replace(/,?\s*\bplease$/i, '')
  const plain = asked
    .replace(/(?:^|\s)(?:about|on the subject of)\s+\S.*$/is, '')
    .replace(/^(?:of|for|since|from|over|in|on)\s+/i, '')
    .replace(/^the\s+/i, '')
    .trim()
  if (plain === '') return undefined
  // A bare number would be milliseconds.
  const length = /[a-z]$/i.test(plain) ? parseDuration(plain.replace(/^(?:last|past)\s+/i, '')) : undefined
  if (length !== undefined) return now - length
  const [, unit] = /^(?:(?:last|past|this)\s+)?(hour|day|week|month)$/i.exec(plain) ?? []
  if (unit !== undefined)
    return now - ({ h: HOUR, d: DAY, w: 7 * DAY }[unit[0]?.toLowerCase() ?? ''] ?? 30 * DAY)
  const isSpan = /^\w+\s+(?:minute|hour|day|week|month)s?$/i.test(plain)
  const start = await beginOf(isSpan ? `last ${plain}` : plain, timezone, now)
  if (start !== undefined && start < now) return start
  const planned = await readWhen(`digest ${asked}`, { timezone, now }).catch(() => undefined)
  const hint =
    planned?.what === 'digest'
      ? `Did you mean: schedule digest ${asked}?`
      : 'Examples: digest, digest today, digest 12h, digest of the week.'
  const details = `A digest needs a past period, and "${oneLine(asked)}" is not one. ${hint}`
  throw new TriviumError('usage', { details })
}

/** First line and size of each conversation, most recently active first. */
function firstLines(lines: readonly Line[]): string[] {
  const conversations = Map.groupBy(lines, ({ channel, conversation }) => `${channel}/${conversation}`)
  return [...conversations.values()].reverse().flatMap((said) => {
    const first = said.find(({ role }) => role === 'user') ?? said[0]
    if (!first) return []
    const more = said.length > 1 ? ` (+${said.length - 1})` : ''
    return `- ${first.channel}${first.sender ? ` ${first.sender}` : ''}: ${oneLine(first.text)}${more}`
  })
}

function oneLine(text: string): string {
  const plain = text.replaceAll(/\s+/g, ' ').trim()
  return plain.length > FIRST_LINE ? `${plain.slice(0, FIRST_LINE)}…` : plain
}

function countOf(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
