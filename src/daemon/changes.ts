import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/load-config.ts'
import { TriviumError } from '../core/errors.ts'

/** Throws for a file that was emptied or is half saved: what is accepted meanwhile would go nowhere for good. */
export function refuseEmptied(old: Config, next: Config): void {
  const gone = (['gateways', 'routes'] as const).filter(
    (part) => old.inFile[part] > 0 && next.inFile[part] === 0,
  )
  if (gone.length === 0) return
  const what = `${next.file} has no ${gone.join(' and no ')} any more`
  throw new TriviumError('config_invalid', { details: `${what}; restart the daemon if that is meant` })
}

/** What is read anew whenever it is needed. */
const LIVE = ['grace', 'drainDelay', 'retention', 'publicUrl']

/** The settings that changed of those that are built into the parts when they are made. */
export function needRestart(old: Config, next: Config): string[] {
  const before: Record<string, unknown> = { ...old.daemon, skills: old.skills, queues: old.queues }
  const after = { ...next.daemon, skills: next.skills, queues: next.queues }
  return Object.entries(after).flatMap(([name, value]) =>
    LIVE.includes(name) || isDeepStrictEqual(before[name], value) ? [] : [name],
  )
}
