import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { isPrivateAddress } from './private-address.ts'

/**
 * A DNS lookup that returns public addresses only, for connections to untrusted URLs. Checking the
 * name earlier is not enough, as it may resolve to another address later. Node does not call it for
 * literal addresses.
 */
export const publicLookup: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    const [first, ...others] = error ? [] : found.filter(({ address }) => !isPrivateAddress(address))
    if (error) done(error, '')
    else if (!first)
      done(new Error(privateRefusal(`${hostname} (${found.map(({ address }) => address).join(', ')})`)), '')
    else if (options.all) done(null, [first, ...others])
    else done(null, first.address, first.family)
  })
}

export function privateRefusal(what: string): string {
  return `${what} is a private address; set \`allow-private: true\` to allow it`
}
