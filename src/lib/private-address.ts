import ipaddr from 'ipaddr.js'

/** All public IPv6 is in it; `::127.0.0.1` is not. */
const PUBLIC_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/** Whether an address is no public one: of this machine, a private network, a cloud's metadata; also of IPv4 in IPv6. */
export function isPrivateAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return true
  const known = ipaddr.process(address)
  return known.range() !== 'unicast' || (known instanceof ipaddr.IPv6 && !known.match(PUBLIC_IPV6))
}
