import type { StoreStats } from '../../core/store.ts'
import type { Roots } from './keys.ts'
import { isNothing, listOf, numberOf, textOf } from './reply.ts'
import type { Run } from './scripts.ts'

/** Makes `stats` of the store: one call, whose cost does not grow with the backlog. */
export function createStats(run: Run, { main }: Roots) {
  return async (): Promise<StoreStats> => {
    const [journal, receive, dispatch, jobs] = listOf(await run('stats', main)).map(listOf)
    return {
      journal: { messages: numberOf(journal?.[0]), bytes: numberOf(journal?.[1]), ...oldest(journal?.[2]) },
      receive: { ready: numberOf(receive?.[0]), leased: numberOf(receive?.[1]), ...oldest(receive?.[2]) },
      dispatch: { unpumped: numberOf(dispatch?.[0]), ...oldest(dispatch?.[1]) },
      jobs: (jobs ?? []).map((each) => {
        const [queue, waiting, running, dead] = listOf(each)
        return {
          queue: textOf(queue),
          waiting: numberOf(waiting),
          running: numberOf(running),
          dead: numberOf(dead),
        }
      }),
    }
  }
}

function oldest(time: unknown): { oldestAt?: number } {
  return isNothing(time) ? {} : { oldestAt: numberOf(time) }
}
