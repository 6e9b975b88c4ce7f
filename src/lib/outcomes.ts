/**
 * Outcome of dispatch and of the reply. `retrying`: an attempt failed, another follows. `approval`:
 * waits for a decision. `dropped`: was a dead letter and was dropped. `unrouted`: no route matched.
 * `merged`: handled in the call of another message, or superseded. `replying`: dispatch is done,
 * but a reply could not be sent yet and is tried again. `undelivered`: the last reply failed
 * permanently, also after its dead letter was dropped. `bounced`: the reply bounced. `suppressed`:
 * the reply was not sent (automatic mail, too old, …).
 */
export const OUTCOMES = [
  'waiting',
  'running',
  'retrying',
  'approval',
  'replying',
  'done',
  'dead',
  'dropped',
  'merged',
  'unrouted',
  'undelivered',
  'bounced',
  'suppressed',
] as const

type Outcome = (typeof OUTCOMES)[number]

/** The word of filters for all outcomes that failed permanently. */
const FAILED_WORD = 'failed'
export const FAILED = ['dead', 'undelivered'] as const satisfies (typeof OUTCOMES)[number][]

/** The words that a filter takes. */
export const OUTCOME_FILTERS: readonly string[] = [FAILED_WORD, ...OUTCOMES]

/** The names of outcomes that a word of a filter means. */
export function outcomesNamed(word: string): readonly string[] {
  return word === FAILED_WORD ? FAILED : [word]
}

/** Outcomes that still change by themselves. */
export const IN_PROGRESS = [
  'waiting',
  'running',
  'retrying',
  'replying',
] as const satisfies (typeof OUTCOMES)[number][]

/**
 * Outcomes after which only a person answers. With another one, the conversation waits for an
 * approval, a retry or a pause, or has a dead letter.
 */
const FOR_A_PERSON: ReadonlySet<unknown> = new Set<Outcome>(['done', 'unrouted'])

/** Whether somebody waits, only a person can answer, and nobody has taken over. */
export function isForPerson({ outcome, heldBy }: Readonly<{ outcome?: unknown; heldBy?: unknown }>): boolean {
  return !heldBy && FOR_A_PERSON.has(outcome)
}

/** Outcomes that can still change: those, and those that wait for a person. */
export const UNFINISHED = [
  ...IN_PROGRESS,
  'approval',
  'dead',
  'undelivered',
] as const satisfies (typeof OUTCOMES)[number][]

/** Whether some counted outcomes still change by themselves. */
export function isInProgress(counts: object = {}): boolean {
  const known: ReadonlyMap<string, unknown> = new Map(Object.entries(counts))
  return IN_PROGRESS.some((outcome) => Number(known.get(outcome) ?? 0) > 0)
}
