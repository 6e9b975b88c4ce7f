import { isIP } from 'node:net'

/** Whether an address is of this machine alone. */
export function isLoopback(address: string): boolean {
  return address === 'localhost' || address === '::1' || address.replace('::ffff:', '').startsWith('127.')
}

/**
 * Whether a name, as in the header `Host`, is one that no stranger can point at this machine (DNS rebinding): an address,
 * localhost or any name without a dot, with a port or without. No name at all is no browser.
 */
export function isLocalName(host: string | undefined): boolean {
  const name = host?.replace(/^(\[.*\]|[^:]*):\d*$/, '$1').replace(/^\[|\]$/g, '')
  return !name?.includes('.') || /\.localhost$/i.test(name) || isIP(name) !== 0
}
