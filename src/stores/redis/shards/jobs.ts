import { askAll, isStoreAway } from '../../../core/reachable.ts'
import type {
  Claim,
  ClaimedJob,
  ClaimedJobs,
  DeadLetter,
  Jobs,
  Page,
  ReachablePage,
} from '../../../core/store.ts'
import { defined } from '../../../lib/defined.ts'
import type { Layout } from '../layout.ts'
import type { Owned } from './owned.ts'
import { byShard, type Shard } from './shard.ts'

/**
 * The jobs of several shards as one. Each lane is on one shard. The token of a claim begins with
 * the number of its shard.
 */
export function createShardedJobs(
  shards: readonly Shard[],
  { of, shardIn, shardOfLane }: Layout,
  owned: Owned,
  now: () => number,
): Jobs {
  const at = (shard: number) => (shards[shard] as Shard).jobs

  /** Runs a call on the shards of claims, with the claims of each. */
  function ofClaims<Claim extends { token: string }, Answer>(
    claims: readonly Claim[],
    run: (shard: number, claims: Claim[]) => Promise<readonly Answer[]>,
  ): Promise<Answer[]> {
    return byShard(
      claims,
      ({ token }) => (Number.parseInt(token, 10) || 0) % of,
      (shard, some) =>
        run(
          shard,
          some.map((claim) => ({ ...claim, token: tokenOf(claim.token) })),
        ),
    )
  }

  /**
   * The first truthy answer of a shard. Asks the shards one after the other, beginning with the
   * likely one. Rejects if no shard has an answer and one is away.
   */
  async function first<Answer>(
    id: string,
    ask: (shard: number) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const likely = likelyShard(shardIn, id) ?? 0
    let failure: { error: unknown } | undefined
    for (let step = 0; step < of; step++) {
      try {
        const answer = await ask((likely + step) % of)
        if (answer) return answer
      } catch (error) {
        if (!isStoreAway(error)) throw error
        failure ??= { error }
      }
    }
    if (failure) throw failure.error
    return undefined
  }

  return {
    add: (queue, jobs) =>
      byShard(
        jobs,
        ({ lane, messageId = '' }) => shardIn(messageId) ?? shardOfLane(lane),
        async (shard, some) => {
          const added = await at(shard).add(queue, some)
          owned.mayClaim(queue, shard)
          return added
        },
      ),

    claim: (queue, request) => claimOnAll(shards, owned, queue, request, now),
    mergeFollowing: (queue, { token, ...claim }) =>
      at((Number.parseInt(token, 10) || 0) % of).mergeFollowing(queue, { ...claim, token: tokenOf(token) }),
    settle: (queue, outcomes) =>
      ofClaims(outcomes, (shard, some) =>
        at(shard)
          .settle(queue, some)
          .catch((error: Error) => some.map(() => error)),
      ),
    renew: (queue, claims, lease) => ofClaims(claims, (shard, some) => at(shard).renew(queue, some, lease)),
    bury: createShardedBury(shards, owned, first),
    unfinished: (queue, id) => first(id, (shard) => at(shard).unfinished(queue, id)),
    end: (queue, id) => first(id, (shard) => at(shard).end(queue, id)),
    ...createShardedHolds(shards, shardIn, owned),
    deadLetters: createShardedLetters(shards, owned, first),
  }
}

type First = <Answer>(id: string, ask: (shard: number) => Promise<Answer>) => Promise<Answer | undefined>

function createShardedBury(shards: readonly Shard[], owned: Owned, first: First): Jobs['bury'] {
  return async (queue, id, end) => {
    const buryOn = async (shard: number) => {
      const isBuried = await shards[shard]?.jobs.bury(queue, id, end)
      // The next job of its lane may be claimable now.
      if (isBuried) owned.mayClaim(queue, shard)
      return isBuried
    }
    return (await first(id, buryOn)) ?? false
  }
}

function createShardedLetters(shards: readonly Shard[], owned: Owned, first: First): Jobs['deadLetters'] {
  const deadLetters = shards.map(({ jobs }) => jobs.deadLetters)
  return {
    list: async (filter) => {
      const { answers, away, failure } = await askAll(deadLetters, (letters) => letters.list(filter))
      if (away.length > 0 && !filter.isPartial) throw failure
      return mergePages(answers, away, filter.limit, byAge)
    },
    ids: async () => (await Promise.all(deadLetters.map((letters) => letters.ids()))).flat(),
    get: (id, queue) => first(id, async (shard) => deadLetters[shard]?.get(id, queue)),
    retry: async (id, queue, by) => {
      const retryOn = async (shard: number) => {
        const isBack = await deadLetters[shard]?.retry(id, queue, by)
        if (isBack) owned.mayClaimAny(shard)
        return isBack
      }
      return (await first(id, retryOn)) ?? false
    },
    undoRetry: async (id, queue, undo) => {
      const undoOn = async (shard: number) => {
        const isUndone = await deadLetters[shard]?.undoRetry(id, queue, undo)
        // The next job of its lane may be claimable now.
        if (isUndone) owned.mayClaim(queue, shard)
        return isUndone
      }
      return (await first(id, undoOn)) ?? false
    },
    drop: async (id, queue) =>
      (await first(id, async (shard) => deadLetters[shard]?.drop(id, queue))) ?? false,
  }
}

