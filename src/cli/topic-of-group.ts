import { type JsonObject, objectsIn } from '../core/json.ts'
import type { Connection } from './connection.ts'

/** Skills that take a consumer group and its topic. */
const OF_GROUPS: readonly string[] = [
  'event-unread',
  'event-skip',
  'event-seek',
  'event-replay',
  'event-unsubscribe',
]

/** The arguments of a skill for a group, with its topic if only one topic has a group of this name. */
export async function withTopic(
  name: string,
  args: JsonObject,
  daemon: Pick<Connection, 'invoke'>,
): Promise<JsonObject> {
  const { queue, topic } = args
  if (!OF_GROUPS.includes(name) || typeof queue !== 'string' || topic !== undefined) return args
  const groups = objectsIn(await daemon.invoke('event-groups', { queue }).catch(() => []))
  const topics = new Set(groups.map((group) => String(group.topic)))
  const [only] = topics
  return topics.size === 1 && only !== undefined ? { ...args, topic: only } : args
}
