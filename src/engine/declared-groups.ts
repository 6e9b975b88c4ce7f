import type { Log } from '../core/log.ts'
import type { Store } from '../core/store.ts'
import { HOUR } from '../core/units.ts'

/**
 * Interval (ms) at which the groups are marked as used, because unused ones are removed after days.
 */
const REFRESH_INTERVAL = HOUR

/** Groups by topic, as in `topics:` of routes.yaml. */
type Declared = Readonly<Record<string, { groups: Readonly<Record<string, unknown>> }>>

/**
 * The consumer groups that routes.yaml declares. They exist from the moment it is applied, so that
 * a group gets each event from then on even if its first reader comes later. They are kept as long
 * as the file names them.
 */
export function createDeclaredGroups(topics: Pick<Store['topics'], 'subscribe'>, log: Log) {
  let declared: { topic: string; group: string }[] = []
  let timer: NodeJS.Timeout | undefined
  const open = async () => {
    for (const { topic, group } of declared) await topics.subscribe(topic, group, 'now')
  }

  return {
    /** Creates the groups that do not exist yet. Resolves once they exist. */
    async use(next: Declared): Promise<void> {
      declared = Object.entries(next).flatMap(([topic, { groups }]) =>
        Object.keys(groups).map((group) => ({ topic, group })),
      )
      await open()
    },
    start(): void {
      timer = setInterval(() => {
        open().catch((err) =>
          log.warn({ err }, 'the groups of routes.yaml could not be refreshed; trying again'),
        )
      }, REFRESH_INTERVAL).unref()
    },
    async stop(): Promise<void> {
      clearInterval(timer)
    },
  }
}
