import { TriviumError } from '../../core/errors.ts'
import { defineMiddleware } from '../../core/skill.ts'
import { timerDuration } from '../../core/units.ts'
import { runBounded } from '../bounded.ts'
import { createNameMatcher, nameSpec, skillRunLater } from '../names.ts'
import { parseSettings } from '../onion.ts'

/** `timeout: 30s` (or ms): aborts `ctx.signal` after that time and fails with `skill_timeout`. */
export const timeoutMiddleware = defineMiddleware({
  name: 'timeout',
  order: 300,
  description: 'Ends the skill after a time',
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

/** The skill, or its model, may invoke only those; other middleware and what they invoke in turn are exempt. */
export const allowedToolsMiddleware = defineMiddleware({
  name: 'allowed-tools',
  order: 900,
  description: 'Lets the skill invoke only the skills it names',
  setup(settings, skill) {
    const allowed = createNameMatcher(parseSettings(nameSpec, settings))
    return async (ctx, next) => {
      const unrestricted = ctx.manager
      ctx.manager = {
        async invoke(name, args) {
          const denied = [name, skillRunLater(name, args) ?? name].find((one) => !allowed.matches(one))
          if (denied === undefined) return unrestricted.invoke(name, args)
          ctx.log.warn({ denied, allowed: allowed.spec }, 'a skill was denied to another')
          throw new TriviumError('forbidden', {
            what: `Skill ${denied}, invoked by ${skill.name},`,
            reason: `allowed-tools of ${skill.name} does not name it`,
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
