import { z } from 'zod'
import { duration } from '../../core/units.ts'

const full = z.strictObject({
  /** Dotted path into ctx to what names the session. */
  key: z.string().min(1),
  capture: z.array(z.string().min(1)).min(1).default(['$all']),
  maxEntries: z.number().int().min(1).max(10_000).default(50),
  store: z.enum(['memory', 'file', 'shared']).default('memory'),
  /** A session is forgotten that long after its last entry. */
  retention: duration.default(30 * 86_400_000),
  /** Skills that give the same name share their sessions. Default: the skill's own name. */
  name: z.string().min(1).optional(),
})

/** `session: args.sessionId`, or the full form. */
export const sessionSettings = z
  // No union: its errors do not say which setting is wrong.
  .preprocess((settings) => (typeof settings === 'string' ? { key: settings } : settings), full)
  .superRefine(({ capture }, context) => {
    for (const entry of capture) {
      if (!entry.startsWith('$') || SENTINELS.includes(entry)) continue
      context.addIssue({ code: 'custom', message: `capture knows ${SENTINELS.join(', ')}; not ${entry}` })
    }
  })

export type SessionSettings = z.infer<typeof full>

const SENTINELS = ['$all', '$args', '$result', '$agent']
