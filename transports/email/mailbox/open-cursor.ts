import { KEY_TTL } from '../../../src/core/lifetimes.ts'
import { DAY } from '../../../src/core/units.ts'
import type { Cursor } from './cursor.ts'
import { MAX_FAILURES } from './fetch.ts'
import type { OpenFolder } from './reading.ts'

/**
 * In a renumbered folder, mails of this time before the newest one are read again: some were
 * delivered late.
 */
const OVERLAP_MS = 2 * DAY

/** The cursor at which reading continues, or starts if the folder is new or was renumbered. */
export async function openCursor(opened: OpenFolder, stored: Cursor | undefined): Promise<Cursor> {
  const { folder, uidValidity, uidNext, options, startedAt, deps, save } = opened
  if (stored?.uidValidity === uidValidity) return withUnfetchable(stored, opened)
  if (stored)
    deps.log.warn(
      { folder, was: stored.uidValidity },
      'the folder was renumbered (UIDVALIDITY); it is read again',
    )
  const first = firstDate(options.since, startedAt)
  const newest = stored?.newest ?? first
  // No overlap if the keys of repeated mails may have expired. Late mails have arrived by then.
  const areKeysKnown = deps.now() - newest <= KEY_TTL - OVERLAP_MS
  const resumeAt = areKeysKnown ? newest - OVERLAP_MS : newest + 1
  const floor = stored ? Math.max(stored.floor, resumeAt) : first
  const cursor = await save({ uidValidity, uid: 0, until: uidNext, newest, floor, aside: [] })
  return withUnfetchable(cursor, opened)
}

/** The arrival time (Unix ms) from which mails are read, according to the option `since`. */
function firstDate(since: string, startedAt: number): number {
  if (since === 'all') return 0
  // The server's dates have whole seconds.
  return since === 'now' ? Math.floor(startedAt / 1000) * 1000 : Date.parse(since)
}

/** Sets aside a mail that failed too often, so that later ones are read. */
async function withUnfetchable(cursor: Cursor, { folder, memory, deps, save }: OpenFolder): Promise<Cursor> {
  const [uid] = [...memory.failures].find(([, count]) => count >= MAX_FAILURES) ?? []
  if (uid === undefined) return cursor
  memory.failures.delete(uid)
  if (cursor.aside.some((each) => each.uid === uid)) return cursor
  deps.refused('unfetchable', { why: `the mail ${uid} in ${folder} cannot be fetched` })
  deps.log.error({ folder, uid }, 'a mail cannot be fetched; it is set aside and tried again')
  const since = deps.now()
  memory.triedAt.set(uid, since)
  return save({ ...cursor, aside: [...cursor.aside, { uid, since, unfetchable: true }] })
}
