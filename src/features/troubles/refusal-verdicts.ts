import type { RefusalCount } from '../../engine/refusal-tally.ts'

/** Why a gateway most likely refuses. */
export type RefusalCause =
  | 'rotated-secret'
  | 'wrong-secret'
  | 'clock-skew'
  | 'unsigned'
  | 'stranger'
  | 'too-fast'
  | 'bad-content'
  | 'mistyped-address'
  | 'other'

/** The refusals of one gateway for one reason, judged. `share`: 0 to 1, of the deliveries since they began. */
export type RefusalVerdict = RefusalCount & {
  share: number
  cause: RefusalCause
  /** The cause in words. */
  likely: string
  todo: string
}

/** Below this share (0 to 1) the gateway works, and some others are refused; unless so many in a row were refused. */
const MOST = 0.5
const IN_A_ROW = 10

const LIKELY: Record<RefusalCause, { likely: string; todo: string }> = {
  'rotated-secret': {
    likely: 'Deliveries were accepted before, and none since: the sender probably has a new secret.',
    todo: 'Compare the secret of the sender with `verify` of the gateway, which may list the old and the new one.',
  },
  'wrong-secret': {
    likely: 'No delivery was ever accepted: the secret here is probably not that of the sender.',
    todo: 'Copy the secret from the sender into `verify` of the gateway.',
  },
  'clock-skew': {
    likely: 'The signed time is too far from the time here: a clock is wrong, or deliveries are replayed.',
    todo: 'Compare the clock of this machine with the time (`timedatectl`), then that of the sender.',
  },
  unsigned: {
    likely: 'The requests have no signature: the sender does not sign, or it is somebody else.',
    todo: 'Set the secret at the sender; `trivium refused` shows from where the requests come.',
  },
  stranger: {
    likely:
      'Other deliveries are accepted: this is probably a stranger, or a second sender with another secret.',
    todo: 'See with `trivium refused` from where they come; block that address, or give the sender its secret.',
  },
  'too-fast': {
    likely: 'More comes in than the limits of the gateway or of the store allow.',
    todo: 'Raise `rate-limit` of the gateway, or find out why the sender sends so much.',
  },
  'bad-content': {
    likely: 'The deliveries are authentic, and what is in them cannot be used.',
    todo: 'See with `trivium refused` what was sent, then adapt the options of the gateway.',
  },
  'mistyped-address': {
    likely: 'No gateway has the path: a sender has a wrong address, or somebody scans.',
    todo: 'Compare the address at the sender with `path` of the gateway.',
  },
  other: {
    likely: 'The gateway does not accept what comes in.',
    todo: 'See with `trivium refused` what was refused, and why.',
  },
}

const TOO_FAST = new Set(['rate_limited', 'overloaded', 'body_too_large'])
const BAD_CONTENT = new Set(['bad_request', 'incomplete', 'unfetchable', 'attachment_too_large'])

/** Judges what was refused: which share it is of the deliveries, and what the likely cause is. */
export function verdictOf(count: RefusalCount): RefusalVerdict {
  const share = count.count / (count.count + count.accepted)
  const cause = causeOf(count, share)
  return { ...count, share, cause, ...LIKELY[cause] }
}

function causeOf({ reason, why, sinceGood, lastGoodAt }: RefusalCount, share: number): RefusalCause {
  if (reason === 'not_found') return 'mistyped-address'
  if (TOO_FAST.has(reason)) return 'too-fast'
  if (BAD_CONTENT.has(reason)) return 'bad-content'
  if (reason !== 'signature_invalid' && reason !== 'unauthorized') return 'other'
  const [mostly] = why
  if (/compare the clocks/.test(mostly?.name ?? '')) return 'clock-skew'
  const isUnsigned = /\b(is|are) missing\b|has no signature/.test(mostly?.name ?? '')
  if (lastGoodAt === undefined) return isUnsigned ? 'unsigned' : 'wrong-secret'
  if (isUnsigned || (share < MOST && sinceGood < IN_A_ROW)) return 'stranger'
  return sinceGood > 0 ? 'rotated-secret' : 'stranger'
}
