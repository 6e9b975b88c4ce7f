import { z } from 'zod'
import { pathGet } from '../../core/json.ts'
import { defineBuiltInLayer } from '../../core/layers.ts'
import type { SessionEntry, SessionId } from '../../core/session.ts'
import type { SkillContext } from '../../core/skill.ts'
import { DAY, duration } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { storeName } from '../operations.ts'
import { orShorthand, parseSettings } from '../parse-settings.ts'
import { renderHistory } from '../session/render-history.ts'
import { captureEntry, entriesToSummarize } from '../session/session-entries.ts'

/**
 * `session: args.sessionId`, or a mapping of all settings: remembers successful invocations by key.
 * Several may run at the same time.
 */
export const sessionMiddleware = defineBuiltInLayer({
  name: 'session',
  order: 400,
  description: 'Remembers earlier invocations of the same conversation',
  setup(settings, skill) {
    const { key: path, store, name = skill.name, ...options } = parseSettings(sessionSettings, settings)
    const { 'max-entries': maxEntries, retention: ttl, 'max-tokens': maxTokens, capture, summarize } = options
    if (summarize && !skill.summarize) throw new Error('summarize requires a skill with a model')
    // Entries beyond `maxTokens` must stay until the next turn summarises them.
    const limits = { maxEntries, ttl, ...(summarize ? {} : defined({ maxTokens })) }

    /** The entries of the session. With `summarize`, a summary replaces the oldest of too many. */
    const read = async (ctx: SkillContext, id: SessionId): Promise<SessionEntry[]> => {
      const { sessions } = ctx.services
      const entries = await sessions.read(id)
      const tokenLimit = maxTokens ?? DEFAULT_MAX_TOKENS
      const older = summarize ? entriesToSummarize(entries, maxEntries, tokenLimit) : []
      const last = older.at(-1)
      if (!last || !skill.summarize) return entries
      try {
        const summary = await skill.summarize(ctx, renderHistory(older), Math.ceil(tokenLimit / 4))
        return await sessions.compact(id, last.at, summary, ttl)
      } catch (err) {
        if (ctx.signal.aborted) throw err
        ctx.log.warn({ err }, 'a session could not be summarised; its oldest entries are dropped')
        return entries
      }
    }

    return async (ctx, next) => {
      const key = sessionKey(ctx, path)
      if (key === undefined) {
        ctx.log.debug({ session: path }, 'no session: its key is not a text or a number')
        return next()
      }
      const id = { name, key, store }
      const { sessions } = ctx.services
      // Entries before this invocation, oldest first.
      ctx.locals.session = { ...id, entries: await read(ctx, id), ...defined({ maxTokens }) }
      const result = await next()
      await sessions.append(id, captureEntry(ctx, capture, Date.now()), limits)
      return result
    }
  },
})

/**
 * The session key; undefined if there is none. Also reads arguments that the schema drops, because
 * every dispatched skill gets `sessionId`. A conversation gets its gateway in front, because
 * several gateways may have a conversation of the same name.
 */
function sessionKey(ctx: SkillContext, path: string): string | undefined {
  const value = pathGet(ctx, path) ?? pathGet({ args: ctx.call.given }, path)
  // A missing cookie often arrives as an empty string. People without a cookie must not share a
  // session.
  if (value === '' || !['string', 'number', 'boolean'].includes(typeof value)) return undefined
  const { message } = ctx
  return message && value === message.conversation ? `${message.gateway}/${value}` : String(value)
}

/** Without `max-tokens`, entries with more tokens than this are summarised. */
const DEFAULT_MAX_TOKENS = 16_000

const captured = z
  .string()
  .regex(/^([^$]|\$(all|args|result|agent)$)/, 'use $all, $args, $result, $agent, or a path into ctx')

const sessionSettings = orShorthand(
  'key',
  z.strictObject({
    /** The dotted path of the session key in `ctx`. */
    key: z.string().min(1),
    capture: z.array(captured).min(1).default(['$all']),
    'max-entries': z.number().int().min(1).max(10_000).default(50),
    /** Maximum (estimated) of the entries in a prompt. Older entries are dropped or summarised. */
    'max-tokens': z.number().int().min(100).optional(),
    /** Whether the skill's model summarises entries over `max-tokens` or `max-entries`. */
    summarize: z.boolean().default(false),
    store: storeName.default('memory'),
    /** How long a session is kept after its last entry. */
    retention: duration.default(30 * DAY),
    /** Skills with the same name share sessions. Default: the skill's name. */
    name: z.string().min(1).optional(),
  }),
  { 'max-entries': 'maxEntries' },
)
