import type { Call } from '../../core/call.ts'
import { waitOf } from '../../lib/open-groups.ts'
import { comparable } from '../../lib/person-identity.ts'
import type { createPersonList } from './list.ts'
import type { createPersonOpen } from './open.ts'

type List = ReturnType<typeof createPersonList>
type Open = ReturnType<typeof createPersonOpen>

/**
 * `person-list` with the order `waits`: the longest wait for an answer or an approval first, then
 * people with other open items, then all others, newest first.
 */
export function withWaits(list: List, { open }: Open): List {
  return {
    async list(args, call) {
      if (args.sort !== 'waits') return list.list(args, call)
      const all = { ...args, sort: 'last', limit: Number.POSITIVE_INFINITY } as const
      const [listed, since] = await Promise.all([list.list(all, call), readWaits(open, call)])
      const waitOf = (person: { identity: string }) => since.get(comparable(person.identity)) ?? NOTHING_OPEN
      const sorted = listed.people.toSorted((one, other) => compare(waitOf(one), waitOf(other)))
      return { ...listed, people: sorted.slice(0, args.limit) }
    },
  }
}

/** Since when (Unix ms) a person waits for others, and has something open; infinite if not. */
type Wait = { forPeople: number; forAny: number }

const NOTHING_OPEN: Wait = { forPeople: Number.POSITIVE_INFINITY, forAny: Number.POSITIVE_INFINITY }

async function readWaits(open: Open['open'], call: Call): Promise<Map<string, Wait>> {
  const { people } = await open({ limit: Number.POSITIVE_INFINITY }, call)
  return new Map(
    people.map(({ identity, open: things }) => {
      const forPeople = Math.min(...things.flatMap((thing) => waitOf(thing) ?? []))
      return [comparable(identity), { forPeople, forAny: Math.min(...things.map(({ at }) => at)) }]
    }),
  )
}

function compare(one: Wait, other: Wait): number {
  // Infinity - Infinity is NaN.
  if (one.forPeople !== other.forPeople) return one.forPeople - other.forPeople
  return one.forAny === other.forAny ? 0 : one.forAny - other.forAny
}
