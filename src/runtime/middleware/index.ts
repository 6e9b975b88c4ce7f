import { TriviumError } from '../../core/errors.ts'
import { type BuiltInLayer, defineBuiltInLayer } from '../../core/layers.ts'
import { timerDuration } from '../../core/units.ts'
import { runBounded } from '../bounded.ts'
import { createNameMatcher, nameSpec, skillRunLater } from '../names.ts'
import { parseSettings } from '../parse-settings.ts'
import { type AccessRule, createAccessMiddleware } from './access.ts'
import { sessionMiddleware } from './session.ts'

/** The middleware of the runtime, outermost first. */
export function createMiddleware(
  options: {
    access?: () => readonly AccessRule[]
    /** Skills that are exempt from the access rules. */
    isOpen?: (skill: string) => boolean
  } = {},
): BuiltInLayer[] {
  return [
    createAccessMiddleware(options.access, options.isOpen),
    timeoutMiddleware,
    sessionMiddleware,
    allowedToolsMiddleware,
  ]
}

/** `timeout: 30s` (or ms): after this time, aborts `ctx.signal` and fails with `skill_timeout`. */
const timeoutMiddleware = defineBuiltInLayer({
  name: 'timeout',
  order: 300,
  description: 'Limits the run time of the skill',
  setup(settings, skill) {
    const timeout = parseSettings(timerDuration, settings)
    return async (ctx, next) => {
      const outer = ctx.signal
      try {
        return await runBounded({ skill: skill.name, parent: outer, timeout }, (signal) => {
          ctx.signal = signal
          return next()
        })
      } finally {
        ctx.signal = outer
      }
    }
  },
})

/**
 * Limits the skills that the skill or its model may invoke. Other middleware and nested skills are
 * exempt.
 */
const allowedToolsMiddleware = defineBuiltInLayer({
  name: 'allowed-tools',
  order: 900,
  description: 'Limits which skills the skill can invoke',
  setup(settings, skill) {
    const allowed = createNameMatcher(parseSettings(nameSpec, settings))
    return async (ctx, next) => {
      const unrestricted = ctx.manager
      ctx.manager = {
        async invoke(name, args, within) {
          const denied = [name, skillRunLater(name, args) ?? name].find((one) => !allowed.matches(one))
          if (denied === undefined) return unrestricted.invoke(name, args, within)
          ctx.log.warn({ denied, allowed: allowed.spec }, 'a skill may not invoke another one')
          throw new TriviumError('forbidden', {
            what: `Skill ${denied}, invoked by ${skill.name},`,
            reason: `it is not in allowed-tools of ${skill.name}`,
          })
        },
      }
      try {
        return await next()
      } finally {
        ctx.manager = unrestricted
      }
    }
  },
})
