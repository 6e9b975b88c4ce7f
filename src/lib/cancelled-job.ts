/** The parts of a cancelled job that the words need. */
type Job = { withdrawing?: unknown; outcomes?: object | undefined; result?: unknown }

/**
 * What became of what a cancelled job had queued: `12 delivered, 257 withdrawn, 2 were being
 * sent`. Undefined if it is not known, or nothing was queued.
 */
export function cancelledText({ withdrawing, outcomes = {}, result }: Job): string | undefined {
  const part: ReadonlyMap<string, unknown> = new Map(Object.entries({ ...Object(result), ...outcomes }))
  const of = (name: string) => Number(part.get(name) ?? 0)
  if (withdrawing === true) return 'what it queued is still being withdrawn'
  if (!part.has('withdrawn')) return undefined
  return [
    part.has('delivered') && `${of('delivered')} delivered`,
    `${of('withdrawn')} withdrawn`,
    of('interrupted') > 0 && `${of('interrupted')} ${of('interrupted') === 1 ? 'was' : 'were'} being sent`,
    of('dead') > 0 && `${of('dead')} dead`,
  ]
    .filter(Boolean)
    .join(', ')
}
