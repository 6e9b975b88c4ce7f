import { counted } from './counted.ts'

/** The parts of the result of an erasure that the sentence needs. */
type Erased = {
  records?: unknown
  /** The number of records that was confirmed. */
  counted?: unknown
  /** How many more records than counted were erased, by their kind; negative for fewer. */
  since?: unknown
}

/** Kinds of records that an erasure ends before it erases: work in queues. */
const WORK: ReadonlySet<string> = new Set([
  'messages that wait',
  'replies not sent yet',
  'pushes in a queue',
  'other unfinished work',
])

/**
 * Why an erasure erased another number of records than was confirmed; undefined if the numbers are
 * equal. Data changes meanwhile: a push queues an event, or a skill ends.
 */
export function countedBefore({ records, counted: before, since }: Erased): string | undefined {
  if (before === undefined || before === records) return undefined
  const more = Number(records) - Number(before)
  const changes = Object.entries(Object(since)).map(([kind, many]) => ({ kind, many: Number(many) }))
  const known = `${counted(Number(before), 'record')} ${before === 1 ? 'was' : 'were'} counted`
  const many = Math.abs(more).toLocaleString('en')
  const isEnded = changes.length > 0 && changes.every((each) => each.many < 0 && WORK.has(each.kind))
  if (isEnded)
    return `${known}. ${many} of them ${more === -1 ? 'was' : 'were'} work in progress, which the erasure ended first: ${counted(Number(records), 'other')} ${records === 1 ? 'was' : 'were'} left.`
  const kinds = changes.map((each) => `${signed(each.many)} ${each.kind}`)
  const why = kinds.length > 0 ? `: ${kinds.join(', ')}` : ''
  return `${known}; ${many} ${more > 0 ? 'more came' : more === -1 ? 'fewer was left' : 'fewer were left'} until the erasure${why}.`
}

function signed(many: number): string {
  return many > 0 ? `+${many.toLocaleString('en')}` : `−${Math.abs(many).toLocaleString('en')}`
}
