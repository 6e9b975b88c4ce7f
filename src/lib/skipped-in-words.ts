type Cost = {
  toSkip?: number | undefined
  /** Whether there are more than `toSkip`. */
  isMore?: boolean | undefined
  nextSkipped?: number | undefined
  nextRun?: number | undefined
}

/**
 * What a pause costs a schedule, as sentences. `toSkip` is absent for a pause without an end.
 * `format`: how a time (Unix ms) is written.
 */
export function skippedInWords(
  { toSkip, isMore, nextSkipped, nextRun }: Cost,
  format: (at: number) => string,
): string {
  if (toSkip === undefined)
    return nextSkipped === undefined
      ? 'It has no further planned time.'
      : `Planned times are skipped until it is resumed, the first at ${format(nextSkipped)}.`
  const next = nextRun === undefined ? 'There is no run after it.' : `The next run is at ${format(nextRun)}.`
  if (toSkip === 0) return `No planned time is skipped. ${next}`
  const first = nextSkipped === undefined ? '' : format(nextSkipped)
  const times = `${isMore ? 'At least ' : ''}${toSkip.toLocaleString('en')} planned times are skipped, the first at ${first}.`
  return `${toSkip === 1 && !isMore ? `The planned time ${first} is skipped.` : times} ${next}`
}
