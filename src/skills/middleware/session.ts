import { z } from 'zod'
import { pathGet } from '../../core/json.ts'
import { storeName } from '../../core/operations.ts'
import { defineMiddleware, type SkillContext } from '../../core/skill.ts'
import { duration } from '../../core/units.ts'
import { orJust, parseSettings } from '../onion.ts'
import { captureEntry } from '../session/sessions.ts'

/** `session: args.sessionId`, or all settings: remembers invocations of the same key, also of those at the same time, but none that throws. */
export const sessionMiddleware = defineMiddleware({
  name: 'session',
  order: 400,
  description: 'Remembers earlier invocations of the same conversation',
  setup(settings, skill) {
    const { key: path, store, name = skill.name, ...kept } = parseSettings(sessionSettings, settings)
    const limits = { maxEntries: kept.maxEntries, ttl: kept.retention }
    return async (ctx, next) => {
      const key = sessionKey(ctx, path)
      if (key === undefined) {
        ctx.log.debug({ session: path }, 'no session: its key leads to no text and no number')
        return next()
      }
      const id = { name, key, store }
      const { sessions } = ctx.services
      // From before this invocation, oldest first.
      ctx.locals.session = { ...id, entries: await sessions.read(id) }
      const result = await next()
      await sessions.append(id, captureEntry(ctx, kept.capture, Date.now()), limits)
      return result
    }
  },
})

/** Also arguments that the schema drops: each dispatched skill is given `sessionId`. Two gateways may name conversations alike. */
function sessionKey(ctx: SkillContext, path: string): string | undefined {
  const value = pathGet(ctx, path) ?? pathGet({ args: ctx.call.given }, path)
  // A cookie that is not there often arrives as empty text: strangers must not share a memory.
  if (value === '' || !['string', 'number', 'boolean'].includes(typeof value)) return undefined
  const { message } = ctx
  return message && value === message.conversation ? `${message.gateway}/${value}` : String(value)
}

const captured = z
  .string()
  .regex(/^([^$]|\$(all|args|result|agent)$)/, 'use $all, $args, $result, $agent, or a path into ctx')

const sessionSettings = orJust(
  'key',
  z.strictObject({
    /** Dotted path into ctx to what names the session. */
    key: z.string().min(1),
    capture: z.array(captured).min(1).default(['$all']),
    maxEntries: z.number().int().min(1).max(10_000).default(50),
    store: storeName.default('memory'),
    /** A session is forgotten that long after its last entry. */
    retention: duration.default(30 * 86_400_000),
    /** Skills that give the same name share their sessions. Default: the skill's own name. */
    name: z.string().min(1).optional(),
  }),
)
