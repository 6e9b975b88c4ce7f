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
}

/** What happens to a failed event, when a request times out, and how it is signed. */
export function policyInWords(policy: Policy): Record<'retries' | 'timeout' | 'signature', string> {
  return {
    retries: retriesIn(policy),
    timeout: `${ageText(policy.timeout)} for the answer`,
    signature: `Standard Webhooks, ${counted(policy.secrets, 'secret')}`,
  }
}

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
