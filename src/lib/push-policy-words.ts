import { ageText } from './age-text.ts'
import { counted } from './counted.ts'

/** Times in ms. */
type Policy = {
  attempts: number
  delay: number
  maxDelay: number
  lasts: { least: number; most: number }
  timeout: number
  secrets: number
  rate?: { count: number; per: number } | undefined
}

/** What happens to a failed event, when a request times out, how it is signed, and the rate if it is limited. */
export function policyInWords(
  policy: Policy,
): Record<'retries' | 'timeout' | 'signature', string> & { rate?: string } {
  return {
    ...(policy.rate && { rate: rateIn(policy.rate) }),
    retries: retriesIn(policy),
    timeout: `${ageText(policy.timeout)} for the answer`,
    signature: `Standard Webhooks, ${counted(policy.secrets, 'secret')}`,
  }
}

/** `at most 8 requests a second`. */
function rateIn({ count, per }: { count: number; per: number }): string {
  return `at most ${counted(count, 'request')} ${UNITS.get(per) ?? `in ${ageText(per)}`}`
}

const UNITS = new Map([
  [1_000, 'a second'],
  [60_000, 'a minute'],
  [3_600_000, 'an hour'],
])

function retriesIn({ attempts, delay, maxDelay, lasts }: Policy): string {
  if (attempts === 1) return 'none: an event is a dead letter after its first attempt fails'
  // Half of a delay is jitter.
  const first = `${ageText(Math.min(delay, maxDelay) / 2)} to ${ageText(Math.min(delay, maxDelay))}`
  const pauses =
    delay >= maxDelay ? first : `the first retry after ${first}, later ones up to ${ageText(maxDelay)}`
  const least = ageText(lasts.least)
  const most = ageText(lasts.most)
  return `up to ${attempts} attempts over ${least === most ? most : `${least} to ${most}`}, ${pauses} apart; then a dead letter`
}
