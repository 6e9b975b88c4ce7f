import { z } from 'zod'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { defined } from '../../lib/defined.ts'
import { addCount } from '../../lib/name-counts.ts'
import { shownIn } from '../../lib/people-in.ts'
import { ANY, isFrom, partsOf, type Sent } from '../../lib/person-identity.ts'
import type { Connection } from '../connection.ts'
import { withAttempts } from '../with-attempts.ts'
import { sendersWith } from './find.ts'

type Daemon = Pick<Connection, 'running' | 'invoke'>

/** Maximum numbers of what is read: messages in all, and records of each kind. */
const MOST = { messages: 10_000, page: 500, open: 50, approvals: 1_000, alike: 5 }
/** How long (ms) messages are counted: a call reads a part of the journal. */
const SEARCH_TIME = 4_000
/** Outcomes of messages that Trivium still works on, or that failed. */
const UNFINISHED = 'waiting,running,retrying,replying,dead'

/**
 * Who a person is and what is open with them, from the lists of the daemon. Counts are of the stored
 * messages; `searchedTo` (Unix ms): older ones were not counted.
 */
export async function readPerson(daemon: Daemon, identities: readonly string[]): Promise<JsonObject> {
  const [sent, open] = await Promise.all([readSent(daemon, identities), readOpen(daemon, identities)])
  const names = Array.isArray(sent.names) ? sent.names.map(String) : []
  return { identities: [...identities], ...sent, alike: await alike(daemon, identities, names), open }
}

/** The messages of the person: how many on which gateway, and their names there. */
async function readSent(daemon: Daemon, identities: readonly string[]): Promise<JsonObject> {
  const gateways: Record<string, number> = {}
  const names = new Set<string>()
  const times = new Map<string, JsonObject>()
  let searchedTo = 0
  for (const identity of identities) {
    const { rows, back } = await pagesOf(daemon, 'message-search', 'messages', identity, {}, MOST.messages)
    searchedTo = Math.max(searchedTo, back ?? 0)
    for (const { sender, row } of rows) {
      if (!isFrom(sender, identities) || times.has(String(row.id))) continue
      addCount(gateways, sender.gateway)
      const shown = shownIn(sender.from)
      if (shown !== undefined) names.add(shown)
      times.set(String(row.id), { id: row.id ?? '', at: row.at ?? 0, gateway: sender.gateway })
    }
  }
  const all = [...times.values()].toSorted((a, b) => Number(a.at) - Number(b.at))
  const ends = defined({ first: searchedTo > 0 ? undefined : all[0], newest: all.at(-1) })
  return { names: [...names], messages: all.length, gateways, ...ends, ...(searchedTo > 0 && { searchedTo }) }
}

type Row = { sender: Sent; row: JsonObject }

const sentSchema = z.object({
  gateway: z.string(),
  from: z.object({
    id: z.string().optional(),
    name: z.string().optional(),
    address: z.string().optional(),
    external: z.boolean().optional(),
  }),
})

/** Who sent the message of a row; undefined for other rows. */
const senderOf = (row: JsonObject): Sent | undefined => sentSchema.safeParse(row).data

/** The rows of a list about one identity. `back`: where reading ended before the end (Unix ms). */
async function pagesOf(
  { invoke }: Pick<Daemon, 'invoke'>,
  operation: string,
  list: string,
  identity: string,
  filter: JsonObject,
  most: number,
): Promise<{ rows: Row[]; back?: number }> {
  const { gateway, name } = partsOf(identity)
  const deadline = performance.now() + SEARCH_TIME
  const rows: Row[] = []
  let before: Json | undefined
  do {
    const limit = Math.min(MOST.page, most)
    const args = {
      sender: name,
      ...(gateway !== ANY && { gateway }),
      ...filter,
      ...defined({ before }),
      limit,
    }
    const page = await invoke(operation, args)
    for (const row of objectsIn(pathGet(page, list))) {
      const sender = senderOf(row)
      if (sender && isFrom(sender, [identity])) rows.push({ sender, row })
    }
    before = Object(page).next
    const back = pathGet(page, 'searchedTo') ?? rows.at(-1)?.row.at
    if (before !== undefined && (rows.length >= most || performance.now() > deadline))
      return { rows, back: Number(back) }
  } while (before !== undefined)
  return { rows }
}

