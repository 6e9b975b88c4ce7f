import ipaddr from 'ipaddr.js'

/** Whether an address is no public one: of this machine, a private network, a cloud's metadata; also of IPv4 in IPv6. */
export function isPrivateAddress(address: string): boolean {
  return !ipaddr.isValid(address) || ipaddr.process(address).range() !== 'unicast'
}
