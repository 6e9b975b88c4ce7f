import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../config/load-config.ts'
import { formatProblems } from '../../config/yaml-file.ts'
import { TriviumError } from '../../core/errors.ts'

/** Throws for changes that cannot be meant; the last good configuration stays. */
export function refuseMistakes(old: Config, next: Config): void {
  refuseEmptied(old, next)
  refuseOver(old, next)
}

/** Throws for a file that was emptied or is half saved: what is accepted meanwhile would go nowhere for good. */
function refuseEmptied(old: Config, next: Config): void {
  const gone = (['gateways', 'routes'] as const).filter(
    (part) => old.inFile[part] > 0 && next.inFile[part] === 0,
  )
  if (gone.length === 0) return
  const what = `${next.file} has no ${gone.join(' and no ')} any more`
  throw new TriviumError('config_invalid', { details: `${what}; restart the daemon if that is meant` })
}

/** Throws for a schedule whose only time has passed: what is new in the file is a mistake, what ran from it may stay. */
function refuseOver(old: Pick<Config, 'schedules'>, next: Pick<Config, 'schedules'>): void {
  const problems = next.schedules.flatMap(({ over, ...schedule }) => {
    const isKnown = old.schedules.some(({ name, cron }) => name === schedule.name && cron === schedule.cron)
    return over && !isKnown ? [{ ...over, severity: 'error' as const }] : []
  })
  if (problems.length > 0) throw new TriviumError('config_invalid', { details: formatProblems(problems) })
}

/** Settings whose current value is read each time they are used. */
const LIVE = ['grace', 'drainDelay', 'retention', 'publicUrl']

type Settings = Pick<Config, 'daemon' | 'skills' | 'queues' | 'routes' | 'gateways'>

/** The changed settings that apply only after a restart. `openQueues`: the queues that routes have used since the start. */
export function needRestart(old: Settings, next: Settings, openQueues: readonly string[]): string[] {
  const before: Record<string, unknown> = { ...old.daemon, skills: old.skills }
  const after = { ...next.daemon, skills: next.skills }
  const late = Object.entries(after).flatMap(([name, value]) =>
    LIVE.includes(name) || isDeepStrictEqual(before[name], value) ? [] : [name],
  )
  return leavesQueuesBehind(old, next, openQueues) ? [...late, 'queues'] : late
}

/** Whether `queues:` changed for a connection that stays open: that of a queue of a route, or of an unchanged gateway. */
function leavesQueuesBehind(old: Settings, next: Settings, openQueues: readonly string[]): boolean {
  const changed = (['redis', 'prefix'] as const).filter((key) => old.queues[key] !== next.queues[key])
  if (changed.length === 0) return false
  if (next.routes.some(({ queue }) => queue !== undefined && openQueues.includes(queue))) return true
  const unchanged = next.gateways.filter((gateway) =>
    old.gateways.some((one) => isDeepStrictEqual(one, gateway)),
  )
  return unchanged.some(({ enabled, transport, options }) => {
    const own: object = Object(options)
    return enabled && transport === 'bullmq' && changed.some((key) => !Object.hasOwn(own, key))
  })
}
