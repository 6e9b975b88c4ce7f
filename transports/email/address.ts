import { TriviumError } from '../../src/core/errors.ts'

/** Maximum characters (RFC 5321, section 4.5.3.1). */
const MAX_ADDRESS = 320
/**
 * A single address (RFC 5321, section 4.1.2), without quoted local parts, which are not used in
 * practice.
 */
const ADDRESS = /^[^\s\p{Cc}@<>,;:"()[\]\\]+@[^\s\p{Cc}@<>,;:"()[\]\\]+$/u

/** Whether mail can be sent to this text: exactly one mail address, without a name. */
export function isAddress(text: string): boolean {
  return text.length <= MAX_ADDRESS && ADDRESS.test(text)
}

/** Throws `send_rejected` if `address` is not exactly one mail address. */
export function requireAddress(gateway: string, address: string): void {
  if (isAddress(address)) return
  const reason = `${JSON.stringify(address)} is not one mail address, such as ada@example.com`
  throw new TriviumError('send_rejected', { gateway, reason })
}
