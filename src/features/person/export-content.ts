import { createHash } from 'node:crypto'
import type { Json } from '../../core/json.ts'
import type { Place, Subject } from './place.ts'
import { createReadablePage } from './readable-page.ts'

/** `jsonl`: one JSON object per line, complete. `html`: a page that people can read. */
export type ExportFormat = 'jsonl' | 'html'

type Exported = {
  places: readonly Place[]
  subject: Subject
  identities: readonly string[]
  /** Unix ms. */
  at: number
  /** The number of records per place, which the export fills in. */
  counts: Record<string, number>
  signal: AbortSignal
}

/** The content of an export, in parts. */
export function exportContent(format: ExportFormat, exported: Exported): AsyncGenerator<string> {
  return format === 'html' ? pageOf(exported) : linesOf(exported)
}

/** The name of its file: with the person, as two people may be exported on one day. */
export function exportName(
  format: ExportFormat,
  { identities, at }: Pick<Exported, 'identities' | 'at'>,
): string {
  const [identity = ''] = identities
  const who = identity
    .replace(/^\*:/, '')
    .replace(/[^\p{L}\p{N}.@+_-]+/gu, '-')
    .slice(0, LONGEST_NAME)
  return `person-${who}-${new Date(at).toISOString().slice(0, 10)}.${format}`
}

/** Maximum characters of an identity in the name of a file. */
const LONGEST_NAME = 60

type Found = { place: string; record: Json }

/** All records, and counts them. */
async function* recordsOf({ places, subject, counts, signal }: Exported): AsyncGenerator<Found> {
  for (const { name, records } of places) {
    let count = 0
    for await (const record of records(subject)) {
      signal.throwIfAborted()
      count++
      yield { place: name, record }
    }
    counts[name] = count
  }
}

/**
 * The first line describes the file. The last has the counts per place and the hash of all others;
 * without it, the file is incomplete.
 */
async function* linesOf(exported: Exported): AsyncGenerator<string> {
  const { at, identities, counts } = exported
  const hash = createHash('sha256')
  const line = (value: object) => {
    const text = `${JSON.stringify(value)}\n`
    hash.update(text)
    return text
  }
  yield line({ place: 'export', at: new Date(at).toISOString(), identities })
  for await (const found of recordsOf(exported)) yield line(found)
  yield `${JSON.stringify({ place: 'end', counts, sha256: hash.digest('hex') })}\n`
}

async function* pageOf(exported: Exported): AsyncGenerator<string> {
  const page = createReadablePage(exported)
  // The content of files is only in the JSON lines.
  const subject = { ...exported.subject, withFiles: false }
  for await (const { place, record } of recordsOf({ ...exported, subject })) page.add(place, record)
  yield* page.page()
}
