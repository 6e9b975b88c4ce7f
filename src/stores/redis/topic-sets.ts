import type { Server } from './scripts.ts'

/**
 * Removes a topic, whose keys for a set were found absent or removed, from this set. Adds it again if
 * one of these keys was created meanwhile.
 */
export async function removeFromSet(
  { call, roots }: Pick<Server, 'call' | 'roots'>,
  set: 'topics' | 'grouped-topics',
  topic: string,
): Promise<void> {
  await call('SREM', `${roots.main}${set}`, topic)
  const [first = '', ...rest] = KEYS[set].map((key) => `${roots.topic(topic)}${key}`)
  if ((await call<number>('EXISTS', first, ...rest)) > 0) await call('SADD', `${roots.main}${set}`, topic)
}

/** The keys by set: a topic is in the set while it has one of these keys. */
const KEYS = { topics: ['journal', 'meta', 'groups'], 'grouped-topics': ['groups'] } as const
