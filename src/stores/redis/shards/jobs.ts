import type { ClaimedJob, DeadLetter, Jobs, LetterFilter } from '../../../core/store.ts'
import { defined } from '../../../lib/defined.ts'
import type { Layout } from '../layout.ts'
import type { Owned } from './owners.ts'
import { byShard, type Shard } from './shard.ts'

/** The jobs of several shards as one: a lane is on one of them. The token of a claim names its shard. */
export function createShardedJobs(
  shards: readonly Shard[],
  { of, shardIn, shardOfLane }: Layout,
  owned: Owned,
  now: () => number,
): Jobs {
  const at = (shard: number) => (shards[shard] as Shard).jobs
  const deadLetters = shards.map(({ jobs }) => jobs.deadLetters)

  /** Does something with claims, each on its shard. */
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

  /** The first shard that has something to say, tried one after the other, the likely one first. */
  async function first<Answer>(
    id: string,
    ask: (shard: number) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const likely = shardIn(id.match(UUID)?.[0] ?? '') ?? 0
    for (let step = 0; step < of; step++) {
      const answer = await ask((likely + step) % of)
      if (answer) return answer
    }
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

    claim: async (queue, request) => {
      const limits = { ...request.limits }
      const jobs: ClaimedJob[] = []
      for (const shard of await owned.claimable(queue, now())) {
        const max = request.max - jobs.length
        if (max <= 0) break
        owned.asked(queue, shard)
        const found = await at(shard)
          .claim(queue, { ...request, max, limits })
          .catch((error: unknown) => {
            owned.dueAt(queue, shard, now() + AWAY)
            // What the others gave is claimed.
            if (jobs.length === 0) throw error
          })
        // Its lease runs out while those are waited for that are away as well.
        if (!found) break
        for (const job of found.jobs) {
          jobs.push({ ...job, token: `${shard}-${job.token}` })
          const left = limits[job.group]
          if (left !== undefined) limits[job.group] = Math.max(0, left - 1)
        }
        // Of a group that has no place now there may be more, which nobody will tell of.
        const isLimited = Object.values(limits).includes(0)
        const size = found.jobs.reduce((sum, { message }) => sum + (message?.text.length ?? 0), 0)
        if (found.jobs.length === max || isLimited || size > LARGE) owned.mayClaim(queue, shard)
        owned.dueAt(queue, shard, found.nextDue)
      }
      return { jobs, ...defined({ nextDue: owned.nextDue(queue) }) }
    },
    follow: (queue, { token, ...claim }) =>
      at((Number.parseInt(token, 10) || 0) % of).follow(queue, { ...claim, token: tokenOf(token) }),
    settle: (queue, outcomes) =>
      ofClaims(outcomes, (shard, some) =>
        at(shard)
          .settle(queue, some)
          .catch((error: Error) => some.map(() => error)),
      ),
    renew: (queue, claims, lease) => ofClaims(claims, (shard, some) => at(shard).renew(queue, some, lease)),
    end: (queue, id) => first(id, (shard) => at(shard).end(queue, id)),
    ...createShardedHolds(shards, owned),
    deadLetters: {
      list: async (filter) => {
        const pages = await Promise.all(deadLetters.map((letters) => pageOf(letters, filter)))
        // Beyond the place where one of them stopped it is not known what that one has.
        const [horizon] = pages.flatMap(({ stop }) => stop ?? []).sort(byAge)
        const all = pages.flatMap(({ page }) => page).sort(byAge)
        return all.filter((letter) => !horizon || byAge(letter, horizon) <= 0).slice(0, filter.limit)
      },
      ids: async () => (await Promise.all(deadLetters.map((letters) => letters.ids()))).flat(),
      get: (id, queue) => first(id, async (shard) => deadLetters[shard]?.get(id, queue)),
      retry: async (id, queue) =>
        (await first(id, async (shard) => deadLetters[shard]?.retry(id, queue))) ?? false,
      drop: async (id, queue) =>
        (await first(id, async (shard) => deadLetters[shard]?.drop(id, queue))) ?? false,
    },
  }
}

function createShardedHolds(shards: readonly Shard[], owned: Owned): Pick<Jobs, 'held' | 'unhold'> {
  return {
    held: async (queue, after, limit) => {
      const pages = await Promise.all(shards.map(({ jobs }) => jobs.held(queue, after, limit)))
      const all = pages.flat().toSorted((a, b) => (a.id < b.id ? -1 : 1))
      return all.slice(0, limit)
    },
    unhold: async (queue, ids) => {
      const unhold = async ({ jobs }: Shard, shard: number) => {
        const count = await jobs.unhold(queue, ids)
        if (count > 0) owned.mayClaim(queue, shard)
        return count
      }
      return (await Promise.all(shards.map(unhold))).reduce((sum, count) => sum + count, 0)
    },
  }
}

/** The letters of one shard, and the last of them where there are more. */
async function pageOf(letters: Jobs['deadLetters'], filter: LetterFilter) {
  const page = await letters.list(filter)
  const last = page.at(-1)
  // Short are also those whose letters are large.
  const isMore =
    last &&
    (page.length >= filter.limit || (await letters.list({ ...filter, before: last, limit: 1 })).length > 0)
  return { page, stop: isMore ? last : undefined }
}

/** Characters of one claim that are many: it may have left some for their size. */
const LARGE = 500_000

/** Ms after which a shard is asked again that did not answer. */
const AWAY = 1_000

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/

const tokenOf = (token: string) => token.slice(token.indexOf('-') + 1)

/** Newest first, by time and then by id. */
function byAge(a: DeadLetter, b: DeadLetter): number {
  return b.at - a.at || (a.id < b.id ? 1 : -1)
}