/**
 * Claims on one shard after the other. If a shard is unreachable, the jobs claimed so far are
 * returned at once.
 */
async function claimOnAll(
  shards: readonly Shard[],
  owned: Owned,
  queue: string,
  request: Claim,
  now: () => number,
): Promise<ClaimedJobs> {
  const limits = { ...request.limits }
  const items: ClaimedJob[] = []
  let more = false
  for (const shard of await owned.claimable(queue, now())) {
    const max = request.max - items.length
    if (max <= 0) {
      more = true
      break
    }
    owned.asked(queue, shard)
    const found = await shards[shard]?.jobs
      .claim(queue, { ...request, max, limits })
      .catch((error: unknown) => {
        owned.dueAt(queue, shard, now() + RETRY_AFTER)
        // The jobs of other shards are already claimed, so they must be returned.
        if (items.length === 0) throw error
      })
    // Waiting for further unreachable shards could outlast the leases.
    if (!found) break
    for (const job of found.items) {
      items.push({ ...job, token: `${shard}-${job.token}` })
      const left = limits[job.group]
      if (left !== undefined) limits[job.group] = Math.max(0, left - 1)
    }
    if (found.more) owned.mayClaim(queue, shard)
    more ||= found.more
    owned.dueAt(queue, shard, found.nextDue)
  }
  return { items, more, ...defined({ nextDue: owned.nextDue(queue) }) }
}

function createShardedHolds(
  shards: readonly Shard[],
  shardIn: Layout['shardIn'],
  owned: Owned,
): Pick<Jobs, 'held' | 'unhold' | 'hasten' | 'nextDue'> {
  /** Makes jobs claimable on the reachable shards. */
  async function release(queue: string, run: (jobs: Shard['jobs']) => Promise<number>) {
    const { answers, ...rest } = await askAll([...shards.entries()], async ([shard, { jobs }]) => {
      const count = await run(jobs)
      if (count > 0) owned.mayClaim(queue, shard)
      return count
    })
    return { ...rest, count: answers.reduce((sum, count) => sum + count, 0) }
  }

  return {
    held: async (queue, after, limit) => {
      const { answers, away } = await askAll(shards, ({ jobs }) => jobs.held(queue, after, limit))
      return mergePages(answers, away, limit, (a, b) => (a.id < b.id ? -1 : 1))
    },
    unhold: async (queue, ids) => (await release(queue, (jobs) => jobs.unhold(queue, ids))).count,
    hasten: async (queue, ids) => {
      const { count, away, failure } = await release(queue, (jobs) => jobs.hasten(queue, ids))
      const mayBeAway = (id: string) => away.includes(likelyShard(shardIn, id) ?? away[0] ?? -1)
      if (ids?.some(mayBeAway)) throw failure
      return count
    },
    nextDue: async (queue) => {
      const { answers } = await askAll(shards, ({ jobs }) => jobs.nextDue(queue))
      const known = answers.filter((time) => time !== undefined)
      return known.length === 0 ? undefined : Math.min(...known)
    },
  }
}

/** The pages of all shards as one, in order. */
function mergePages<Item>(
  pages: readonly Page<Item>[],
  away: number[],
  limit: number,
  order: (a: Item, b: Item) => number,
): ReachablePage<Item> {
  const cut = pages.filter(({ more }) => more)
  const all = pages.flatMap(({ items }) => items).sort(order)
  // Items after the end of a cut page must wait: that shard may have others before them.
  const ends = cut.map((page) => page.items.at(-1))
  const known = all.filter((item) => ends.every((end) => end !== undefined && order(item, end) <= 0))
  const items = known.slice(0, limit)
  const more = cut.length > 0 || items.length < known.length
  return { items, more, ...(away.length > 0 && { away }) }
}

/** Ms after which an unreachable shard is asked again. */
const RETRY_AFTER = 1_000

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/

/** The shard of the message that an id names. */
function likelyShard(shardIn: Layout['shardIn'], id: string): number | undefined {
  return shardIn(id.match(UUID)?.[0] ?? '')
}

const tokenOf = (token: string) => token.slice(token.indexOf('-') + 1)

/** Newest first, by time and then by id. */
function byAge(a: DeadLetter, b: DeadLetter): number {
  return b.at - a.at || (a.id < b.id ? 1 : -1)
}
