import type { Note, Search } from '../../core/assistant-services.ts'
import type { LogEntry } from '../logs/log-reader.ts'
import type { Logs } from '../logs/logs.ts'

type Found = Search['results'][number]

/** Messages that a search looks through: the newest. */
const SEARCHED = 50_000
/** Characters that are kept of each thing found. */
const SHOWN = 500

/** The part of the transcript that is searched, newest first. */
export async function* recentLines(logs: Pick<Logs, 'newestMessages'>): AsyncGenerator<LogEntry> {
  let read = 0
  for await (const line of logs.newestMessages()) {
    if (++read > SEARCHED) return
    yield line
  }
}

/** The best matches, newest first where they are equal. Words match by their beginning, without case and accents. */
export async function searchTexts(
  query: string,
  from: { notes: readonly Note[]; lines: AsyncIterable<LogEntry>; isSeen(line: LogEntry): boolean },
  { channel, limit }: { channel: string | undefined; limit: number },
): Promise<Found[]> {
  const words = wordsOf(query)
  if (words.length === 0) return []
  const found: Found[] = []
  const consider = ({ text, ...of }: Omit<Found, 'score'>) => {
    if (channel !== undefined && of.channel !== channel) return
    const score = scoreOf(text, words)
    const shown = text.length <= SHOWN ? text : `${text.slice(0, SHOWN - 1)}…`
    if (score > 0) found.push({ ...of, text: shown, score })
  }
  for await (const line of from.lines) {
    if (!from.isSeen(line)) continue
    const ref = `${line.time} ${String(line.role)}`
    consider({ source: 'message', ref, text: String(line.content), channel: String(line.channel) })
  }
  for (const { id, text, channel: where } of from.notes) {
    consider({ source: 'note', ref: id, text, channel: where })
  }
  return found.sort((a, b) => b.score - a.score).slice(0, limit)
}

/** 0: a word is missing. More for words that come often, and for short texts. */
function scoreOf(text: string, wanted: readonly string[]): number {
  const words = wordsOf(text)
  const counts = wanted.map((start) => words.filter((word) => word.startsWith(start)).length)
  if (counts.includes(0)) return 0
  const sum = counts.reduce((total, count) => total + count, 0)
  return Number((sum / Math.sqrt(words.length)).toPrecision(6))
}

function wordsOf(text: string): string[] {
  const plain = text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return plain.match(/[\p{L}\p{N}_]+/gu) ?? []
}
