import type { Note, Search } from '../../core/assistant-services.ts'
import type { Logs } from '../logs/logs.ts'

type Found = Search['results'][number]
type Text = Omit<Found, 'score'>

/** Messages that a search looks through: the newest. */
const SEARCHED = 50_000

/**
 * The best matches among notes and the newest messages, newest first where they are equally good. Each word of the
 * query has to be there, as the beginning of a word; case and accents do not matter.
 */
export async function searchTexts(
  query: string,
  from: { notes: readonly Note[]; logs: Pick<Logs, 'newestMessages'> },
  { channel, limit }: { channel: string | undefined; limit: number },
): Promise<Found[]> {
  const words = wordsOf(query)
  if (words.length === 0) return []
  let best: Found[] = []
  let searched = 0
  const consider = (text: Text) => {
    if (channel !== undefined && text.channel !== channel) return
    const score = scoreOf(text.text, words)
    if (score === 0) return
    best.push({ ...text, score })
    if (best.length > limit * 10) best = ranked(best, limit)
  }
  for await (const { time, role, content, channel: where } of from.logs.newestMessages()) {
    searched += 1
    if (searched > SEARCHED) break
    const ref = `${time} ${String(role)}`
    consider({ source: 'message', ref, text: String(content), channel: String(where) })
  }
  for (const { id, text, channel: where } of from.notes) {
    consider({ source: 'note', ref: id, text, channel: where })
  }
  return ranked(best, limit)
}

function ranked(found: Found[], limit: number): Found[] {
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
