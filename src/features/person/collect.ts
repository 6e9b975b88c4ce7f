import type { Readable } from 'node:stream'
import type { LogEntry } from '../../core/activity.ts'
import { pathGet } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import type { Store } from '../../core/store.ts'
import { type Identities, type Person, placeOf } from './person.ts'

/** The files of messages, by their SHA-256. */
export type ErasableArtifacts = {
  has(sha256: string): Promise<boolean>
  open(sha256: string): Promise<Readable>
  remove(sha256: string): Promise<void>
}

const PAGE = 500

/**
 * The person's identities per gateway, the conversations that only they took part in, and all
 * conversations in which they wrote.
 */
export type Scopes = { identities: string[]; conversations: string[]; wroteIn: string[] }

type Found = Record<'messages' | 'conversations' | 'files' | 'identities', Set<string>>

/** Finds the messages of a person, and which of their conversations and files belong to nobody else. */
export async function collectPerson(
  identities: readonly string[],
  who: Identities,
  deps: {
    store: Pick<Store, 'journal' | 'jobs'>
    transcript(): AsyncIterable<LogEntry>
    /** Files made from the person's data, such as exports. */
    made(of: Scopes): Promise<readonly string[]>
    signal?: AbortSignal | undefined
  },
): Promise<Person> {
  const { store, signal } = deps
  const found: Found = {
    ...{ messages: new Set(), conversations: new Set(), files: new Set() },
    identities: new Set(identities),
  }
  for (const { gateway, name } of who.wanted) {
    const gateways = gateway === '*' ? undefined : [gateway]
    for await (const page of pagesOf(store.journal, { gateways, sender: name }, signal))
      for (const message of page) if (who.isSender(message)) take(found, message)
  }
  for await (const message of buried(store.jobs)) if (who.isSender(message)) take(found, message)
  for await (const entry of deps.transcript()) takeLine(found, entry, who)
  const wroteIn = [...found.conversations]
  await leaveOthers(found, who, deps)
  const scopes = { identities: [...found.identities], conversations: [...found.conversations], wroteIn }
  for (const sha256 of await deps.made(scopes)) found.files.add(sha256)
  return { ...found, identities }
}

function take(found: Found, message: Message): void {
  const { gateway, from } = message
  found.messages.add(message.id)
  found.identities.add(`${gateway}:${from.external ? 'external:' : ''}${from.address ?? from.id}`)
  found.conversations.add(placeOf(message))
  for (const sha256 of filesOf(message)) found.files.add(sha256)
}

/** The transcript also covers messages that retention has removed. */
function takeLine(found: Found, { channel, role, meta }: LogEntry, who: Identities): void {
  const text = (path: string) => String(pathGet(meta, path) ?? '')
  if (role !== 'user' || !who.isOn(String(channel), text('from'))) return
  if (text('messageId') !== '') found.messages.add(text('messageId'))
  if (text('conversation') !== '') found.conversations.add(`${channel}/${text('conversation')}`)
}

/** Excludes conversations in which others wrote, and files that others sent. */
async function leaveOthers(
  found: Found,
  who: Identities,
  { store, transcript, signal }: Parameters<typeof collectPerson>[2],
): Promise<void> {
  if (found.conversations.size + found.files.size === 0) return
  const leave = (message: Message) => {
    if (found.messages.has(message.id)) return
    found.conversations.delete(placeOf(message))
    for (const sha256 of filesOf(message)) found.files.delete(sha256)
  }
  for await (const page of pagesOf(store.journal, {}, signal)) page.forEach(leave)
  for await (const message of buried(store.jobs)) leave(message)
  for await (const { channel, role, meta } of transcript()) {
    const from = String(pathGet(meta, 'from') ?? '')
    if (role === 'user' && !who.isOn(String(channel), from))
      found.conversations.delete(`${channel}/${pathGet(meta, 'conversation')}`)
  }
}

type Query = { gateways?: readonly string[] | undefined; sender?: string }

async function* pagesOf(
  journal: Store['journal'],
  query: Query,
  signal?: AbortSignal,
): AsyncGenerator<Message[]> {
  let before: string | undefined
  do {
    signal?.throwIfAborted()
    const { found, next } = await journal.search({ ...query, before, limit: PAGE })
    yield found.map(({ message }) => message)
    before = next
  } while (before !== undefined)
}

/** The messages in dead letters, which may be gone from the journal. */
async function* buried({ deadLetters }: Store['jobs']): AsyncGenerator<Message> {
  let before: { at: number; id: string } | undefined
  for (;;) {
    const { items } = await deadLetters.list({ before, limit: PAGE })
    before = items.at(-1)
    if (!before) return
    for (const { message, collected = [] } of items) yield* [...collected, ...(message ? [message] : [])]
  }
}

const HASH = /[0-9a-f]{64}/

/** For mail, long texts and HTML are files too. */
function filesOf({ transport, attachments, data }: Message): string[] {
  const paths = transport === 'email' ? [data.textPath, data.fullTextPath, data.htmlPath] : []
  return [
    ...attachments.map(({ sha256 }) => sha256),
    ...paths.flatMap((path) => HASH.exec(String(path ?? ''))?.[0] ?? []),
  ]
}
