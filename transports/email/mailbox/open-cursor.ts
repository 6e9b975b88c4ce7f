import type { Cursor } from './cursor.ts'
import { TRIES } from './fetch.ts'
import type { OpenFolder } from './reading.ts'

const DAY = 86_400_000
/** Overlap for mails delivered late, with an earlier date than already read ones. */
const OVERLAP = 2 * DAY
/** How long the store keeps message keys. */
const KNOWN = 7 * DAY

/** The cursor at which reading continues, and at which it starts in a new or renumbered folder. */
export async function openCursor(opened: OpenFolder, stored: Cursor | undefined): Promise<Cursor> {
  const { folder, uidValidity, uidNext, options, startedAt, deps, save } = opened
  const { since } = options
  if (stored?.uidValidity === uidValidity) return withUnfetchable(stored, opened)
  if (stored)
    deps.log.warn(
      { folder, was: stored.uidValidity },
      'the folder was renumbered (UIDVALIDITY); it is read again',
    )
  // The server's dates have whole seconds.
  const started =
    since === 'now' ? Math.floor(startedAt / 1000) * 1000 : since === 'all' ? 0 : Date.parse(since)
  const newest = stored?.newest ?? started
  // After that time keys have expired, but no mail is still in transit either.
  const overlap = deps.now() - newest > KNOWN - OVERLAP ? -1 : OVERLAP
  const floor = stored ? Math.max(stored.floor, newest - overlap) : started
  const cursor = await save({ uidValidity, uid: 0, until: uidNext, newest, floor, aside: [] })
  return withUnfetchable(cursor, opened)
}

/** Sets aside a mail that failed too often, so that later ones are read. */
async function withUnfetchable(cursor: Cursor, { folder, memory, deps, save }: OpenFolder): Promise<Cursor> {
  const [uid] = [...memory.failures].find(([, times]) => times >= TRIES) ?? []
  if (uid === undefined) return cursor
  memory.failures.delete(uid)
  if (cursor.aside.some((each) => each.uid === uid)) return cursor
  deps.refused('unfetchable', { why: `the mail ${uid} in ${folder} cannot be fetched` })
  deps.log.error({ folder, uid }, 'a mail cannot be fetched; it is set aside and tried again')
  const since = deps.now()
  memory.tried.set(uid, since)
  return save({ ...cursor, aside: [...cursor.aside, { uid, since, unfetchable: true }] })
}
