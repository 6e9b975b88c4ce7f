import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../config/load-config.ts'
import { formatProblems } from '../../config/yaml-file.ts'
import { TriviumError } from '../../core/errors.ts'

/**
 * Throws `config_invalid` for changes that are certainly mistakes. The last good configuration then
 * stays.
 */
export function refuseMistakes(old: Config, next: Config): void {
  refuseEmptied(old, next)
  refusePastSchedules(old, next)
}

/**
 * Throws for a file that lost all gateways or routes: it may be half saved, and messages would stay
 * unrouted.
 */
function refuseEmptied(old: Config, next: Config): void {
  const emptied = (['gateways', 'routes'] as const).filter(
    (part) => old.inFile[part] > 0 && next.inFile[part] === 0,
  )
  if (emptied.length === 0) return
  const what = `${next.file} has no ${emptied.join(' and no ')} any more`
  throw new TriviumError('config_invalid', { details: `${what}; if this is intended, restart the daemon` })
}

/** Throws for a new schedule whose only time has passed; an existing one may stay. */
function refusePastSchedules(old: Pick<Config, 'schedules'>, next: Pick<Config, 'schedules'>): void {
  const problems = next.schedules.flatMap(({ expired: problem, ...schedule }) => {
    const isKnown = old.schedules.some(({ name, cron }) => name === schedule.name && cron === schedule.cron)
    return problem && !isKnown ? [{ ...problem, severity: 'error' as const }] : []
  })
  if (problems.length > 0) throw new TriviumError('config_invalid', { details: formatProblems(problems) })
}

/** Settings of the daemon that are read on each use, so a change needs no restart. */
const READ_ON_USE = ['grace', 'drainDelay', 'retention', 'publicUrl']

type Settings = Pick<Config, 'daemon' | 'skills' | 'queues' | 'routes' | 'gateways'>

/**
 * The names of changed settings that need a restart. `openQueues`: the queues that routes have used
 * since the start.
 */
export function needRestart(old: Settings, next: Settings, openQueues: readonly string[]): string[] {
  const before: Record<string, unknown> = { ...old.daemon, skills: old.skills }
  const after = { ...next.daemon, skills: next.skills }
  const changed = Object.entries(after).flatMap(([name, value]) =>
    READ_ON_USE.includes(name) || isDeepStrictEqual(before[name], value) ? [] : [name],
  )
  return affectsOpenQueues(old, next, openQueues) ? [...changed, 'queues'] : changed
}

/**
 * Whether a change of `queues:` affects an open connection: that of a route's queue, or that of a
 * gateway which does not restart, because its own settings are the same.
 */
function affectsOpenQueues(old: Settings, next: Settings, openQueues: readonly string[]): boolean {
  const changed = (['redis', 'prefix'] as const).filter((key) => old.queues[key] !== next.queues[key])
  if (changed.length === 0) return false
  if (next.routes.some(({ queue }) => queue !== undefined && openQueues.includes(queue))) return true
  const unchanged = next.gateways.filter((gateway) =>
    old.gateways.some((one) => isDeepStrictEqual(one, gateway)),
  )
  return unchanged.some(({ enabled, transport, options }) => {
    const ownOptions: object = Object(options)
    return enabled && transport === 'bullmq' && changed.some((key) => !Object.hasOwn(ownOptions, key))
  })
}
