/** Words for the outcomes of retried messages that are not those of other messages. */
const WORDS: Readonly<Record<string, string>> = {
  dead: 'failed again',
  // It is not a dead letter, and its outcome is no longer stored.
  retried: 'ended',
  erased: 'erased since',
}

/** The word for the outcome of `many` retried messages: the same in the console and on the command line. */
export function retriedWord(outcome: string, many = 1): string {
  if (outcome === 'withdrawn') return many === 1 ? 'dead letter again' : 'dead letters again'
  return WORDS[outcome] ?? outcome
}
