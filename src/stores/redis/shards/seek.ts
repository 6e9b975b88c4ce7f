import { reasonOf, TriviumError } from '../../../core/errors.ts'
import { MESSAGE_TOPIC } from '../../../core/event.ts'
import type { Shard } from './shard.ts'

type Seekable = Pick<Shard, 'ping'> & { topics: Pick<Shard['topics'], 'groups' | 'seek' | 'subscribe'> }

/**
 * Moves a group of `gateway-message` on every shard, once each. While a shard is away or takes no writes nothing moves. A shard
 * that fails after that check leaves the group moved on the others only; the error says so, and a repeated call completes it.
 */
export async function seekAll(
  shards: readonly Seekable[],
  group: string,
  to: 'now' | 'start',
): Promise<boolean> {
  await Promise.all(shards.flatMap(({ ping, topics }) => [topics.groups(MESSAGE_TOPIC), ping()]))
  const [first, ...rest] = shards
  if (!(await first?.topics.seek(MESSAGE_TOPIC, group, to))) return false
  const outcomes = await Promise.allSettled(
    rest.map(async ({ topics }) => {
      // The first shard knows whether there is such a group: here it was still being made.
      if (!(await topics.seek(MESSAGE_TOPIC, group, to))) await topics.subscribe(MESSAGE_TOPIC, group, to)
    }),
  )
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  if (failures.length === 0) return true
  const moved = `the group moved on ${shards.length - failures.length} of ${shards.length} shards; seek again`
  const [cause] = failures
  throw new TriviumError(
    'store_unavailable',
    { store: 'redis', reason: `${moved} (${reasonOf(cause)})` },
    { cause },
  )
}
