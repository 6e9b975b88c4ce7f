import { objectsIn, pathGet } from '../core/json.ts'
import { skillPauseText, skillUseOf } from '../lib/skill-pause-text.ts'
import type { Connection } from './connection.ts'
import { pendingRequests } from './pending-requests.ts'

/**
 * What the pause of a skill holds, in sentences. Undefined if the daemon
 * cannot be asked.
 */
export async function skillPauseEffect(
  daemon: Pick<Connection, 'invoke'>,
  name: string,
): Promise<string | undefined> {
  try {
    const [routes, schedules, usage, requests] = await Promise.all([
      daemon.invoke('route-list', {}),
      daemon.invoke('schedule-list', {}),
      daemon.invoke('skill-usage', { name, limit: 1 }),
      pendingRequests(daemon),
    ])
    const asking = requests.filter(({ skill, calledBy }) => skill === name && calledBy !== undefined)
    const callers = [
      ...objectsIn(pathGet(usage, 'callers')).map(({ by }) => String(by)),
      ...asking.map(({ calledBy }) => `skill ${calledBy}`),
    ]
    return skillPauseText(
      skillUseOf(name, { routes: objectsIn(routes), schedules: objectsIn(schedules), callers }),
    )
  } catch {
    return undefined
  }
}
