import { TriviumError } from '../../core/errors.ts'
import { defineMiddleware } from '../../core/skill.ts'
import { formatDuration, timerDuration } from '../../core/units.ts'
import { runBounded } from '../bounded.ts'
import { parseSettings } from '../settings.ts'

/** `timeout: 30s` (or ms): aborts `ctx.signal` after that time and fails with `skill_timeout`. */
export const timeoutMiddleware = defineMiddleware({
  name: 'timeout',
  order: 300,
  description: 'Ends the skill after a time',
  setup(settings, skill) {
    const timeout = parseSettings(timerDuration, settings)
    const timedOut = () =>
      new TriviumError('skill_timeout', { name: skill.name, timeout: formatDuration(timeout) })
    return async (ctx, next) => {
      const outer = ctx.signal
      try {
        return await runBounded({ parent: outer, timeout, timedOut }, (signal) => {
          ctx.signal = signal
          return next()
        })
      } finally {
        ctx.signal = outer
      }
    }
  },
})
