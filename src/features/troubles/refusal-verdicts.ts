import { FAILING_IN_A_ROW, type GatewayChange, type RefusalCount } from '../../engine/refusal-tally.ts'

/** The likely cause of refusals. */
export type RefusalCause =
  | 'rotated-secret'
  | 'wrong-secret'
  | 'clock-skew'
  | 'unsigned'
  | 'recovered'
  | 'changed'
  | 'failed-change'
  | 'stranger'
  | 'too-fast'
  | 'too-large'
  | 'bad-content'
  | 'mistyped-address'
  | 'other'

/**
 * The refusals of one gateway for one reason, with a verdict. `share`: 0 to 1, of the refused
 * deliveries and accepted messages since they began.
 */
export type RefusalVerdict = RefusalCount & {
  share: number
  cause: RefusalCause
  /** The last refusal, if deliveries are accepted again since, or the gateway was changed. */
  endedAt?: number
  /** The cause in words. */
  likely: string
  todo: string
}

/** Share of refused deliveries (0 to 1) from which on a gateway counts as failing. */
const FAILING_SHARE = 0.5
/** Fewer refused deliveries in a row, after accepted ones, are no outage. */
const OUTAGE_FROM = 3

const LIKELY: Record<RefusalCause, { likely: string; todo: string }> = {
  'rotated-secret': {
    likely: 'Earlier deliveries were accepted: the sender probably has a new secret.',
    todo: 'Compare the secret of the sender with `verify` of the gateway, which can list both the old and the new one.',
  },
  'wrong-secret': {
    likely: 'No delivery was ever accepted: the secret here probably differs from that of the sender.',
    todo: 'Copy the secret from the sender into `verify` of the gateway.',
  },
  'clock-skew': {
    likely:
      'The signed time differs too much from the local time: a clock is wrong, or deliveries are replayed.',
    todo: 'Check the clock of this machine (`timedatectl`), then that of the sender.',
  },
  unsigned: {
    likely: 'The requests have no signature: the sender does not sign, or they come from someone else.',
    todo: 'Set the secret at the sender; `trivium refusal list` shows where the requests come from.',
  },
  recovered: {
    likely: 'The secret fits again, or someone else sent the refused ones.',
    todo: 'Let the sender repeat the refused deliveries.',
  },
  changed: {
    likely: 'The gateway was changed after the last refusal, and has accepted nothing since.',
    todo: 'The next delivery shows whether it is accepted: let the sender repeat a refused one.',
  },
  'failed-change': {
    likely: 'Nothing was accepted since the gateway was changed: the change is probably wrong.',
    todo: 'Compare the secret that was set last with that of the sender.',
  },
  stranger: {
    likely:
      'Other deliveries are accepted: this is probably a stranger, or a second sender with another secret.',
    todo: 'Block that address, or give the sender its secret; `trivium refusal list` shows where they come from.',
  },
  'too-fast': {
    likely: 'There are more deliveries than the limits of the gateway or the store allow.',
    todo: 'Raise `rate-limit` of the gateway, or find out why the sender sends so many.',
  },
  'too-large': {
    likely: 'The bodies are larger than the gateway accepts.',
    todo: 'Raise `max-body` of the gateway (at most 25mb), or let the sender send less in one delivery.',
  },
  'bad-content': {
    likely: 'The deliveries are authentic, but their content cannot be used.',
    todo: 'Adjust the options of the gateway; `trivium refusal list` shows the content.',
  },
  'mistyped-address': {
    likely: 'No gateway runs at this path: the sender has a wrong URL, the gateway is off, or it is a scan.',
    todo: 'Compare the URL at the sender with `path` of the gateway; `trivium status` shows the gateways that do not run.',
  },
  other: {
    likely: 'The gateway does not accept the deliveries.',
    todo: '`trivium refusal list` shows the refused deliveries and the reasons.',
  },
}

const TOO_FAST = new Set(['rate_limited', 'overloaded'])
const OF_SECRETS = new Set(['signature_invalid', 'unauthorized'])
const BAD_CONTENT = new Set(['bad_request', 'incomplete', 'unfetchable', 'attachment_too_large'])

/** The deliveries of an episode: until its end, if it is over. */
export function deliveriesIn({ total, acceptedAfter, endedAt }: RefusalVerdict): number {
  return total.refused + total.accepted - (endedAt === undefined ? 0 : acceptedAfter)
}

