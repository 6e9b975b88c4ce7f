import type { Readable } from 'node:stream'
import type { LogEntry } from '../../core/activity.ts'
import { pathGet } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import type { Store } from '../../core/store.ts'
import { ANY_GATEWAY, conversationKey, type Identities, namesIn, type Person } from './person.ts'

/** The files of messages, by their SHA-256. */
export type ErasableArtifacts = {
  has(sha256: string): Promise<boolean>
  open(sha256: string): Promise<Readable>
  remove(sha256: string): Promise<void>
}

const PAGE_SIZE = 500

/**
 * The person's identities per gateway, the conversations that only they took part in, and all
 * conversations in which they wrote.
 */
export type Scopes = { identities: string[]; conversations: string[]; wroteIn: string[] }

/** Whose data is collected: that of a person, and of some `messages` (ids) of others. */
export type Wanted = { identities: readonly string[]; messages?: readonly string[] }

/** What was found so far. `neighbours`: see `createExclusion`. */
type Found = Record<'messages' | 'conversations' | 'neighbours' | 'files' | 'identities', Set<string>>

type Sources = {
  store: Pick<Store, 'journal' | 'jobs'>
  transcript(): AsyncIterable<LogEntry>
  /** The hashes of files that were made for the person, or from their data, such as exports. */
  derivedFiles(scopes: Scopes): Promise<readonly string[]>
  signal?: AbortSignal | undefined
}

/**
 * Finds the messages of a person, and those of their conversations and files that belong to nobody
 * else. The given `messages` of others count as the person's, but their senders do not.
 */
export async function collectPerson(
  { identities, messages = [] }: Wanted,
  who: Identities,
  deps: Sources,
): Promise<Person> {
  const { store, signal } = deps
  const found: Found = {
    messages: new Set(messages),
    conversations: new Set(),
    neighbours: new Set(),
    files: new Set(),
    identities: new Set(identities),
  }
  for (const { gateway, name } of who.wanted) {
    const gateways = gateway === ANY_GATEWAY ? undefined : [gateway]
    for await (const page of pagesOf(store.journal, { gateways, sender: name }, signal))
      for (const message of page) if (who.isSender(message)) addMessage(found, message)
  }
  for (const id of messages) {
    const message = await store.journal.get(id)
    if (message) addContent(found, message)
  }
  for await (const message of deadLetterMessages(store.jobs)) {
    if (who.isSender(message)) addMessage(found, message)
    else if (found.messages.has(message.id)) addContent(found, message)
  }
  for await (const entry of deps.transcript()) addLine(found, entry, who)
  const wroteIn = [...found.conversations]
  await excludeShared(found, who, deps)
  const scopes = { identities: [...found.identities], conversations: [...found.conversations], wroteIn }
  for (const sha256 of await deps.derivedFiles(scopes)) found.files.add(sha256)
  return { ...found, identities }
}

function addMessage(found: Found, message: Message): void {
  const { gateway, from } = message
  found.messages.add(message.id)
  addContent(found, message)
  found.identities.add(`${gateway}:${from.external ? 'external:' : ''}${from.address ?? from.id}`)
}

/** Adds the conversation and the files of a message. */
function addContent(found: Found, message: Message): void {
  found.conversations.add(conversationKey(message))
  for (const sha256 of filesOf(message)) found.files.add(sha256)
}

/** Adds a message that only the transcript still has, because retention removed it. */
function addLine(found: Found, { channel, role, meta }: LogEntry, who: Identities): void {
  const text = (path: string) => String(pathGet(meta, path) ?? '')
  if (role !== 'user') return
  if (!who.isOn(String(channel), text('from')) && !found.messages.has(text('messageId'))) return
  if (text('messageId') !== '') found.messages.add(text('messageId'))
  if (text('conversation') !== '') found.conversations.add(`${channel}/${text('conversation')}`)
}

/** Excludes conversations in which others wrote, and files that others sent. */
async function excludeShared(
  found: Found,
  who: Identities,
  { store, transcript, signal }: Sources,
): Promise<void> {
  if (found.conversations.size + found.files.size === 0) return
  const excludeConversation = createExclusion(found)
  const exclude = (message: Message) => {
    if (found.messages.has(message.id)) return
    excludeConversation(conversationKey(message))
    for (const sha256 of filesOf(message)) found.files.delete(sha256)
  }
  for await (const page of pagesOf(store.journal, {}, signal)) page.forEach(exclude)
  for await (const message of deadLetterMessages(store.jobs)) exclude(message)
  for await (const { channel, role, meta } of transcript()) {
    const from = String(pathGet(meta, 'from') ?? '')
    if (role !== 'user' || found.messages.has(String(pathGet(meta, 'messageId') ?? ''))) continue
    if (!who.isOn(String(channel), from)) excludeConversation(`${channel}/${pathGet(meta, 'conversation')}`)
  }
}

/**
 * Makes the function that excludes a conversation of others. If its name contains the name of a
 * conversation of the person, it becomes one of the `neighbours`.
 */
function createExclusion({ conversations, neighbours }: Found) {
  const theirs = new Set(conversations)
  let last = ''
  return (key: string): void => {
    // Messages of one conversation often follow each other.
    if (key === last) return
    last = key
    conversations.delete(key)
    if (namesIn(key).some((name) => name !== key && theirs.has(name))) neighbours.add(key)
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
    const { found, next } = await journal.search({ ...query, before, limit: PAGE_SIZE })
    yield found.map(({ message }) => message)
    before = next
  } while (before !== undefined)
}

/** The messages in dead letters, which may be gone from the journal. */
async function* deadLetterMessages({ deadLetters }: Store['jobs']): AsyncGenerator<Message> {
  let before: { at: number; id: string } | undefined
  for (;;) {
    const { items } = await deadLetters.list({ before, limit: PAGE_SIZE })
    before = items.at(-1)
    if (!before) return
    for (const { message, collected = [] } of items) {
      yield* collected
      if (message) yield message
    }
  }
}

const HASH = /[0-9a-f]{64}/

/** The files of a message. For mail, long texts and HTML are files too. */
function filesOf({ transport, attachments, data }: Message): string[] {
  const paths = transport === 'email' ? [data.textPath, data.fullTextPath, data.htmlPath] : []
  return [
    ...attachments.map(({ sha256 }) => sha256),
    ...paths.flatMap((path) => HASH.exec(String(path ?? ''))?.[0] ?? []),
  ]
}
