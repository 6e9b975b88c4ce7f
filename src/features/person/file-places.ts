import type { LogEntry } from '../../core/activity.ts'
import { type Json, toJson } from '../../core/json.ts'
import type { ErasableArtifacts } from './collect.ts'
import { isActivityOf, isCallOf, isLineOf } from './log-lines.ts'
import { shortTitle } from './open-title.ts'
import { definePlace, type OpenItem, type Place, type Subject } from './place.ts'

/** A line-based log in a data directory. */
export type Lines = {
  entries(): AsyncIterable<LogEntry>
  /** Rewrites the files with only the lines that `isKept` accepts. */
  filter(isKept: (entry: LogEntry) => boolean): Promise<void>
}

/** Recognises what is about a person. */
type AboutPerson = {
  /** Whether a record is theirs. `names`: its values that may name them, such as the owner. */
  isTheirs(record: Json, names: readonly string[]): boolean
  /** The parts of a value that are about them. */
  partsOf(value: Json): Json[]
  /** The value without what `partsOf` returns; undefined if nothing remains. */
  without(value: Json): Json | undefined
}

/** `kind`: `notes`, `schedules`, `delegated work` and others. */
type MemoryRecord = { kind: string; record: Json }

/** The assistant's memory: its document, or the copy of it in a data directory. */
export type AssistantMemory = {
  find(about: AboutPerson): Promise<MemoryRecord[]>
  erase(about: AboutPerson): Promise<void>
  /** Finds the parts of earlier versions that are about the person. */
  findInHistory(about: Pick<AboutPerson, 'partsOf'>): Promise<Json[]>
  /** Removes all earlier versions. */
  eraseHistory(): Promise<void>
}

/** The full-text index of the transcript. */
export type SearchIndex = {
  /** The number of indexed lines of a person. */
  count(
    isTheirs: (line: Record<'channel' | 'conversation' | 'message' | 'sender', string>) => boolean,
  ): Promise<number>
  /** Removes the index; it is rebuilt from the transcript. */
  remove(): Promise<void>
}

/** Number of lines that are exported at a time. */
const BATCH = 500

/** The places in the data directory of each daemon. */
export function createFilePlaces(deps: {
  logs: Record<'messages' | 'events' | 'calls', Lines>
  index: SearchIndex
  artifacts: ErasableArtifacts
  memory: AssistantMemory
  /** The copy in the data directory, if the document is in the store. */
  copy?: AssistantMemory | undefined
}): Place[] {
  const { logs, memory, copy } = deps
  return [
    ...memoryPlaces('assistant', copy ? 'store' : 'data dir', memory),
    ...(copy ? memoryPlaces('copy of the assistant', 'data dir', copy, true) : []),
    indexPlace(deps.index),
    // The index also has lines that it cannot tell to be theirs, such as notifications.
    linesPlace('transcript', logs.messages, isLineOf, deps.index.remove),
    linesPlace('activity', logs.events, isActivityOf),
    linesPlace('calls', logs.calls, isCallOf),
    filesPlace(deps.artifacts),
  ]
}

/** The lines of a log. `erased` is called after some were removed. */
function linesPlace(
  name: string,
  lines: Lines,
  isTheirs: (entry: LogEntry, subject: Subject) => boolean,
  erased: () => Promise<void> = async () => {},
): Place {
  return definePlace<LogEntry>({
    name,
    where: 'data dir',
    async *find(subject) {
      let batch: LogEntry[] = []
      for await (const entry of lines.entries()) {
        if (isTheirs(entry, subject)) batch.push(entry)
        if (batch.length < BATCH) continue
        yield batch
        batch = []
      }
      yield batch
    },
    record: (entry) => toJson(entry),
    async erase(_, subject) {
      await lines.filter((entry) => !isTheirs(entry, subject))
      await erased()
    },
  })
}

/** Two places: the document, and its history, which may have what the document no longer has. */
function memoryPlaces(name: string, where: Place['where'], memory: AssistantMemory, isCopy = false): Place[] {
  const aboutPerson = ({ about }: Subject): AboutPerson => ({
    isTheirs: (record, names) => about.refersTo(record) || names.some((name) => about.isInKey(name)),
    partsOf: about.partsAbout,
    without: about.without,
  })
  return [
    definePlace<MemoryRecord>({
      name,
      where,
      async *find(subject) {
        yield await memory.find(aboutPerson(subject))
      },
      record: ({ record }) => record,
      kindOf: ({ kind }) => kind,
      ...(!isCopy && { openIn: openInMemory }),
      erase: (_, subject) => memory.erase(aboutPerson(subject)),
    }),
    definePlace<Json>({
      name: `history of the ${name}`,
      where,
      async *find(subject) {
        yield await memory.findInHistory(aboutPerson(subject))
      },
      record: (part) => part,
      erase: () => memory.eraseHistory(),
    }),
  ]
}

/** The person's schedules and delegations that are still open. */
function openInMemory({ kind, record }: MemoryRecord): OpenItem[] {
  const { id, task, status, say, skill, name } = Object(record)
  const item = (open: OpenItem['kind'], title: unknown) => [
    { kind: open, id: String(id), title: shortTitle(String(title ?? '')) },
  ]
  if (kind === 'schedules') return item('schedules', name ?? say ?? skill ?? id)
  const isOpen = kind === 'delegated work' && (status === 'queued' || status === 'working')
  return isOpen ? item('delegated work', task) : []
}

/** The search index. The next search builds it again from the transcript. */
function indexPlace(index: SearchIndex): Place {
  return definePlace<number>({
    name: 'search index',
    where: 'data dir',
    async *find({ about, person }) {
      const count = await index.count(
        ({ channel, conversation, message, sender }) =>
          person.messages.has(message) ||
          person.conversations.has(`${channel}/${conversation}`) ||
          (sender !== '' && about.isOn(channel, sender)),
      )
      yield count > 0 ? [count] : []
    },
    record: (lines) => ({ lines }),
    erase: () => index.remove(),
  })
}

/** The files that belong to the person. */
function filesPlace(artifacts: ErasableArtifacts): Place {
  return definePlace<string>({
    name: 'files',
    where: 'data dir',
    async *find({ person }) {
      const found = [...person.files].map(async (sha256) => ((await artifacts.has(sha256)) ? [sha256] : []))
      yield (await Promise.all(found)).flat()
    },
    async record(sha256, { withFiles }) {
      if (!withFiles) return { sha256 }
      const bytes = Buffer.concat(await (await artifacts.open(sha256)).toArray())
      return { sha256, size: bytes.length, base64: bytes.toString('base64') }
    },
    async erase(found) {
      for (const sha256 of found) await artifacts.remove(sha256)
    },
  })
}
