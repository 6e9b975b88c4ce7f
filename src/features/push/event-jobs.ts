import type { Store } from '../../core/store.ts'
import { deliveryId } from '../../engine/event-rounds.ts'
import { queueOf } from './records.ts'
import type { PushSubscription } from './schema.ts'

/** Maximum number of replays whose jobs and dead letters are looked up. */
const MOST_REPLAYS = 20

/**
 * `since`: the replays to which the attempts at the event belong. `replays`: all replays to the push of
 * the last week. Both by their start (Unix ms).
 */
type Asked = { id: string; since: readonly number[]; replays: readonly { startedAt: number }[] }

/**
 * Finds the job and the dead letter of an event by their possible ids: those of the round of the group,
 * and of replays. So a look-up reads no other jobs.
 */
export async function eventJobs(
  { topics, jobs }: Pick<Store, 'topics' | 'jobs'>,
  { name, topic }: Pick<PushSubscription, 'name' | 'topic'>,
  { id, since, replays }: Asked,
) {
  const queue = queueOf(name)
  const plain = deliveryId(`${queue}/${id}`)
  const round = await topics.roundOf(topic, name, topics.placeOf(topic, id)?.partition)
  const newest = replays
    .map(({ startedAt }) => startedAt)
    .toSorted((a, b) => b - a)
    .slice(0, MOST_REPLAYS)
  // The push had not read the event before a replay of a negative round.
  const rounds = [0, round ?? 0, ...since, ...newest, ...newest.map((startedAt) => -startedAt)]
  const ids = [...new Set(rounds.map((each) => deliveryId(plain, each)))]
  const newestOf = async (some: readonly string[]) => {
    const found = await Promise.all(some.map((each) => jobs.deadLetters.get(each, queue)))
    return found.filter((letter) => letter !== undefined).toSorted((a, b) => b.at - a.at)[0]
  }

  return {
    /** The newest dead letter. */
    letter: () => newestOf(ids),
    /** The same of any round: reads the ids of all dead letters. */
    async letterOfAnyRound() {
      const all = await jobs.deadLetters.ids()
      return newestOf(all.filter((each) => each.startsWith(`${plain}.`)))
    },
    /** Whether it waits as a job. */
    async isQueued(): Promise<boolean> {
      const found = await Promise.all(ids.map((each) => jobs.unfinished(queue, each)))
      return found.some((job) => job !== undefined)
    },
  }
}
