import { TriviumError } from '../../core/errors.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Store } from '../../core/store.ts'
import type { ReplayEvents } from '../../engine/replay-events.ts'
import type * as operations from './operations.ts'
import { createRecords, MAX_WITHDRAWN } from './records.ts'
import { withStates } from './replay-count.ts'
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
    const only = withdrawn === undefined ? undefined : await withdrawnBy({ store, replay }, withdrawn, name)
    const range = { ...given, ...only?.range }
    const target = { topic, group: name, match: subscription.match, range, only }
    if (dryRun) {
      const selection = { ...range, ids: only?.ids }
      return { ...(await withStates(store, await replay.count(target), { name, selection })), dryRun }
    }
    await store.topics.subscribe(topic, name, 'now')
    return { ok: true, job: await replay.begin({ ...target, subscription: name }, call) }
  }
}

/** The events withdrawn with a cancelled replay. Throws `bad_request` if they are unknown. */
async function withdrawnBy(
  { store, replay }: { store: Pick<Store, 'kv'>; replay: Pick<ReplayEvents, 'job'> },
  job: string,
  name: string,
) {
  const { startedAt, target } = await replay.job(job)
  const isOfPush = target.subscription === name
  const {
    ids = [],
    from,
    to,
  } = (isOfPush && (await createRecords(store.kv, name).withdrawn(startedAt))) || {}
  if (ids.length > 0 && ids.length < MAX_WITHDRAWN) return { job, ids, range: { from, to } }
  throw new TriviumError('bad_request', {
    reason: `the events that job ${job} withdrew from ${name} are not known by id`,
  })
}
