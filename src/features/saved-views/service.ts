import { z } from 'zod'
import { authorName, authorOf } from '../../core/author.ts'
import { TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json } from '../../core/json.ts'
import { requireRoom } from '../../core/limits.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { KeyValues } from '../../core/store.ts'
import { readStoredList } from '../../core/stored-entries.ts'
import { updateKv } from '../../core/update-kv.ts'
import { didYouMean } from '../../lib/nearest.ts'
import type * as operations from './operations.ts'

/** The key of the value with all views. */
const KEY = 'saved-views'
const LIMIT = { most: 200, what: 'Saved views', todo: 'Delete some with `view-delete`.' }

const viewSchema = z.object({
  list: z.string(),
  name: z.string(),
  query: z.record(z.string(), z.string()),
  /** Who saved it, and when (Unix ms). */
  by: z.string().transform(authorName),
  at: z.number(),
})

type View = z.infer<typeof viewSchema>

/** `view-list`, `view-save` and `view-delete`: one value of the store, which every daemon reads. */
export function createSavedViews(deps: {
  store: { kv: Pick<KeyValues, 'get' | 'set'> }
  now(): number
}): ServiceOf<typeof operations.savedViews> {
  const { kv } = deps.store
  const change = (next: (all: readonly View[]) => readonly View[]) =>
    updateKv(kv, KEY, (stored) => {
      const { entries, write } = read(stored)
      return { value: { views: write(next(entries)) } }
    })
  return {
    async list({ list }) {
      const { entries } = read((await kv.get(KEY))?.value)
      return { views: inOrder(entries.filter((view) => view.list === (list ?? view.list))) }
    },
    async save({ list, name, query }, { caller }) {
      const saved: View = { list, name, query, by: authorOf(caller), at: deps.now() }
      await change((all) => {
        const others = all.filter((view) => !isSame(view, saved))
        requireRoom(LIMIT, others.length)
        return [...others, saved]
      })
      return { ok: true, ...saved }
    },
    async delete(wanted) {
      await change((all) => {
        const others = all.filter((view) => !isSame(view, wanted))
        if (others.length === all.length) throw notFound(wanted, all)
        return others
      })
      return { ok: true, ...wanted }
    },
  }
}

function read(value: Json | undefined) {
  return readStoredList(viewSchema, isJsonObject(value) ? value.views : undefined)
}

function isSame(one: Pick<View, 'list' | 'name'>, other: Pick<View, 'list' | 'name'>): boolean {
  return one.list === other.list && one.name === other.name
}

function inOrder(views: readonly View[]): View[] {
  return views.toSorted((a, b) => a.list.localeCompare(b.list) || a.name.localeCompare(b.name))
}

function notFound({ list, name }: Pick<View, 'list' | 'name'>, all: readonly View[]): TriviumError {
  const names = all.filter((view) => view.list === list).map((view) => view.name)
  return new TriviumError('not_found', {
    path: `view ${JSON.stringify(name)} of ${list}`,
    hint: didYouMean(name, names) || ' `trivium view list` lists them.',
  })
}