/** Computes the share of refusals (see `RefusalVerdict`), and their likely cause. */
export function verdictOf(count: RefusalCount): RefusalVerdict {
  const share = count.count / (count.count + count.accepted)
  const cause = causeOf(count, share)
  const ended = cause === 'recovered' || cause === 'changed' ? { endedAt: count.last } : {}
  return {
    ...count,
    share,
    cause,
    ...ended,
    ...LIKELY[cause],
    ...repeatText(count, cause),
    ...keptText(count, cause),
  }
}

/** How many deliveries the sender has to repeat after a repair. */
function repeatText(count: RefusalCount, cause: RefusalCause): { todo?: string } {
  if (cause !== 'recovered') return {}
  return {
    todo: `${repeat(count)} If the refusals go on, \`trivium refusal list\` shows where they come from.`,
  }
}

/**
 * Names the deliveries to repeat: those of this episode, and of the episodes before it that cannot
 * have been repeated yet, because fewer deliveries were accepted since.
 */
function repeat({ total, earlier }: RefusalCount): string {
  const before = earlier.toReversed().reduce((open, { refused, acceptedAfter }) => {
    return acceptedAfter >= open + refused ? 0 : open + refused
  }, 0)
  const many = before + total.refused
  const deliveries = many === 1 ? 'the refused delivery' : `the ${many} refused deliveries`
  return `Let the sender repeat ${deliveries}.`
}

/** What the new configuration of a changed gateway does with the kept deliveries. */
function keptText(count: RefusalCount, cause: RefusalCause): { likely?: string; todo?: string } {
  const kept = count.changed?.kept
  if (!kept) return {}
  const { fits, tried } = kept
  if (cause === 'failed-change') {
    const what = `would refuse ${allKept(tried)} again`
    return { likely: `The gateway was changed, but ${what}: the change is probably wrong.` }
  }
  const isProven = cause === 'recovered' && fits > 0
  if (isProven && fits === tried) return { likely: `The secret fits again, and it fits ${allKept(tried)}.` }
  if (cause !== 'changed') return {}
  const some = fits === 0 ? `none of the ${tried}` : `${fits} of the ${tried}`
  const share = fits === tried ? allKept(tried) : `${some} refused deliveries that are kept`
  const likely = `The new configuration would accept ${share}; nothing was accepted with it yet.`
  return fits === 0 ? { likely } : { likely, todo: repeat(count) }
}

function allKept(count: number): string {
  return count === 1 ? 'the refused delivery that is kept' : `all ${count} refused deliveries that are kept`
}

/** The change before the refusals, if nothing was accepted between it and the last refusal. */
export function failedChangeOf(count: RefusalCount): GatewayChange | undefined {
  const { changedBefore, total, acceptedAfter } = count
  return changedBefore?.accepted === 0 && total.accepted === acceptedAfter ? changedBefore : undefined
}

function causeOf(count: RefusalCount, share: number): RefusalCause {
  const { reason, why, sinceGood, inARow, lastGoodAt, changed } = count
  if (reason === 'not_found') return 'mistyped-address'
  if (changed?.accepted === 0) {
    // Only the kept deliveries say something about the new configuration.
    const isWrong = changed.kept?.fits === 0 && OF_SECRETS.has(reason)
    const wereRefused = count.acceptedAfter === 0 && share === 1
    return isWrong && (wereRefused || changed.keptBefore) ? 'failed-change' : 'changed'
  }
  if (reason === 'body_too_large') return 'too-large'
  if (TOO_FAST.has(reason)) return 'too-fast'
  if (BAD_CONTENT.has(reason)) return 'bad-content'
  if (!OF_SECRETS.has(reason)) return 'other'
  // The texts of the signature check, most frequent first.
  const details = why[0]?.name ?? ''
  if (/compare the clocks/.test(details)) return 'clock-skew'
  const isUnsigned = /\b(is|are) missing\b|has no signature/.test(details)
  if (lastGoodAt === undefined && isUnsigned) return 'unsigned'
  if (isUnsigned) return 'stranger'
  if (failedChangeOf(count)) return sinceGood > 0 ? 'failed-change' : 'recovered'
  if (lastGoodAt === undefined) return 'wrong-secret'
  if (inARow < OUTAGE_FROM) return 'stranger'
  // The share falls with each accepted delivery; the refusals in a row tell what it was before.
  if (share < FAILING_SHARE && inARow < FAILING_IN_A_ROW) return 'stranger'
  return sinceGood > 0 ? 'rotated-secret' : 'recovered'
}
