import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * The block of public IPv6 addresses. Checked in addition, because `range()` reports `unicast` for
 * some addresses outside of it, such as `::7f00:1` (127.0.0.1).
 */
const PUBLIC_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether an address is not public: loopback, a private network, cloud metadata, or such an IPv4
 * address in IPv6 form.
 */
export function isPrivateAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return true
  const known = ipaddr.process(address)
  return known.range() !== 'unicast' || (known instanceof ipaddr.IPv6 && !known.match(PUBLIC_IPV6))
}

/**
 * Whether a URL contains a private address. The address that a name resolves to is checked on
 * connection.
 */
export function isPrivateHost({ hostname }: URL): boolean {
  const address = hostname.replace(/^\[|\]$/g, '')
  return isIP(address) !== 0 && isPrivateAddress(address)
}