/** What is open with the person, by kind, and whether more may be. */
async function readOpen(daemon: Daemon, identities: readonly string[]): Promise<JsonObject> {
  const read = async (operation: string, list: string, filter: JsonObject) => {
    const found = await Promise.all(
      identities.map((identity) => pagesOf(daemon, operation, list, identity, filter, MOST.open)),
    )
    const rows = new Map(found.flatMap(({ rows }) => rows).map(({ row }) => [String(row.id), row]))
    return {
      rows: [...rows.values()].slice(0, MOST.open),
      isCut: found.some(({ back }) => back !== undefined),
    }
  }
  const [unfinished, talks, approvals, sends, letters, jobs] = await Promise.all([
    read('message-search', 'messages', { outcome: UNFINISHED }),
    read('conversation-list', 'conversations', {}),
    daemon.invoke('approval-list', { status: 'pending', limit: MOST.approvals }),
    daemon.invoke('send-list', { limit: MOST.approvals }),
    lettersOf(daemon, identities),
    daemon.invoke('job-list', { state: 'running' }),
  ])
  const withErrors = await withAttempts(daemon, { messages: unfinished.rows })
  const isTheirs = (row: JsonObject) => isBy(row, identities)
  const asked = objectsIn(approvals).filter(isTheirs)
  const places = new Set(asked.map(({ message }) => placeOf(Object(message))))
  // As in `person-open`: who only waits for an approval does not wait for an answer, too.
  const conversations = talks.rows.filter(
    (row) =>
      (row.heldBy ?? row.undelivered) !== undefined ||
      (row.waitingSince !== undefined && !places.has(placeOf(row))),
  )
  return {
    messages: objectsIn(pathGet(withErrors, 'messages')),
    letters,
    conversations,
    approvals: asked.slice(0, MOST.open),
    sends: objectsIn(sends)
      .filter((send) => isTo(send, identities))
      .slice(0, MOST.open),
    // An erasure does not say whom it erases.
    jobs: objectsIn(jobs).filter(({ kind }) => kind === 'person-erase'),
    isCut: unfinished.isCut || talks.isCut,
  }
}

/** Dead replies and pushes of their messages. Dead messages are with the messages. */
async function lettersOf(daemon: Daemon, identities: readonly string[]): Promise<JsonObject[]> {
  const found = await Promise.all(
    identities.map((identity) =>
      daemon.invoke('dead-letter-list', { search: partsOf(identity).name, limit: MOST.open }),
    ),
  )
  return found
    .flatMap(objectsIn)
    .filter((letter) => letter.queue !== 'dispatch')
    .filter((letter) => {
      const sender = senderOf(Object(letter.message))
      return sender !== undefined && isFrom(sender, identities)
    })
}

/** Whether an approval was asked for by the person, or for a message of them. */
function isBy({ by, message }: JsonObject, identities: readonly string[]): boolean {
  const sender = pathGet(message ?? null, 'sender')
  return (
    isFrom(sentBy(String(by ?? '')), identities) ||
    (typeof sender === 'string' && isFrom(sentBy(sender), identities))
  )
}

function sentBy(identity: string): Sent {
  const { gateway, name, isExternal } = partsOf(identity)
  return { gateway, from: { id: name, external: isExternal } }
}

function placeOf({ gateway, conversation }: JsonObject): string {
  return `${gateway} ${conversation}`
}

/** Whether a planned message goes to the person: to their address, or into a conversation of that name. */
function isTo({ gateway, to, conversation }: JsonObject, identities: readonly string[]): boolean {
  return [to, conversation].some(
    (name) =>
      typeof name === 'string' && isFrom({ gateway: String(gateway), from: { id: name } }, identities),
  )
}

/** Other senders with the same name: perhaps the same person. */
async function alike(
  daemon: Daemon,
  identities: readonly string[],
  names: readonly string[],
): Promise<Json[]> {
  const found = await Promise.all(names.slice(0, MOST.alike).map((name) => sendersWith(daemon, name)))
  const others = found.flat().filter(({ identity }) => {
    const { gateway, name, isExternal } = partsOf(String(identity))
    return !identities.some((own) => {
      const known = partsOf(own)
      const isHere = known.gateway === gateway || known.gateway === ANY || gateway === ANY
      return isHere && known.isExternal === isExternal && known.name.toLowerCase() === name.toLowerCase()
    })
  })
  return [...new Map(others.map((each) => [String(each.identity), each])).values()].slice(0, MOST.alike)
}
