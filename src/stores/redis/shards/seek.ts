import { reasonOf, TriviumError } from '../../../core/errors.ts'
import { MESSAGE_TOPIC } from '../../../core/event.ts'
import type { Shard } from './shard.ts'

type Seekable = Pick<Shard, 'ping'> & { topics: Pick<Shard['topics'], 'seek' | 'subscribe'> }

/**
 * Moves a group of `gateway-message` on every shard. Nothing moves while a shard is unreachable or
 * accepts no writes. If a shard fails after that check, the group is moved on the others only. The
 * error says so, and a repeated call completes it.
 */
export async function seekAll(
  shards: readonly Seekable[],
  group: string,
  to: 'now' | 'start',
): Promise<boolean> {
  await Promise.all(shards.map(({ ping }) => ping()))
  const [first, ...rest] = shards
  if (!(await first?.topics.seek(MESSAGE_TOPIC, group, to))) return false
  const outcomes = await Promise.allSettled(
    rest.map(async ({ topics }) => {
      const isHere = await topics.seek(MESSAGE_TOPIC, group, to)
      // The first shard has the group, so this one has lost its last writes.
      if (!isHere) await topics.subscribe(MESSAGE_TOPIC, group, to)
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
