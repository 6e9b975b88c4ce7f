import { parseExact } from '../../lib/exact-json.ts'

/** A path in the body without a choice, list or header. */
const PLAIN_PATH = /^data\.body((?:\.[\w-]+)+)$/

/**
 * The sender that a delivery with this text would have, as the option `from` of its gateway
 * (`senderAt`) says; undefined if only the daemon can tell.
 */
export function senderIn(text, senderAt = '') {
  const [, path] = PLAIN_PATH.exec(senderAt) ?? []
  if (path === undefined) return undefined
  try {
    const steps = path.slice(1).split('.')
    const value = steps.reduce((inner, name) => inner?.[name], parseExact(text))
    return ['string', 'number'].includes(typeof value) && value !== '' ? String(value) : undefined
  } catch {
    return undefined
  }
}
