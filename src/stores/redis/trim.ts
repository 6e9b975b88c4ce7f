import { randomBytes } from 'node:crypto'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Retention } from '../../core/store.ts'
import { groupAge, ownOf } from '../shared/values.ts'
import { listOf, numberOf, textOf } from './reply.ts'
import type { Server } from './scripts.ts'

/** How many entries one script looks at, and how many such scripts one call of `trim` runs per log. */
const SLICE = 200
const SLICES = 20
/** About how many topics one call looks at. */
const TOPICS = 200
/** How many of the hashes of digests one call sweeps. They are drawn at random, so all are swept in time. */
const SWEEP = 64

/**
 * Makes `trim` of the store: journal, topics, and what is remembered of keys, each in slices that hold
 * up nobody. Where a call did not get through, the next one goes on from there.
 */
export function createTrim({ run, call, roots }: Server) {
  const names = `${roots.main}topics`
  let resume = 0
  let cursor = '0'

  async function trimJournal({ journal, gateways = {} }: Retention): Promise<number> {
    const ages = Object.fromEntries(Object.entries(gateways).map(([name, { maxAge }]) => [name, maxAge]))
    let total = 0
    for (let slice = 0; slice < SLICES; slice++) {
      const args = [resume, SLICE, journal.maxAge, journal.maxCount, JSON.stringify(ages)]
      const [removed, next] = listOf(await run('trim-journal', roots.main, ...args)).map(numberOf)
      total += removed ?? 0
      resume = next ?? 0
      if (resume === 0) break
    }
    return total
  }

  async function trimTopic(topic: string, { journal, topics = {} }: Retention): Promise<number> {
    const { maxAge = journal.maxAge, maxCount = journal.maxCount } = ownOf(topics, topic) ?? {}
    let total = 0
    for (let slice = 0; slice < SLICES; slice++) {
      const reply = await run('trim-topic', roots.topic(topic), SLICE, maxAge, maxCount, randomDigest())
      const [removed = 0, alive] = listOf(reply).map(numberOf)
      total += removed
      if (alive === 0) await call('SREM', names, topic)
      if (removed < SLICE) break
    }
    return total
  }

  return async (policy: Retention): Promise<{ removed: number }> => {
    let removed = await trimJournal(policy)
    const [next, topics] = listOf(await call('SSCAN', names, cursor, 'COUNT', TOPICS))
    cursor = textOf(next)
    for (const topic of listOf(topics).map(textOf)) {
      if (topic !== MESSAGE_TOPIC) removed += await trimTopic(topic, policy)
      const groups = await run('topic-groups', roots.topic(topic), 'expire', groupAge(policy))
      if (groups === 0) await call('SREM', `${roots.main}grouped-topics`, topic)
    }
    await run(
      'trim-rest',
      roots.main,
      policy.deadLetters ?? 5_000,
      ...Array.from({ length: SWEEP }, randomDigest),
    )
    return { removed }
  }
}

/** As long as is needed to tell its hash; see `seen_bucket` of `lua/lib/seen.lua`. */
const randomDigest = () => randomBytes(3).toString('base64url')
