import { counted } from '../../src/lib/counted.ts'
import type { Verify } from './verify.ts'

/** A verification with secrets in routes.yaml. */
export type WithSecret = Extract<Verify, { secret: string[] }>

export function hasSecret(verify: Verify): verify is WithSecret {
  return 'secret' in verify && Array.isArray(verify.secret)
}

/**
 * For `doctor`: what is known about the verification without a delivery. A secret that cannot be
 * read stops the gateway from starting. Undefined if senders are not verified.
 */
export function checkedText(verify: Verify): string | undefined {
  if (verify.scheme === 'none') return undefined
  if (!hasSecret(verify)) return `${verify.scheme}: only a delivery shows whether its sender is accepted`
  const { length } = verify.secret
  const set =
    length === 1 ? 'the secret is set and readable' : `${counted(length, 'secret')} are set and readable`
  const fits = length === 1 ? 'the sender uses it' : 'the sender uses one of them'
  return `${verify.scheme}: ${set}; only a delivery shows whether ${fits}`
}

/** The configured header that has the secret, the token or the signature. */
export function secretHeaderOf(verify: Verify): string | undefined {
  return 'header' in verify ? verify.header : undefined
}
