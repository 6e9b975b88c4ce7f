import { counted } from './counted.ts'

/** The parts of the result of an erasure that the sentence needs. */
type Erased = {
  records?: unknown
  /** The number of records that was confirmed. */
  counted?: unknown
  /** How many more records than counted were erased, by their kind; negative for fewer. */
  since?: unknown
}

/**
 * Why an erasure erased another number of records than was confirmed; undefined if the numbers are
 * equal. Data changes meanwhile: a push queues an event, or a skill ends.
 */
export function countedBefore({ records, counted: before, since }: Erased): string | undefined {
  if (before === undefined || before === records) return undefined
  const more = Number(records) - Number(before)
  const kinds = Object.entries(Object(since)).map(([kind, many]) => `${signed(Number(many))} ${kind}`)
  const why = kinds.length > 0 ? `: ${kinds.join(', ')}` : ''
  const many = Math.abs(more).toLocaleString('en')
  return `${counted(Number(before), 'record')} ${before === 1 ? 'was' : 'were'} counted; ${many} ${more > 0 ? 'more came' : more === -1 ? 'fewer was left' : 'fewer were left'} until the erasure${why}.`
}

function signed(many: number): string {
  return many > 0 ? `+${many.toLocaleString('en')}` : `−${Math.abs(many).toLocaleString('en')}`
}
