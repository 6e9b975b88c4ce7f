import type { ServiceOf } from '../../core/operation.ts'
import type { Store } from '../../core/store.ts'
import type { ReplayEvents } from '../../engine/replay-events.ts'
import type * as operations from './operations.ts'
import { countWithStates } from './replay-count.ts'
import type { PushSubscription } from './schema.ts'

type Replay = ServiceOf<typeof operations.subscriptions>['replay']

/** `subscription-replay`: all events of a range, or those withdrawn with a cancelled replay. */
export function createReplaying(
  { store, replay }: { store: Store; replay: ReplayEvents },
  find: (name: string) => { topic: string; subscription: PushSubscription },
) {
  return async (
    { name, dryRun, withdrawn, ...given }: Parameters<Replay>[0],
    call: Parameters<Replay>[1],
  ) => {
    const { topic, subscription } = find(name)
    const only =
      withdrawn === undefined ? undefined : await replay.withdrawnBy(withdrawn, { topic, group: name })
    const range = { ...given, ...only?.range }
    const target = { topic, group: name, match: subscription.match, range, only }
    if (dryRun) return { ...(await countWithStates(store, replay, target)), dryRun }
    await store.topics.subscribe(topic, name, 'now')
    return { ok: true, job: await replay.beginAndWait({ ...target, subscription: name }, call) }
  }
}
